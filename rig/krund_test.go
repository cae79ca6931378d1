package rig

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"krund/rig/must"
)

// fakeRepository creates the given files, and a Makefile whose install depends on a build that must
// not run.
func fakeRepository(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "Makefile"), "build:\n\tfalse\n.PHONY: build install\ninstall: build\n"+
		"\tmkdir -p $(DESTDIR)/usr/bin && cp -r build/bin/* $(DESTDIR)/usr/bin && test $(MAKELEVEL) = 0\n")
	for _, name := range names {
		name = filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		write(t, name, "content")
	}
	return root
}

func TestInstallTakesWhatMakeInstallMakes(t *testing.T) {
	root := fakeRepository(t)
	must.Refuse(t, install(t.Context(), root, t.TempDir()), "run: make build", "nothing built")
	root = fakeRepository(t, "build/bin/krund", "build/bin/krunctl")
	t.Setenv("MAKELEVEL", "7")
	dir := t.TempDir()
	must.Do(t, install(t.Context(), root, dir))
	var files Payload
	must.Do(t, files.Tree("/", dir))
	must.Equal(t, listing(t, packed(t, &files)),
		"usr/bin/krunctl 0 -rw-r--r-- content\nusr/bin/krund 0 "+"-rw-r--r-- content\n", "installed")
	write(t, filepath.Join(root, "Makefile"), "build:\ninstall: build\n\t@echo no such compiler; exit 3\n")
	must.Refuse(t, install(t.Context(), root, dir), "no such compiler", "broken make install")
}

func TestBenchmarksGoBesideTheExperiments(t *testing.T) {
	root := fakeRepository(t, "benchmarks/nbody/c/bench.so", "benchmarks/nbody/c/bench.c",
		"benchmarks/fasta/c/bench.so")
	var files Payload
	must.Refuse(t, addBenchmarks(&files, root), "no benchmarks/*/python/bench.py in "+root, "no Python")
	root = fakeRepository(t, "benchmarks/nbody/c/bench.so", "benchmarks/nbody/c/bench.c",
		"benchmarks/nbody/python/bench.py")
	files = Payload{}
	must.Do(t, addBenchmarks(&files, root))
	want := "srv/krund/benchmarks/nbody/c/bench.so 0 -rw-r--r-- " +
		"content\nsrv/krund/benchmarks/nbody/python/bench.py 0 -rw-r--r-- content\n"
	must.Equal(t, listing(t, packed(t, &files)), want, "files")
}

func TestRepositoryIsFoundFromBelow(t *testing.T) {
	root := must.Get(repository())(t)
	must.Get(os.Stat(filepath.Join(root, "rig", "krund_test.go")))(t)
	t.Chdir(t.TempDir())
	root, err := repository()
	must.Be(t, err != nil, "found a repository in", root, "from outside")
}

func TestExperimentFile(t *testing.T) {
	var p Payload
	must.Equal(t, p.Experiment("quick", "[experiment]\n"), "/srv/krund/quick.toml", "path")
	p.Enable("quick")
	want := "etc/systemd/system/krund@quick.service.d/config.conf 0 -rw-r--r-- [Service]\n" +
		"Environment=KRUND_CONFIG=/srv/krund/quick.toml\n" +
		"etc/systemd/system/multi-user.target.wants/krund@quick.service 2 -rwxrwxrwx " +
		"/lib/systemd/system/krund@.service\nsrv/krund/quick.toml 0 -rw-r--r-- [experiment]\n"
	must.Equal(t, listing(t, packed(t, &p)), want, "archive")
}

func TestAnnouncedTellsTheEndFromAReboot(t *testing.T) {
	match := regexp.MustCompile(announced("krund@quick.service"))
	for line, want := range map[string]bool{
		"RIG-UNIT krund@quick.service success 0 running":      true,
		"RIG-UNIT krund@quick.service exit-code 1 degraded":   true,
		"RIG-UNIT krund@quick.service success 0 starting":     true,
		"RIG-UNIT krund@quick.service success 0 stopping":     false,
		"RIG-UNIT krund@quick.service signal 9 stopping":      false,
		"RIG-UNIT krund@quickXservice success 0 running":      false,
		"RIG-UNIT krund@quick2.service success 0 running":     false,
		"x RIG-UNIT krund@quick.service success 0 running":    false,
		"RIG-UNIT krund@quick.service success 0 running fine": false,
	} {
		must.Be(t, match.MatchString(line) == want, line, "match", !want, want)
	}
}
