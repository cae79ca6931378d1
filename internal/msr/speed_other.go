//go:build !linux

package msr

import "errors"

func bindThread(int) (func(), error) { return nil, errors.ErrUnsupported }
