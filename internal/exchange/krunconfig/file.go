package krunconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"krund/internal/durable"
	"krund/internal/machine/command"
)

// Command is the command of krunctl that is Worker: krunctl Command NAME HOST.
const Command = "convert-krun"

// Bounds of the process that evaluates a configuration.
const (
	maxSeconds = 10        // of processor time
	maxMemory  = 512 << 20 // bytes
	maxTime    = time.Minute
)

// answer is what that process prints, as JSON.
type answer struct {
	Converted
	Error string
}

// ConvertFile converts the named file with Convert, for this operating system, in a process of this
// program, which has bounds. Files that it includes must be below its directory. host is the name
// of this machine.
func ConvertFile(ctx context.Context, name, host string) (Converted, error) {
	text, err := durable.ReadSmallFile(durable.OS(), name, maxText)
	if err != nil {
		return Converted{}, fmt.Errorf("read the configuration of Krun: %w", err)
	}
	self, err := command.Self()
	if err != nil {
		return Converted{}, err
	}
	out, err := command.Run(ctx, command.Cmd{Argv: []string{self, Command, "--", name, host},
		Stdin: string(text), StdoutOnly: true, Timeout: maxTime, Output: 8 * maxOutput,
		WithParent: syscall.SIGKILL})
	var a answer
	if err == nil {
		err = json.Unmarshal([]byte(out), &a)
	}
	switch {
	case ctx.Err() != nil:
		return Converted{}, ctx.Err()
	case err != nil:
		return Converted{}, fmt.Errorf("%s: its evaluation takes more than %d s or %d MiB of memory; write "+
			"the configuration of krund by hand (krunctl init makes a first one)", name, maxSeconds,
			maxMemory>>20)
	case a.Error != "":
		return Converted{}, errors.New(a.Error)
	}
	return a.Converted, nil
}

// Worker converts the text of the named file in this process, whose memory and time it limits, and
// writes the answer.
func Worker(name, host string, text io.Reader, w io.Writer) error {
	for resource, most := range map[int]uint64{syscall.RLIMIT_DATA: maxMemory,
		syscall.RLIMIT_CPU: maxSeconds} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit what the process takes: %w", err)
		}
	}
	var a answer
	program, err := io.ReadAll(text)
	dir, e := filepath.Abs(filepath.Dir(name))
	if err = errors.Join(err, e); err == nil {
		platform := runtime.GOOS
		if platform == "linux" {
			platform = "linux2" // in Python 2
		}
		a.Converted, err = Convert(Program{Text: string(program), Dir: dir, Host: host, Platform: platform,
			Read: func(file string) ([]byte, error) {
				below, err := durable.Inside(durable.OS(), dir)
				if err != nil {
					return nil, err
				}
				return durable.ReadSmallFile(below, filepath.Join(dir, file), maxText)
			}})
	}
	if err != nil {
		a.Error = fmt.Sprintf("%s: %v", name, err)
	}
	return json.NewEncoder(w).Encode(a)
}
