package rig

import "time"

// now is the only place where the rig reads the host's clock, for reported figures and for
// deadlines. No test depends on it.
func now() time.Time { return time.Now() }
