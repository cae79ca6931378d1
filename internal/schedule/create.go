package schedule

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"krund/internal/durable"
)

// Create creates the schedule of n slots at path, durably and atomically. It never replaces an
// existing one: the error then wraps fs.ErrExist. It ranges over slots twice, first to find the
// longest key. See Header for what h must contain; if h.Width is 0, Create chooses it.
func Create(fsys durable.FS, path string, h Header, n int, slots iter.Seq[Slot]) error {
	switch _, err := fsys.Lstat(path); {
	case err == nil:
		return fmt.Errorf("create %s: %w; `krund` continues it; to start over, remove its directory", path,
			fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create the schedule: %w", err)
	}
	h, err := shape(h, n, slots)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return write(fsys, path, h, slots)
}

// shape fills in the fields that follow from the number of slots and the longest key.
func shape(h Header, n int, slots iter.Seq[Slot]) (Header, error) {
	longest := 0
	for s := range slots {
		longest = max(longest, len(s.Key.String()))
	}
	h.Version, h.Generation, h.Slots, h.Next = Version, 1, n, 0
	h.Width = cmp.Or(h.Width, widthFor(longest))
	if h.Sectors == 0 {
		h.Sectors = sectorsFor(h)
	}
	return h, h.check()
}

// write writes a complete new file.
func write(fsys durable.FS, path string, h Header, slots iter.Seq[Slot]) error {
	const readable = 0o644 // krunctl runs without privileges
	return durable.WriteTo(fsys, path, readable, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, blockBytes)
		if err := writeHeaders(buffered, h); err != nil {
			return err
		}
		if err := writeSlots(buffered, h, slots); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// writeHeaders writes both copies, which differ only in their letter, in file order: the first
// sectors, then the others.
func writeHeaders(w io.Writer, h Header) error {
	var first, rest []byte
	for c := range copyID(copies) {
		text, err := encodeHeader(h, c)
		if err != nil {
			return err
		}
		first = append(first, text[:sectorBytes]...)
		rest = append(rest, text[sectorBytes:]...)
	}
	_, err := w.Write(append(first, rest...))
	return err
}

func writeSlots(w io.Writer, h Header, slots iter.Seq[Slot]) error {
	line := make([]byte, h.Width)
	index := 0
	for s := range slots {
		if s.Index != index {
			return fmt.Errorf("got slot %d in place of slot %d", s.Index, index)
		}
		if err := encodeSlot(line, s); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		index++
	}
	if index != h.Slots {
		return fmt.Errorf("there are %d slots instead of %d", index, h.Slots)
	}
	return nil
}
