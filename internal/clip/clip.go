// Package clip bounds texts that come from outside (names in files, what a benchmark left behind)
// before people are told of them or a record keeps them. A text that is clipped says so, and how
// much is missing. Clipping twice is clipping once.
//
// The package judges nothing and escapes nothing. Start reading at Text.
package clip

import (
	"fmt"
	"unicode/utf8"
)

// Message is how many bytes of a text fit into a message for people.
const Message = 2000

// remark is more than the remark about what was left out needs.
const remark = 60

// Text returns s, or when it has more than most bytes, its beginning and its end with a remark
// between them. The result has at most that many bytes; most is at least 200.
func Text(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := (most - remark) / 2
	tail := len(s) - (most - remark - head)
	for range utf8.UTFMax {
		if !utf8.RuneStart(s[head]) {
			head--
		}
		if !utf8.RuneStart(s[tail]) {
			tail++
		}
	}
	return fmt.Sprintf("%s[... %d bytes left out ...]%s", s[:head], tail-head, s[tail:])
}

// Lines returns list with each line clipped to Message, and when they are more than count lines or
// have more than size bytes together, the first of them with a remark at the end. The result has at
// most count lines and size bytes. list stays as it is; nil stays nil.
func Lines(list []string, count, size int) []string {
	if list == nil {
		return nil
	}
	whole := len(list) <= count
	clipped := make([]string, 0, min(len(list), count))
	bytes, fit := 0, 0 // fit: lines that leave room for the remark
	for _, line := range list[:min(len(list), count)] {
		line = Text(line, Message)
		if bytes += len(line); bytes > size {
			whole = false
			break
		}
		clipped = append(clipped, line)
		if bytes <= size-remark && len(clipped) < count {
			fit = len(clipped)
		}
	}
	if whole {
		return clipped
	}
	return append(clipped[:fit], fmt.Sprintf("%d more of these were left out", len(list)-fit))
}
