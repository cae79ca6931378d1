package main

import (
	"strings"
	"testing"

	"krund/internal/config"
)

func TestOneKrundTakesTheMachineOver(t *testing.T) {
	dir := t.TempDir()
	fresh := &config.Config{Experiment: config.Experiment{Account: config.AccountFresh}}
	caller := &config.Config{Experiment: config.Experiment{Account: config.AccountCaller}}
	first, err := lockMachine(fresh, "/x.krun", config.RebootNone, true, "/nowhere", dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockMachine(caller, "/y.krun", config.RebootHardware, true, dir); err == nil || !strings.Contains(err.Error(), "another krund") {
		t.Errorf("second krund with reboots: %v, want that another one works here", err)
	}
	for name, free := range map[string]func() (func(), error){
		"without reboots, as the caller": func() (func(), error) { return lockMachine(caller, "/y.krun", config.RebootNone, true, dir) },
		"not root":                       func() (func(), error) { return lockMachine(fresh, "/x.krun", config.RebootNone, false, dir) },
	} {
		if _, err := free(); err != nil {
			t.Errorf("%s: %v, want no lock", name, err)
		}
	}
	first()
	again, err := lockMachine(fresh, "/x.krun", config.RebootNone, true, dir)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	again()
}
