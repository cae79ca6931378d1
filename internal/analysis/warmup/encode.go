package warmup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrDocument reports that a text is not an analysis this version can read.
var ErrDocument = errors.New("not a readable analysis of krund")

// Encode returns the document as the text of analysis.json: JSON with a line per pair, execution
// and segment, so that lists of numbers stay on one line and two analyses can be compared line by
// line.
func (d *Document) Encode() ([]byte, error) {
	compact, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the analysis: %w", err)
	}
	return breakLines(compact), nil
}

// Decode parses the output of Encode. The errors wrap ErrDocument.
func Decode(text []byte) (*Document, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("%w: its format is %q, not %q", ErrDocument, head.Format, Format)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%w: it has version %d, this krunctl reads %d; analyze again", ErrDocument,
			head.Version, Version)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if err := d.Parameters.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return &d, nil
}

// breakLines puts each member or element of an object or array that contains further objects on its
// own line.
func breakLines(compact []byte) []byte {
	broken := holders(compact)
	var out bytes.Buffer
	out.Grow(len(compact) + len(compact)/8)
	var open []bool // for each enclosing object or array: is it broken into lines?
	from := 0
	newLine := func(until int) {
		out.Write(compact[from:until])
		from = until
		out.WriteByte('\n')
		for range open {
			out.WriteByte(' ')
		}
	}
	structure(compact, func(i int, c byte) {
		switch c {
		case '{', '[':
			open = append(open, broken[i])
			if broken[i] {
				newLine(i + 1)
			}
		case '}', ']':
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if last {
				newLine(i)
			}
		case ',':
			if open[len(open)-1] {
				newLine(i + 1)
			}
		}
	})
	out.Write(compact[from:])
	out.WriteByte('\n')
	return out.Bytes()
}

// holders returns the offsets of the objects and arrays that contain an object, at any depth.
func holders(compact []byte) map[int]bool {
	holds := map[int]bool{}
	var open []int
	structure(compact, func(i int, c byte) {
		switch c {
		case '{', '[':
			for k := len(open) - 1; c == '{' && k >= 0 && !holds[open[k]]; k-- {
				holds[open[k]] = true
			}
			open = append(open, i)
		case '}', ']':
			open = open[:len(open)-1]
		}
	})
	return holds
}

// structure calls use for the brackets, braces and commas of valid JSON outside strings.
func structure(compact []byte, use func(i int, c byte)) {
	inString, escaped := false, false
	for i, c := range compact {
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '[' || c == '}' || c == ']' || c == ','):
			use(i, c)
		}
	}
}
