package main

import (
	"os"
	"strings"
	"testing"

	libkrun "krund/cgo"
)

// TestStatusOfIterations: the iterations of the running execution are read from the buffer of the
// process that has the experiment, here this one.
func TestStatusOfIterations(t *testing.T) {
	b := mixed(t)
	lock, err := b.directory.Lock(os.Getpid(), "bencher7")
	b.must(err)
	defer lock.Release()
	running := func() string {
		t.Helper()
		_, text, _ := strings.Cut(krunctl(t, "status", b.dir()).stdout, "\nrunning ")
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	if text := running(); text == "" || strings.Contains(text, "iterations") {
		t.Errorf("without a buffer: %q", text)
	}
	buffer, err := libkrun.Create(libkrun.Spec{Iterations: 70})
	b.must(err)
	defer buffer.Close()
	if text := running(); !strings.HasSuffix(text, ": 0 of 70 iterations") {
		t.Errorf("%q", text)
	}
}
