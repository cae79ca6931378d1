// Package version is the version of krund and krunctl, which are released together.
package version

import "runtime/debug"

// Number is the release, or the one being worked towards.
const Number = "0.1.0"

// String is Number with the revision the program was built from, when the build knows it.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return Number + "+" + s.Value[:12]
		}
	}
	return Number
}
