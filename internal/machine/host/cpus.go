package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers, so that a damaged list cannot cause a huge allocation. Linux is built
// for at most 8192 CPUs.
const maxCPU = 1 << 16

// CPUs is a set of CPU numbers: ascending, each once. nil is the empty set.
type CPUs []int

// ParseCPUList reads the kernel's list form: "0-3,8,10-12", or "" for none. "(null)" is none as
// well: some kernels print that for an empty nohz_full.
func ParseCPUList(text string) (CPUs, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "(null)" {
		return nil, nil
	}
	var set CPUs
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := parseCPU(first)
		if err != nil {
			return nil, fmt.Errorf("CPU list %.80q: %w", text, err)
		}
		hi := lo
		if isRange {
			if hi, err = parseCPU(last); err != nil {
				return nil, fmt.Errorf("CPU list %.80q: %w", text, err)
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("CPU list %.80q: %d-%d is descending", text, lo, hi)
		}
		for n := lo; n <= hi; n++ {
			set = append(set, n)
		}
		if len(set) > 2*maxCPU {
			return nil, fmt.Errorf("CPU list %.80q: names too many CPUs", text)
		}
	}
	return normal(set), nil
}

func parseCPU(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n >= maxCPU {
		return 0, fmt.Errorf("%.80q is not a CPU number", text)
	}
	return int(n), nil
}

// ParseCPUMask reads the kernel's mask form: hexadecimal words of 32 bits, the highest first,
// separated by commas: "ff", "3,ffffffff".
func ParseCPUMask(text string) (CPUs, error) {
	words := strings.Split(strings.TrimSpace(text), ",")
	if len(words) > maxCPU/32 {
		return nil, fmt.Errorf("CPU mask %.80q: too long", text)
	}
	var set CPUs
	for i, word := range words {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("CPU mask %.80q: %.80q is not a hexadecimal word of 32 bits", text, word)
		}
		base := 32 * (len(words) - 1 - i)
		for b := range 32 {
			if bits&(1<<b) != 0 {
				set = append(set, base+b)
			}
		}
	}
	return normal(set), nil
}

// String returns the list form; the empty set is "".
func (c CPUs) String() string {
	var b strings.Builder
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(c[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(c[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Mask returns the mask form, with as many words as the highest CPU needs; the empty set is "0".
func (c CPUs) Mask() string {
	if len(c) == 0 {
		return "0"
	}
	words := make([]uint32, c[len(c)-1]/32+1)
	for _, n := range c {
		words[n/32] |= 1 << (n % 32)
	}
	var b strings.Builder
	for i := len(words) - 1; i >= 0; i-- {
		if b.Len() == 0 {
			b.WriteString(strconv.FormatUint(uint64(words[i]), 16))
			continue
		}
		fmt.Fprintf(&b, ",%08x", words[i])
	}
	return b.String()
}

// Plus returns the members of c and of d.
func (c CPUs) Plus(d CPUs) CPUs { return normal(slices.Concat(c, d)) }

// Minus returns the members of c that are not in d.
func (c CPUs) Minus(d CPUs) CPUs {
	var out CPUs
	for _, n := range c {
		if _, in := slices.BinarySearch(d, n); !in {
			out = append(out, n)
		}
	}
	return out
}

// And returns the members of c that are in d.
func (c CPUs) And(d CPUs) CPUs { return c.Minus(c.Minus(d)) }

// Contains reports whether every member of d is in c.
func (c CPUs) Contains(d CPUs) bool { return len(d.Minus(c)) == 0 }

// Equal reports whether both sets have the same members.
func (c CPUs) Equal(d CPUs) bool { return slices.Equal(c, d) }

// normal sorts a set and removes duplicates, in place.
func normal(set CPUs) CPUs {
	slices.Sort(set)
	return slices.Compact(set)
}
