package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// BenchmarkAppend adds a record of 2000 iterations and 4 cores to directories that already contain
// records: the cost should not depend on their number.
func BenchmarkAppend(b *testing.B) {
	for _, existing := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("existing=%d", existing), func(b *testing.B) {
			dir := b.TempDir()
			for slot := range existing {
				name := results.Name{Slot: slot, Attempt: 1}.String()
				must.Do(b, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
			}
			a := results.NewAppender(durable.OS(), dir)
			r := sized(2000, 4)
			r.Slot = existing
			for b.Loop() {
				r.Slot++
				must.Do(b, a.Append(r))
			}
		})
	}
}

// BenchmarkCodec does not access the disk.
func BenchmarkCodec(b *testing.B) {
	for _, cores := range []int{0, 4, 64} {
		r := sized(2000, cores)
		packed := pack(b, r)
		b.Run(fmt.Sprintf("encode/cores=%d", cores), func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(packed)), "file-bytes")
			for b.Loop() {
				pack(b, r)
			}
		})
		b.Run(fmt.Sprintf("decode/cores=%d", cores), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(results.Decode(packed))(b)
			}
		})
	}
}
