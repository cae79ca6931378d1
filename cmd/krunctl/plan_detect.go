package main

import "fmt"

// planDetect is the former `plan --detect CHANGE --from EXPERIMENT`.
func (a *app) planDetect(o checkOptions) error {
	if o.from == "" {
		return usageError(fmt.Errorf("--detect needs --from, an experiment whose executions show how much " +
			"they vary"))
	}
	a.talk("krunctl plan --detect is now krunctl enough --change %s %s", o.detect, o.from)
	e := enoughOptions{level: "1%", change: o.detect, format: o.format}
	if err := e.parse(false); err != nil {
		return usageError(err)
	}
	return a.enough(o.from, e)
}
