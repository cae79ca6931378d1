//go:build !linux

package rig

import "os/exec"

// dieWithParent does nothing, because only Linux can bind a child's life to that of its parent.
// Images are only built on Linux.
func dieWithParent(*exec.Cmd) {}
