package child

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const (
	// stageName is Args[0] of the stage, and its name in ps for a few milliseconds.
	stageName = "krund-stage"
	// stageFlag is Args[1], followed by the number of descriptors for the benchmark. It looks like
	// a flag: a program that did not call Stage, such as a test binary, refuses it and exits
	// instead of starting itself without end.
	stageFlag = "-krund-stage-v1="
)

// startRequest is what Run asks the stage to do. Strings are bytes, because JSON would replace
// those that are not UTF-8.
type startRequest struct {
	Path        []byte      `json:"path"`
	Args        [][]byte    `json:"args"`
	Env         [][]byte    `json:"env"`
	Dir         []byte      `json:"dir"`
	Group       []byte      `json:"group"` // directory of the control group to enter; empty for none
	SetUser     bool        `json:"set_user"`
	UID         int         `json:"uid"`
	GID         int         `json:"gid"`
	Groups      []int       `json:"groups"`
	Own         bool        `json:"own"` // User.Own
	Heap        int64       `json:"heap"`
	Stack       int64       `json:"stack"`
	Processes   int64       `json:"processes"`
	Nice        int         `json:"nice"`
	Inherit     bool        `json:"inherit"` // Command.Inherit
	CPUs        []int       `json:"cpus"`
	Stamp       bool        `json:"stamp"`
	StampOffset int64       `json:"stamp_offset"`
	Parent      int         `json:"parent"`
	Events      []PerfEvent `json:"events"`
	Fixed       bool        `json:"fixed"` // Command.FixedAddresses
}

func newStartRequest(c Command, parent int) startRequest {
	o := startRequest{
		Path: []byte(c.Path), Args: toBytes(c.args()), Env: toBytes(c.Env), Dir: []byte(c.dir()),
		SetUser: !c.User.IsCaller(), UID: c.User.UID, GID: c.User.GID, Groups: c.User.Groups, Own: c.User.Own,
		Heap: c.Limits.Heap, Stack: c.Limits.Stack, Nice: c.Nice, Inherit: c.Inherit, CPUs: c.CPUs,
		Stamp: c.Stamp != nil, StampOffset: c.StampOffset, Parent: parent, Events: c.Events,
		Fixed: c.FixedAddresses,
	}
	if c.User.Own { // the kernel counts what the user has, not what the benchmark has
		o.Processes = c.Limits.Processes
	}
	return o
}

func (r startRequest) encode() ([]byte, error) { return json.Marshal(r) }

func decodeStartRequest(text []byte) (startRequest, error) {
	var o startRequest
	if err := json.Unmarshal(text, &o); err != nil {
		return startRequest{}, fmt.Errorf("read the start request: %w", err)
	}
	return o, nil
}

// firstFD is the number of the first of Command.Files in the benchmark.
const firstFD = 3

// The stage's own descriptors follow those of the benchmark, which are 0, 1, 2 and the n of
// Command.Files.
func statusFD(n int) int  { return 3 + n }
func requestFD(n int) int { return 4 + n }
func stampFD(n int) int   { return 5 + n }

// stageArgs recognizes the command line of the stage and returns the number of the benchmark's
// descriptors.
func stageArgs(args []string) (n int, ok bool) {
	if len(args) != 2 || args[0] != stageName {
		return 0, false
	}
	text, found := strings.CutPrefix(args[1], stageFlag)
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func toStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
