package directory

import (
	"errors"
	"syscall"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

func TestRequests(t *testing.T) {
	fsys := crashfs.New("/x")
	asked, err := Asked(fsys, dir, Hold)
	must.Be(t, !asked && err == nil, "in a directory that is not there", asked, err)
	f := must.Get(Create(fsys, dir))(t)
	must.Do(t, f.Ask(Hold, "for a look"))
	must.Do(t, f.Ask(Hold, "twice"))
	must.Equal(t, string(fsys.Files()[dir+"/hold"]), "twice\n", "text")
	for request, want := range map[Request]bool{Hold: true, Stop: false} {
		asked, err := f.Asked(request)
		must.Be(t, asked == want && err == nil, request, asked, err, "want", want)
		was, err := f.Withdraw(request)
		must.Be(t, was == want && err == nil, "withdraw", request, was, err, "want", want)
	}
	asked, err = f.Asked(Hold)
	must.Be(t, !asked && err == nil, "after it was withdrawn", asked, err)
}

// TestRequestOnFullDisk: the request is made even if there is no room for its text.
func TestRequestOnFullDisk(t *testing.T) {
	for _, room := range []bool{true, false} { // for an empty file
		fsys := crashfs.New("/x")
		f, err := Create(fsys, dir)
		must.Do(t, err)
		fsys.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true,
			Match: func(op crashfs.Op) bool { return !room || op.Kind == crashfs.Write }})
		err = f.Ask(Stop, "for a look")
		if asked, askedErr := f.Asked(Stop); asked != room || askedErr != nil || (err == nil) != room {
			t.Errorf("room for an empty file %t: error %v, asked %t, %v", room, err, asked, askedErr)
		}
		must.Be(t, err == nil || errors.Is(err, syscall.ENOSPC), "error", err,
			"does not say that the disk is full")
		n := len(fsys.Files())
		must.Be(t, (!room || n == 1) && (room || n <= 1), n, "files: something is left over")
	}
}

// TestRequestCut: a power cut does not undo a request that was made or withdrawn.
func TestRequestCut(t *testing.T) {
	for _, test := range []struct {
		name    string
		program func(Directory) error
		want    bool
	}{
		{"made", func(f Directory) error { return f.Ask(Stop, "") }, true},
		{"withdrawn", func(f Directory) error {
			_, err := f.Withdraw(Hold)
			return err
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			build := func() *crashfs.FS {
				fsys := crashfs.New("/x")
				f := must.Get(Create(fsys, dir))(t)
				must.Do(t, f.Ask(Hold, ""))
				return fsys
			}
			program := func(fsys *crashfs.FS) error {
				f := must.Get(Open(fsys, dir))(t)
				return test.program(f)
			}
			request := map[bool]Request{true: Stop, false: Hold}[test.want]
			done := 0
			for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(1)...) {
				if cut.Err != nil {
					continue
				}
				done++
				there, err := Asked(after, dir, request)
				must.Be(t, there == test.want && err == nil, cut, request, "there", there, err)
			}
			must.Be(t, done != 0, "it never came to its end")
		})
	}
}
