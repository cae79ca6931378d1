package durable_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

// zeros is a reader of that many zero bytes.
type zeros int64

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(*z), int64(len(p)))
	*z -= zeros(n)
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	return int(n), nil
}

func TestBound(t *testing.T) {
	const all = 1 << 40
	for _, c := range []struct {
		name           string
		packed         int   // bytes that the decompressor reads at once
		size           int64 // expected size
		unpacked, most int64
		want           int64 // Most of the error; 0 for no error
		tells          int64 // Packed of the error
	}{
		{"small", 10, 10, durable.SmallUnpacked, all, 0, 0},
		{"dense", 10, 10, durable.SmallUnpacked + 1, all, durable.SmallUnpacked, 10},
		{"dense, of unknown size", 10, 0, durable.SmallUnpacked + 1, all, durable.SmallUnpacked, 10},
		{"as dense as it may be", durable.SmallUnpacked / durable.UnpackRatio * 2, 0,
			durable.SmallUnpacked/durable.UnpackRatio*2*durable.UnpackRatio - 1, all, 0, 0},
		{"dense at its beginning", 10, durable.SmallUnpacked, 2 * durable.SmallUnpacked, all, 0, 0},
		{"large", durable.SmallUnpacked, 0, durable.SmallUnpacked + 1, durable.SmallUnpacked,
			durable.SmallUnpacked, 0},
	} {
		in := durable.NewPackedInput(bytes.NewReader(make([]byte, c.packed)), c.size)
		must.Get(io.ReadFull(in, make([]byte, c.packed)))(t)
		unpacked := zeros(c.unpacked)
		n, err := io.Copy(io.Discard, in.Bound(&unpacked, c.most))
		var size *durable.UnpackError
		switch {
		case c.want == 0:
			must.Be(t, err == nil && n == c.unpacked, c.name, n, "bytes", err)
		case !errors.As(err, &size) || size.Most != c.want || size.Packed != c.tells || n > c.want:
			t.Errorf("%s: %d bytes, %v", c.name, n, err)
		}
	}
}

// TestInputReadsNoFurther: gzip does not consume what follows its data.
func TestInputReadsNoFurther(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	must.Get(io.WriteString(z, strings.Repeat("text ", 1000)))(t)
	must.Do(t, z.Close())
	packed.WriteString("rest")
	in := durable.NewPackedInput(&packed, int64(packed.Len()))
	magic, err := in.Peek(2)
	must.Need(t, err == nil && magic[0] == 0x1f, magic, err)
	r := must.Get(gzip.NewReader(in))(t)
	r.Multistream(false)
	text, err := io.ReadAll(in.Bound(r, 1<<20))
	must.Be(t, err == nil && len(text) == 5000, len(text), "bytes", err)
	rest, err := io.ReadAll(in)
	must.Be(t, err == nil && string(rest) == "rest", rest, err)
}
