package durable

import (
	"bufio"
	"fmt"
	"io"
)

// The bounds. A series of measurements compresses to about a tenth of its size, because the digits
// of a time are mostly noise. Small files are harmless and may compress better.
const (
	SmallUnpacked = 32 << 20 // bytes to which every file may decompress
	UnpackRatio   = 200      // maximum ratio of decompressed to compressed size
)

// UnpackError is the error for a file that decompresses to more than allowed.
type UnpackError struct {
	Most   int64 // bytes
	Packed int64 // size of the file in bytes; 0 if Most does not depend on it
}

func (e *UnpackError) Error() string {
	if e.Packed > 0 {
		return fmt.Sprintf(
			"it has %d bytes and decompresses to more than %d; measurements do not compress this well",
			e.Packed,
			e.Most,
		)
	}
	return fmt.Sprintf("it decompresses to more than %d bytes, the maximum", e.Most)
}

// PackedInput is the compressed input. It counts what is read and never reads further ahead than
// its decompressor requests, so that data after the compressed data can be read from it.
type PackedInput struct {
	from *bufio.Reader
	size int64
	read int64
}

// NewPackedInput returns a PackedInput that reads r. size is the expected number of bytes, 0 if
// unknown.
func NewPackedInput(r io.Reader, size int64) *PackedInput {
	return &PackedInput{from: bufio.NewReaderSize(r, 1<<16), size: size}
}

// Peek returns the next n bytes without consuming them.
func (in *PackedInput) Peek(n int) ([]byte, error) { return in.from.Peek(n) }

// Read reads compressed bytes.
func (in *PackedInput) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	in.read += int64(n)
	return n, err
}

// ReadByte reads one compressed byte.
func (in *PackedInput) ReadByte() (byte, error) {
	b, err := in.from.ReadByte()
	if err == nil {
		in.read++
	}
	return b, err
}

// Bound returns a reader of unpacked, the output of the decompressor of in. It fails with a
// *UnpackError after most bytes, or when there is more output than the size of the compressed data
// allows.
func (in *PackedInput) Bound(unpacked io.Reader, most int64) io.Reader {
	return &bounded{in: in, from: unpacked, most: most}
}

type bounded struct {
	in         *PackedInput
	from       io.Reader
	most, read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	packed := max(b.in.size, b.in.read)
	switch by := max(UnpackRatio*packed, SmallUnpacked); {
	case b.read > b.most:
		return 0, &UnpackError{Most: b.most}
	case b.read > by:
		return 0, &UnpackError{Most: by, Packed: packed}
	}
	return n, err
}
