package main

import "fmt"

// secondsText writes nanoseconds as seconds, exactly: "0.000012345".
func secondsText(ns int64) string {
	sign, abs := "", uint64(ns)
	if ns < 0 {
		sign, abs = "-", -uint64(ns)
	}
	return fmt.Sprintf("%s%d.%09d", sign, abs/1e9, abs%1e9)
}
