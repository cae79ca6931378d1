//go:build !linux

package rig

import "os/exec"

// dieWithParent does nothing here: only Linux can bind a child's life to its parent's. Images are made on Linux only.
func dieWithParent(*exec.Cmd) {}
