package schedule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"krund/internal/durable"
)

// Create creates the schedule of n slots at path, durably and atomically. It never replaces one:
// the error then wraps fs.ErrExist. It ranges over slots twice, once to find the longest key. See
// Header for what h must contain; h.Width may be 0 to let Create choose.
func Create(fsys durable.FS, path string, h Header, n int, slots iter.Seq[Slot]) error {
	switch _, err := fsys.Lstat(path); {
	case err == nil:
		return fmt.Errorf("create %s: %w; `krund` goes on with it, remove its directory to start again",
			path, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create the schedule: %w", err)
	}
	h, err := shape(h, n, slots)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return write(fsys, path, h, slots)
}

// shape fills in what follows from the number of slots and the longest key.
func shape(h Header, n int, slots iter.Seq[Slot]) (Header, error) {
	longest := 0
	for s := range slots {
		longest = max(longest, len(s.Key.String()))
	}
	h.Version, h.Generation, h.Slots, h.Next = Version, 1, n, 0
	if h.Width == 0 {
		h.Width = widthFor(longest)
	}
	if h.Sectors == 0 {
		h.Sectors = sectorsFor(h)
	}
	return h, h.check()
}

// write writes a whole new file.
func write(fsys durable.FS, path string, h Header, slots iter.Seq[Slot]) error {
	const readable = 0o644 // so that krunctl can read it without privileges
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

// writeHeaders writes both copies, which differ in their letter only, in the order of the file: the
// first sectors, then the others.
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
			return fmt.Errorf("slot %d comes where slot %d belongs", s.Index, index)
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
		return fmt.Errorf("there are %d slots and there should be %d", index, h.Slots)
	}
	return nil
}
