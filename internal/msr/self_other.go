//go:build !linux || !amd64

package msr

import "os"

func lookMapped(*os.File) error { return errNotX86 }
