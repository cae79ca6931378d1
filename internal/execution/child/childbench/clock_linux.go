package main

import "golang.org/x/sys/unix"

const stampClock = unix.CLOCK_MONOTONIC_RAW
