package host

import (
	"slices"
	"testing"

	"krund/rig/must"
)

func TestParseCPUList(t *testing.T) {
	tests := []struct {
		text string
		want CPUs
		bad  bool
	}{
		{"", nil, false},
		{"\n", nil, false},
		{"(null)\n", nil, false}, // an empty nohz_full on some kernels
		{"0", CPUs{0}, false},
		{"0-3,8,10-12\n", CPUs{0, 1, 2, 3, 8, 10, 11, 12}, false},
		{"3,1,2-3", CPUs{1, 2, 3}, false},
		{"3-1", nil, true},
		{"-1", nil, true},
		{"1-", nil, true},
		{"a", nil, true},
		{"1,,2", nil, true},
		{"0-99999999", nil, true},
		{"18446744073709551616", nil, true},
	}
	for _, tt := range tests {
		got, err := ParseCPUList(tt.text)
		must.Be(t, slices.Equal(got, tt.want) && (err != nil) == tt.bad, "ParseCPUList", tt.text, got, err,
			tt.want, "error", tt.bad)
	}
}

func TestParseCPUMask(t *testing.T) {
	tests := []struct {
		text string
		want CPUs
		bad  bool
	}{
		{"0", nil, false},
		{"f\n", CPUs{0, 1, 2, 3}, false},
		{"3,00000001", CPUs{0, 32, 33}, false},
		{"", nil, true},
		{"1ffffffff", nil, true},
		{"x", nil, true},
	}
	for _, tt := range tests {
		got, err := ParseCPUMask(tt.text)
		must.Be(t, slices.Equal(got, tt.want) && (err != nil) == tt.bad, "ParseCPUMask", tt.text, got, err,
			tt.want, "error", tt.bad)
	}
}

func TestCPUsPrint(t *testing.T) {
	tests := []struct {
		set        CPUs
		list, mask string
	}{
		{nil, "", "0"},
		{CPUs{5}, "5", "20"},
		{CPUs{0, 1}, "0-1", "3"},
		{CPUs{0, 1, 2, 4, 6, 7}, "0-2,4,6-7", "d7"},
		{CPUs{0, 32, 95}, "0,32,95", "80000000,00000001,00000001"},
	}
	for _, tt := range tests {
		must.Equal(t, tt.set.String(), tt.list, []int(tt.set), "prints as")
		must.Equal(t, tt.set.Mask(), tt.mask, "mask of", []int(tt.set))
	}
}

func TestCPUsSets(t *testing.T) {
	a, b := CPUs{0, 1, 2, 3}, CPUs{1, 3, 5}
	must.EqualList(t, a.Minus(b), CPUs{0, 2}, "minus")
	must.Be(t, !a.Contains(b) && a.Contains(CPUs{1, 3}) && a.Contains(nil) && !CPUs(nil).Contains(a),
		"contains is wrong")
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"", "0-3,8", "(null)", "7-7", "1,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseCPUList(text)
		if err != nil {
			return
		}
		again, err := ParseCPUList(set.String())
		must.Be(t, err == nil && again.Equal(set), text, set, "which prints as", set.String(), "and reads as",
			again, err)
		mask, err := ParseCPUMask(set.Mask())
		must.Be(t, err == nil && mask.Equal(set), text, "is", set, "whose mask", set.Mask(), "reads as", mask,
			err)
	})
}

func FuzzParseCPUMask(f *testing.F) {
	for _, s := range []string{"0", "ff", "3,ffffffff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseCPUMask(text)
		if err != nil {
			return
		}
		again, err := ParseCPUMask(set.Mask())
		must.Be(t, err == nil && again.Equal(set), text, set, "whose mask reads as", again, err)
	})
}
