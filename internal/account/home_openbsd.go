package account

import "errors"

func mountHome(string, int64, int, int) error {
	return errors.New("limits.home: this system has no file system in memory that krund knows; remove it")
}

func unmountHome(string) error { return nil }
