package main

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// writer is a command that writes to OUT, a place that the user names. DIR is an experiment, JMH a
// file of JMH, KRUN a configuration of Krun.
type writer struct {
	name string
	file string // that it writes, below the place; "" is the place itself
	args string
}

// inputs replaces what the writers read.
type inputs []string

func (w writer) words(in inputs, place string) []string {
	return strings.Fields(strings.NewReplacer(append(in, "OUT", place)...).Replace(w.args))
}

var writers = []writer{
	{"analyze", "", "analyze --format json -o OUT DIR"},
	{"table", "", "analyze --table -o OUT DIR"},
	{"compare", "", "compare -f html -o OUT DIR DIR"},
	{"plot", "", "report -o OUT DIR"},
	{"export", "", "convert --to csv -o OUT DIR"},
	{"export-executions", "", "convert --to jsonl --rows executions -o OUT DIR"},
	{"export-wide", "C_default-c.csv", "convert --to csv --rows wide -o OUT DIR"},
	{"convert-krun", "", "convert --to krun -o OUT DIR"},
	{"convert-go", "", "convert --to go -o OUT DIR"},
	{"convert-parquet", "benchmark=fasta/vm=C/variant=default-c/iterations.parquet",
		"convert --to parquet -o OUT DIR"},
	{"import", "", "convert --to krun -o OUT JMH"},
}

// place makes the directory that the file of a writer is in, and returns what to give with -o and
// where the file will be.
func (w writer) place(t *testing.T) (output, file string) {
	t.Helper()
	dir := t.TempDir()
	if w.file == "" {
		file = filepath.Join(dir, "out.svg") // plot chooses by the name
		return file, file
	}
	file = filepath.Join(dir, filepath.FromSlash(w.file))
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	return dir, file
}

// analyzedDirectory is an experiment with its analysis beside it, so that no command repeats it.
func analyzedDirectory(t *testing.T) string {
	t.Helper()
	dir := krundDirectory(t, t.TempDir())
	krunctl(t, "analyze", dir).works(t)
	return dir
}

func writerInputs(t *testing.T) inputs {
	t.Helper()
	jmh := save(t, "in.json",
		`[{"benchmark":"x.Y.z","primaryMetric":{"scoreUnit":"ms/op","rawData":[[100,101,102]]}}]`)
	return inputs{"DIR", analyzedDirectory(t), "JMH", jmh, "KRUN", save(t, "old.krun", "VMS = {}\n")}
}

// eachWriter runs test for each command that writes.
func eachWriter(t *testing.T, test func(t *testing.T, file string, run func() ran)) {
	t.Helper()
	in := writerInputs(t)
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			output, file := w.place(t)
			test(t, file, func() ran { return krunctl(t, w.words(in, output)...) })
		})
	}
}

func mode(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info := must.Get(os.Lstat(file))(t)
	return info.Mode()
}

// makeDevice makes a character device, or skips the test where that is not permitted.
func makeDevice(t *testing.T, file string, major, minor uint32) {
	t.Helper()
	err := unix.Mknod(file, unix.S_IFCHR|0o666, int(unix.Mkdev(major, minor)))
	if errors.Is(err, syscall.EPERM) {
		t.Skip("devices need root: ", err)
	}
	must.Do(t, err)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if errors.Is(err, syscall.EACCES) {
		t.Skip("the file system has no devices: ", err)
	}
	must.Do(t, err)
	_ = f.Close()
}

// TestOutputToDevice: what is written to /dev/null is gone, and /dev/null is not.
func TestOutputToDevice(t *testing.T) {
	eachWriter(t, func(t *testing.T, file string, run func() ran) {
		makeDevice(t, file, 1, 3)
		run().says(t, exitOK, "", "")
		m := mode(t, file)
		must.Be(t, m&fs.ModeCharDevice != 0, "the device is now", m)
	})
}

// TestOutputToFullDevice: an error of the device is the command's.
func TestOutputToFullDevice(t *testing.T) {
	eachWriter(t, func(t *testing.T, file string, run func() ran) {
		makeDevice(t, file, 1, 7)
		run().says(t, exitError, "", file+": no space left on device")
		m := mode(t, file)
		must.Be(t, m&fs.ModeCharDevice != 0, "the device is now", m)
	})
}

// TestOutputToFIFO: the reader of a FIFO gets what a file would have got.
func TestOutputToFIFO(t *testing.T) {
	must.Long(t)
	eachWriter(t, func(t *testing.T, file string, run func() ran) {
		run().works(t)
		want, err := os.ReadFile(file)
		must.Need(t, err == nil && len(want) != 0, len(want), "bytes", err)
		must.Do(t, os.Remove(file))
		must.Do(t, unix.Mkfifo(file, 0o600))
		// Open for both, so that no end waits for the other whatever the command does.
		both := must.Get(os.OpenFile(file, os.O_RDWR, 0))(t)
		const end = "the end of the test"
		got := make(chan string)
		go func() {
			var all []byte
			piece := make([]byte, 1<<16)
			for {
				n, err := both.Read(piece)
				all = append(all, piece[:n]...)
				if text, found := strings.CutSuffix(string(all), end); found || err != nil {
					got <- text
					return
				}
			}
		}()
		r := run()
		must.Get(both.WriteString(end))(t)
		if text := <-got; r.code != exitOK || text != string(want) {
			t.Errorf("%d bytes came through, want %d:\n%s", len(text), len(want), r.text())
		}
		m := mode(t, file)
		must.Be(t, m&fs.ModeNamedPipe != 0, "the FIFO is now", m)
		_ = both.Close()
	})
}

// TestOutputToLink: the file behind a link is replaced, keeps its mode, and the link stays.
func TestOutputToLink(t *testing.T) {
	eachWriter(t, func(t *testing.T, file string, run func() ran) {
		target := filepath.Join(t.TempDir(), "target")
		for _, step := range []error{
			os.WriteFile(target, []byte("old"), 0o600), os.Chmod(target, 0o620),
			os.Symlink(target, file+".2"),
			os.Symlink(filepath.Base(file)+".2", file),
		} {
			must.Need(t, step == nil, step)
		}
		run().works(t)
		text, err := os.ReadFile(target)
		must.Be(t, err == nil && len(text) >= 10, "the target has", text, err)
		must.Equal(t, mode(t, target), 0o620, "the target's mode")
		m := mode(t, file)
		must.Be(t, m&fs.ModeSymlink != 0, "the link is now", m)
		entries, err := os.ReadDir(filepath.Dir(target))
		must.Be(t, err == nil && len(entries) == 1, "beside the target there are", entries, err)
	})
}

// TestOutputRefused: a link to nothing, a socket and a directory stay as they are, and the command
// says what is there.
func TestOutputRefused(t *testing.T) {
	must.Long(t)
	for what, c := range map[string]struct {
		say  string
		make func(file string) error
	}{
		"a dangling link": {"a symbolic link to",
			func(file string) error { return os.Symlink(file+".missing", file) }},
		"a link to a directory": {"is a directory", func(file string) error { return os.Symlink(".", file) }},
		"a directory":           {"is a directory", func(file string) error { return os.Mkdir(file, 0o755) }},
		"a socket": {"a socket", func(file string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: file}), unix.Close(fd))
		}},
	} {
		t.Run(what, func(t *testing.T) {
			eachWriter(t, func(t *testing.T, file string, run func() ran) {
				if strings.Contains(file, "iterations.parquet") && what == "a socket" {
					t.Skip("the path is too long for a socket")
				}
				must.Do(t, c.make(file))
				before := mode(t, file)
				r := run()
				must.Be(t, r.code == exitError && strings.Contains(r.stderr, c.say) &&
					strings.Contains(r.stderr, file), "want", c.say, r.text())
				must.Equal(t, mode(t, file), before, "it was")
				must.Refused(os.Lstat(file+".missing"))(t, "", "the missing target was created")
			})
		})
	}
}

// TestReportNeverReplaces: a page's name that is no page stays what it is, and so does the old
// report.
func TestReportNeverReplaces(t *testing.T) {
	must.Long(t)
	in := analyzedDirectory(t)
	for what, make := range map[string]func(t *testing.T, file string){
		"device": func(t *testing.T, file string) { makeDevice(t, file, 1, 3) },
		"FIFO": func(t *testing.T, file string) {
			must.Do(t, unix.Mkfifo(file, 0o600))
		},
		"link": func(t *testing.T, file string) {
			must.Do(t, os.Symlink(in, file))
		},
		"socket": func(t *testing.T, file string) {
			l := must.Get(net.Listen("unix", file))(t)
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			_ = l.Close()
		},
	} {
		for _, name := range []string{"index.html", "keys/k0000.html", "files.sha256",
			"index.html" + ".krunctl-part", "files.sha256" + ".tmp"} {
			if what != "FIFO" && name != "index.html" && name != "files.sha256"+".tmp" {
				continue // one kind is tried in every place, the others in two
			}
			t.Run(what+" "+name, func(t *testing.T) {
				out := t.TempDir()
				krunctl(t, "report", in, "-o", out).works(t)
				file := filepath.Join(out, name)
				err := os.Remove(file)
				must.Need(t, err == nil || errors.Is(err, fs.ErrNotExist), err)
				make(t, file)
				before := mode(t, file)
				others := contents(t, out)
				r := krunctl(t, "report", in, "-o", out)
				must.Equal(t, mode(t, file), before, "it was", "and is", r.text())
				if name == "files.sha256"+".tmp" { // another name is taken for it
					must.Equal(t, r.code, exitOK, r.text())
					return
				}
				r.says(t, exitError, "", file)
				must.Be(t, maps.Equal(others, contents(t, out)), "the rest of the report has changed")
			})
		}
	}
}

// TestAnalysisNeverReplacesADevice: also where no -o names it.
func TestAnalysisNeverReplacesADevice(t *testing.T) {
	in := krundDirectory(t, t.TempDir())
	file := filepath.Join(in, "analysis.json")
	makeDevice(t, file, 1, 3)
	r := krunctl(t, "analyze", in)
	m := mode(t, file)
	must.Be(t, m&fs.ModeCharDevice != 0 && r.code == exitError && strings.Contains(r.stderr, "-o FILE"),
		"the device is now", m, r.text())
}
