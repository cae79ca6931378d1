package display

import "runtime/debug"

// VersionNumber is the release, or the one being worked towards.
const VersionNumber = "0.1.0"

// Version is VersionNumber with the revision the program was built from, when the build knows it.
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
