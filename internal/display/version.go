package display

import "runtime/debug"

// VersionNumber is the current release, or the next one during development.
const VersionNumber = "0.1.0"

// Version returns VersionNumber with the revision from which the program was built, if the build
// recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return VersionNumber
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return VersionNumber + "+" + s.Value[:12]
		}
	}
	return VersionNumber
}
