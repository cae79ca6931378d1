package schedule

import "krund/internal/experiment/key"

// SlotOffset returns the offset of a slot in the file.
func (h Header) SlotOffset(index int) int64 { return h.slotAt(index) }

// Each is the executions of a Plan with the same number for all keys.
func Each(executions int) func(key.Key) int { return func(key.Key) int { return executions } }
