package api_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"krund/internal/hub/api"
	"krund/rig/must"
)

// FuzzReadShip: what is accepted is within the limits, and can be sent again.
func FuzzReadShip(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"experiment":{"name":"x","config_hash":"` + strings.Repeat("a", 64) + `","seed":"1"},` +
		`"entries":[{"slot":1,"attempt":1,"hash":"` + strings.Repeat("0", 64) + `","size":0}]}` + "\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := api.ReadShip(bufio.NewReader(bytes.NewReader(body)))
		if err != nil {
			return
		}
		must.Need(t, len(s.Entries) <= api.MaxEntries && (s.Experiment != nil || len(s.Entries) == 0),
			"accepted", s)
		empty := func(api.Entry) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
		s.Entries = nil
		var again bytes.Buffer
		must.Do(t, api.WriteShip(&again, s, empty))
		_, err = api.ReadShip(bufio.NewReader(&again))
		must.Be(t, err == nil || again.Len() > api.MaxJSON, again.Bytes(), err)
	})
}

func TestReadShipLimits(t *testing.T) {
	hash := strings.Repeat("a", 64)
	head := `{"experiment":{"name":"x","config_hash":"` + hash + `","seed":"1"},"entries":[`
	for name, body := range map[string]string{
		"nothing":         "",
		"no end of line":  "{}",
		"an endless line": strings.Repeat(" ", api.MaxJSON+1) + "\n",
		"too many entries": head + strings.Repeat(`{"attempt":1,"hash":"`+hash+`"},`, api.MaxEntries) +
			`{"attempt":1,"hash":"` + hash + `"}]}` + "\n",
		"an entry too large":    head + `{"attempt":1,"hash":"` + hash + `","size":268435457}]}` + "\n",
		"a negative size":       head + `{"attempt":1,"hash":"` + hash + `","size":-1}]}` + "\n",
		"attempt 0":             head + `{"hash":"` + hash + `"}]}` + "\n",
		"a file of the machine": head + `{"name":"/etc/shadow","hash":"` + hash + `"}]}` + "\n",
		"a file too large":      head + `{"name":"log","hash":"` + hash + `","size":33554433}]}` + "\n",
		"no SHA-256":            head + `{"attempt":1,"hash":"` + strings.ToUpper(hash) + `"}]}` + "\n",
		"entries of nothing":    `{"entries":[{"attempt":1,"hash":"` + hash + `"}]}` + "\n",
		"a file twice":          head + `{"name":"log","hash":"` + hash + `"},{"name":"log","hash":"` + hash + `"}]}` + "\n",
		"too much in all": head + strings.Repeat(`{"attempt":1,"hash":"`+hash+`","size":200000000},`, 1) +
			`{"attempt":1,"hash":"` + hash + `","size":200000000}]}` + "\n",
	} {
		s, err := api.ReadShip(bufio.NewReader(strings.NewReader(body)))
		must.Be(t, err != nil, name, "accepted", len(s.Entries), "entries")
	}
}
