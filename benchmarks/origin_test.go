package benchmarks

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// checksumOf returns a known checksum.
func checksumOf(name string, n int) float64 {
	return known[slices.IndexFunc(known, func(k entry) bool { return k.name == name && k.n == n })].checksum
}

// TestPublished compares the checksums with what the Computer Language Benchmarks Game prints, to
// the digits that it prints, and with the counts that Richards benchmarks in other languages check.
func TestPublished(t *testing.T) {
	for _, p := range []struct {
		name string
		n    int
		want string
	}{{"nbody", 1000, "-0.169087605"}, {"spectralnorm", 100, "1.274219991"}} {
		must.Equal(t, fmt.Sprintf("%.9f", checksumOf(p.name, p.n)), p.want, p.name, p.n, "published")
	}
	for _, p := range []struct{ n, sum, most int }{{7, 228, 16}, {10, 73196, 38}} {
		must.Equal(t, checksumOf("fannkuch_redux", p.n), float64(p.sum*1000+p.most), "fannkuch_redux", p.n,
			"published", p.sum, p.most)
	}
	for _, p := range []struct{ n, queued, held int }{{1000, 2322, 928}, {10000, 23246, 9297}} {
		must.Equal(t, checksumOf("richards", p.n), float64(p.queued<<24+p.held), "richards", p.n,
			"published", p.queued, p.held)
	}
}

// TestSpectralNorm: the norm of the infinite matrix is the third problem of the SIAM 100-digit
// challenge (Trefethen, 2002); the norms of the finite matrices approach it from below.
func TestSpectralNorm(t *testing.T) {
	const infinite = 1.27422415282122
	small, large := checksumOf("spectralnorm", 100), checksumOf("spectralnorm", 500)
	must.Be(t, small < large && large < infinite && infinite-large <= 1e-6, "norms", small, "100", large,
		"500", infinite, "infinite")
}

// TestBinaryTrees computes the number of nodes by formula: a perfect tree of depth d has 2^(d+1)-1.
func TestBinaryTrees(t *testing.T) {
	nodes := func(depth int) int { return 1<<(depth+1) - 1 }
	for _, k := range known {
		if k.name != "binary_trees" {
			continue
		}
		sum := nodes(k.n+1) + nodes(k.n)
		for depth := 4; depth <= k.n; depth += 2 {
			sum += nodes(depth) << (k.n - depth + 4)
		}
		must.Equal(t, float64(sum), k.checksum, k.n, "by formula")
	}
}

// TestFasta generates the text in a different way, compares its beginning with the published one,
// and computes the checksum.
func TestFasta(t *testing.T) {
	const alu = "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGGGAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGACCAGCC" +
		"TGGCCAACATGGTGAAACCCCGTCTCTACTAAAAATACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCAGCTACTCGGGAG" +
		"GCTGAGGCAGGAGAATCGCTTGAACCCGGGAGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCCAGCCTGGGCGACAGAGCG" +
		"AGACTCCGTCTCAAAAA"
	for _, k := range known {
		if k.name != "fasta" {
			continue
		}
		seed := 42
		random := func(letters string, shares []float64, count int) string {
			// A table of all random numbers: each letter gets those below its limit.
			var table strings.Builder
			limit := 0.0
			for i, share := range shares {
				limit += share
				end := 139968
				if i < len(shares)-1 {
					end = int(math.Ceil(limit * 139968))
				}
				table.WriteString(strings.Repeat(letters[i:i+1], end-table.Len()))
			}
			text := make([]byte, count)
			for i := range text {
				seed = (seed*3877 + 29573) % 139968
				text[i] = table.String()[seed]
			}
			return string(text)
		}
		shares := append([]float64{0.27, 0.12, 0.12, 0.27}, slices.Repeat([]float64{0.02}, 11)...)
		parts := []string{
			">ONE Homo sapiens alu", strings.Repeat(alu, 2*k.n/len(alu)+1)[:2*k.n],
			">TWO IUB ambiguity codes", random("acgtBDHKMNRSVWY", shares, 3*k.n),
			">THREE Homo sapiens frequency", random("acgt", []float64{0.3029549426680, 0.1979883004921,
				0.1975473066391, 0.3015094502008}, 5*k.n),
		}
		if got, want := parts[3][:60],
			"cttBtatcatatgctaKggNcataaaSatgtaaaDcDRtBggDtctttataattcBgtcg"; got != want {
			t.Errorf("%d: the second sequence begins %s, published %s", k.n, got, want)
		}
		var sum uint32
		for _, part := range parts {
			for line := range slices.Chunk([]byte(part), 60) {
				codes := uint32(0)
				for _, c := range line {
					codes += uint32(c)
				}
				sum = sum*31 + codes
			}
		}
		must.Equal(t, float64(sum), k.checksum, k.n, "computed from the text")
	}
}
