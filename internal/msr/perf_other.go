//go:build !linux

package msr

import (
	"errors"
	"os"
)

func openEvent(event, eventOptions) (*os.File, error) {
	return nil, errors.New("perf events are supported only on Linux")
}
