//go:build !linux || !amd64

package msr

import (
	"fmt"
	"os"
	"runtime"
)

func lookMapped(*os.File) error {
	return fmt.Errorf("on %s, %s krund does not read counters in user space", runtime.GOOS, runtime.GOARCH)
}
