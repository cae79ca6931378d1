package krunconfig

import (
	"fmt"
	"path/filepath"
	"runtime"

	"krund/internal/durable"
)

// ConvertFile converts the named file with Convert, for this operating system. Files that it
// includes must be below its directory. host is the name of this machine.
func ConvertFile(fsys durable.FS, name, host string) (Converted, error) {
	text, err := durable.ReadSmallFile(fsys, name, MaxText)
	if err != nil {
		return Converted{}, fmt.Errorf("read the configuration of Krun: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return Converted{}, err
	}
	platform := runtime.GOOS
	if platform == "linux" {
		platform = "linux2" // in Python 2
	}
	converted, err := Convert(Program{Text: string(text), Dir: dir, Host: host, Platform: platform,
		Read: func(file string) ([]byte, error) {
			below, err := durable.Inside(durable.OS(), dir)
			if err != nil {
				return nil, err
			}
			return durable.ReadSmallFile(below, filepath.Join(dir, file), MaxText)
		}})
	if err != nil {
		return Converted{}, fmt.Errorf("%s: %w", name, err)
	}
	return converted, nil
}
