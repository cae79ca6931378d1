package suites

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// octaneBenchmark matches the definition of a benchmark in a file of Octane.
var octaneBenchmark = regexp.MustCompile(`new\s+Benchmark\(\s*['"]([A-Za-z0-9]{1,60})['"]`)

// readOctane reads the files of Octane that define benchmarks, beside its base.js. The options are
// the benchmark's name and the files to load, as its run.js does: base.js, the file, and those that
// begin as it does, such as zlib-data.js.
func readOctane(t *tree, f *Found) error {
	names, err := t.list(".")
	if err != nil {
		return err
	}
	for _, file := range names {
		if path.Ext(file) != ".js" || file == "base.js" {
			continue
		}
		text, err := t.text(file)
		if err != nil {
			f.leave("%q: %v", clip(file), err)
			continue
		}
		family, _, _ := strings.Cut(strings.TrimSuffix(file, ".js"), "-")
		files := []string{"base.js", file}
		for _, other := range names {
			if other != file && strings.HasPrefix(other, family+"-") && path.Ext(other) == ".js" &&
				len(files) < MostOptions {
				files = append(files, other)
			}
		}
		if i := slices.IndexFunc(files, func(name string) bool { return !t.has(name) }); i >= 0 {
			f.leave("%q: %q is not a regular file in the suite", clip(file), clip(files[i]))
			continue
		}
		for _, m := range octaneBenchmark.FindAllStringSubmatch(text, -1) {
			b := Benchmark{Name: m[1], Files: map[string]string{"javascript": file},
				Options: append([]string{m[1]}, files...)}
			f.add(b)
		}
	}
	return nil
}

// jetStreamPlan matches the name of a plan in JetStreamDriver.js.
var jetStreamPlan = regexp.MustCompile(`(?m)new (\w+)\(\{\s*name:\s*["']([^"'\n]{1,64})["']`)

// readJetStream reads the plans of JetStreamDriver.js. The driver runs the iterations of a plan,
// except where it measures two parts instead.
func readJetStream(t *tree, f *Found) error {
	const driver = "JetStreamDriver.js"
	text, err := t.text(driver)
	if err != nil {
		return err
	}
	for _, m := range jetStreamPlan.FindAllStringSubmatch(text, -1) {
		if m[1] == "WSLBenchmark" || m[1] == "WasmLegacyBenchmark" {
			f.leave("%s: the suite runs it once, in two parts, and not in iterations", clip(m[2]))
			continue
		}
		b := Benchmark{Name: m[2], Files: map[string]string{"javascript": driver}}
		f.add(b)
	}
	return nil
}

// What names a benchmark of Go's package testing: its declaration, with what it does, and the line
// that a test binary prints of it. Only the latter has the names of sub-benchmarks (b.Run).
var (
	goBenchmark = regexp.MustCompile(`(?ms)^func (Benchmark\w{0,100})\((\w{1,100}) \*testing\.B\)(.*?)(?:^}|\z)`)
	goListed    = regexp.MustCompile(`(?m)^(Benchmark\S{0,200})[ \t]+\d+[ \t]`)
)

// readGo reads the test binaries that `go test -c` has left beside the sources of a package: in the
// directory itself, and in those below it. NAME.bench beside NAME.test, which has what the binary
// printed, lists the benchmarks in the place of the sources.
func readGo(t *tree, f *Found) error {
	return t.packages(".", 0, f)
}

func (t *tree) packages(dir string, depth int, f *Found) error {
	const deepest = 6
	names, err := t.list(dir)
	if err != nil && depth > 0 && t.seen <= mostListed {
		f.leave("%q: %v", clip(dir), err)
		return nil
	}
	if err != nil {
		return err
	}
	binary, pattern, list := "", goBenchmark, "_test.go"
	if i := slices.IndexFunc(names, func(n string) bool {
		return strings.HasSuffix(n, ".test") && t.has(path.Join(dir, n))
	}); i >= 0 {
		binary = names[i]
		if listed := strings.TrimSuffix(binary, "test") + "bench"; slices.Contains(names, listed) {
			pattern, list = goListed, listed
		}
	}
	for _, name := range names {
		at := path.Join(dir, name)
		if info, err := t.root.Lstat(at); err == nil && info.IsDir() {
			if depth < deepest && name != "testdata" && !strings.HasPrefix(name, ".") {
				if err := t.packages(at, depth+1, f); err != nil {
					return err
				}
			}
			continue
		}
		if !strings.HasSuffix(name, list) {
			continue
		}
		text, err := t.text(at)
		if err != nil {
			f.leave("%q: %v", clip(at), err)
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			b := Benchmark{Name: inKey(strings.TrimPrefix(dir+"/"+m[1], "./")), Options: m[1:2],
				Files: map[string]string{"external": path.Join(dir, binary)}}
			switch {
			case binary == "":
				f.leave("%q: its package has no test binary: run go test -c in %q", clip(b.Name), clip(dir))
			case len(m) > 2 && strings.Contains(m[3], m[2]+".Run("):
				f.leave("%q: only its sub-benchmarks have times: in %q, list them with ./%s -test.run='^$' "+
					"-test.bench=. -test.benchtime=1x -test.cpu=1 >%sbench", clip(b.Name), clip(dir),
					clip(binary), strings.TrimSuffix(clip(binary), "test"))
			default:
				f.add(b)
			}
		}
	}
	return nil
}

// readSightglass reads the modules benchmarks/NAME/benchmark.wasm of sightglass, and others there,
// and the engines engines/*/libengine.so. Each has a key for each phase that an engine reports; of
// several engines, the name of the engine is the last part of the key.
func readSightglass(t *tree, f *Found) error {
	engines, _ := t.list("engines")
	library := func(engine string) string { return path.Join("engines", engine, "libengine.so") }
	engines = slices.DeleteFunc(engines, func(engine string) bool { return !t.has(library(engine)) })
	names, err := t.list("benchmarks")
	if err != nil {
		return err
	}
	for _, name := range names {
		files, err := t.list(path.Join("benchmarks", name))
		if err != nil {
			continue // a file
		}
		for _, file := range files {
			module, ok := strings.CutSuffix(file, ".wasm")
			if !ok {
				continue
			}
			label := name
			if module != "benchmark" {
				label += "-" + module
			}
			if !t.has(path.Join("benchmarks", name, file)) {
				f.leave("%q: it is not a regular file in the suite",
					clip(path.Join("benchmarks", name, file)))
				continue
			}
			if len(engines) == 0 {
				f.leave("%q: there is no engine: build one to engines/NAME/libengine.so", clip(label))
				continue
			}
			for _, engine := range engines {
				for _, phase := range []string{"compile", "instantiate", "execute"} {
					b := Benchmark{Name: label + "." + phase, Options: []string{library(engine), phase},
						Files: map[string]string{"c": path.Join("benchmarks", name, file)}}
					if len(engines) > 1 {
						b.Name += "." + engine
					}
					f.add(b)
				}
			}
		}
	}
	return nil
}
