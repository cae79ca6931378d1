package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenMistakes keeps the whole output for a file of many mistakes. A
// line of the file that has one states it in a comment.
func TestGoldenMistakes(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.toml")
	must.Do(t, err)
	_, err = config.Parse("mistakes.toml", text, "lab1", doctor.Settings())
	must.Need(t, err != nil, "no mistake found")
	golden := filepath.Join("testdata", "mistakes.txt")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
	}
	want, readErr := os.ReadFile(golden)
	must.Need(t, readErr == nil, readErr)
	must.Equal(t, err.Error()+"\n", string(want))
	for i, line := range strings.Split(string(text), "\n") {
		marked := strings.Contains(line, "  # ")
		reported := strings.Contains(err.Error(), "mistakes.toml:"+strconv.Itoa(i+1)+": ")
		must.Be(t, marked == reported || strings.Contains(line, "'''"), "line", i+1, "marked", marked,
			"reported", reported, line)
	}
}
