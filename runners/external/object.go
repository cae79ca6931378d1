package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// object splits stdout, which must be one JSON object with the four keys and
// nothing else but white space, into its values.
func object(stdout []byte) (map[string]json.RawMessage, error) {
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 {
		return nil, errors.New("nothing on stdout; want one JSON object")
	}
	if text[0] != '{' {
		return nil, fmt.Errorf("stdout begins with %s; want one JSON object and nothing before it (print everything else to stderr)", quote(line(text)))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	fields, err := members(decoder)
	if err != nil {
		return nil, fmt.Errorf("the JSON object on stdout, at byte %d: %w", decoder.InputOffset(), explain(err))
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("stdout goes on with %s after the JSON object; want nothing there (print everything else to stderr)", quote(line(rest)))
	}
	var missing []string
	for _, key := range []string{keyWall, keyCycles, keyAPERF, keyMPERF} {
		if _, ok := fields[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the JSON object on stdout lacks %s", strings.Join(missing, ", "))
	}
	return fields, nil
}

// members reads one object. Unlike json.Unmarshal it refuses a key that comes
// twice or is not of the four.
func members(decoder *json.Decoder) (map[string]json.RawMessage, error) {
	if _, err := decoder.Token(); err != nil { // the brace
		return nil, err
	}
	fields := make(map[string]json.RawMessage)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // a key is always a string, or Token fails
		if !slices.Contains([]string{keyWall, keyCycles, keyAPERF, keyMPERF}, key) {
			return nil, fmt.Errorf("unknown key %s; want exactly %s, %s, %s, %s", quote(key), keyWall, keyCycles, keyAPERF, keyMPERF)
		}
		if _, ok := fields[key]; ok {
			return nil, fmt.Errorf("key %s is there twice", key)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		fields[key] = value
	}
	_, err := decoder.Token() // the closing brace
	return fields, err
}

// explain adds what usually stands behind an error of the JSON reader.
func explain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends before it is complete (was the output cut off?)")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && (strings.Contains(syntax.Error(), "'N'") || strings.Contains(syntax.Error(), "'I'")) {
		return fmt.Errorf("%w (NaN and Infinity are not JSON; an iteration without a time is an error)", err)
	}
	return err
}

// line is the first line of text.
func line(text []byte) string {
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(first, "\r")
}
