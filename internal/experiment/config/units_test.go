package config_test

import (
	"testing"
	"time"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		text string
		want time.Duration
		err  string
	}{
		{"0", 0, ""}, {"0s", 0, ""}, {"0d", 0, ""}, {"3m", 3 * time.Minute, ""}, {"1h30m", 90 * time.Minute,
			""},
		{"1.5s", 1500 * time.Millisecond, ""}, {".5s", 500 * time.Millisecond, ""},
		{"250ms", 250 * time.Millisecond, ""},
		{"2d", 2 * day, ""}, {"1d12h", 36 * time.Hour, ""}, {"106751d", 106751 * day, ""},
		{"106751d23h47m16s", 106751*day + 23*time.Hour + 47*time.Minute + 16*time.Second, ""},
		{"106751d23h47m17s", 0, "too long"}, {"106752d", 0, "too long"}, {"9999999h", 0, "too long"},
		{"99999999999999999999s", 0, "too long"},
		{"", 0, "not a duration"}, {"3", 0, "not a duration"}, {"m", 0, "not a duration"},
		{"3 m", 0, "not a duration"}, {"3min", 0, "not a duration"},
		{"1.5d", 0, "not a duration"}, {"d", 0, "not a duration"}, {"1d-3h", 0, "not a duration"},
		{"+3m", 0, "not a duration"}, {"1d3", 0, "not a duration"},
		{"-3m", 0, "negative"}, {"4294967296d", 0, "not a duration"},
	}
	for _, test := range tests {
		got, err := config.ParseDuration(test.text)
		must.Be(t, got == test.want && errorText(err) == test.err, test.text, got, errorText(err), test.want,
			test.err)
	}
}

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want int64
		err  string
	}{
		{"0", 0, ""}, {"4096", 4096, ""}, {"1B", 1, ""}, {"1kB", 1000, ""}, {"1KB", 1000, ""},
		{"512KiB", 512 << 10, ""},
		{"8MiB", 8 << 20, ""}, {"8 MiB", 8 << 20, ""}, {"1GB", 1e9, ""}, {"2GiB", 2 << 30, ""},
		{"1TiB", 1 << 40, ""}, {"1TB", 1e12, ""},
		{"9223372036854775807", 1<<63 - 1, ""}, {"9223372036854775808", 0, "too large"},
		{"8388608TiB", 0, "too large"},
		{"8388607TiB", 8388607 << 40, ""}, {"", 0, "not a size"}, {"GiB", 0, "not a size"},
		{"-1", 0, "negative"}, {"+1", 0, "not a size"},
		{"1.5GiB", 0, `not a size: there is no unit ".5GiB"`},
		{"1  MiB", 0, `not a size: there is no unit " MiB"`}, {"2G", 0, `not a size: there is no unit "G"`},
	}
	for _, test := range tests {
		got, err := config.ParseSize(test.text)
		must.Be(t, got == test.want && errorText(err) == test.err, test.text, got, errorText(err), test.want,
			test.err)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"3m", "1d12h", "-1s", "106751d23h47m16.854775807s", "9999999h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := config.ParseDuration(text)
		if err != nil {
			return
		}
		must.Be(t, d >= 0, text, d)
		again, err := config.ParseDuration(d.String())
		must.Be(t, err == nil && again == d, text, d, "which is", again, err)
	})
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", 1000: "1000", 1024: "1KiB", 1536: "1536", 1536 << 20: "1536MiB", 2 << 30: "2GiB",
		2 << 40: "2TiB", 1 << 62: "4194304TiB",
	} {
		got := config.FormatSize(n)
		back, err := config.ParseSize(got)
		must.Be(t, got == want && back == n && err == nil, n, got, "want", want, "read back", back, err)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"4096", "2GiB", "8388608TiB", "1 kB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := config.ParseSize(text)
		must.Be(t, (err != nil || n >= 0) && (err == nil || n == 0), text, n, err)
	})
}

func TestHome(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, `home = "1GiB"`: 1 << 30, "home = 0": 0, `home = "none"`: 0,
	} {
		must.Equal(t, mustParse(t, base+"\n[limits]\n"+text+"\n").Limits.Home, want)
	}
}

func TestProcesses(t *testing.T) {
	for text, want := range map[string]int64{"": 4096, "processes = 16": 16, "processes = 0": 0,
		`processes = "none"`: 0} {
		must.Equal(t, mustParse(t, base+"\n[limits]\n"+text+"\n").Limits.Processes, want)
	}
}
