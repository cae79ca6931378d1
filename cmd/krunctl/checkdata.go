package main

import (
	"krund/internal/boot/doctor"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
)

func (a *app) checkData(arg string, o checkOptions) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	r := integrity.Check(a.fsys, f.Directory,
		integrity.Options{Hosts: []string{o.host}, Name: experiment.ConfigOf(f.Dir()),
			Settings: doctor.Settings()})
	err = a.answer(o.format, r.Document(f.Dir()), func() { a.console().Integrity(f.Dir(), r) })
	if err == nil && len(r.Problems) > 0 {
		return errFound
	}
	return err
}
