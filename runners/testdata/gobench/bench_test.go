package gobench

import (
	"fmt"
	"testing"
)

func BenchmarkN(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		_ = fmt.Sprint(i)
	}
}

func BenchmarkNMore(b *testing.B) { b.Skip("not asked for") }

func BenchmarkFails(b *testing.B) { b.Fatal("wrong checksum") }

func BenchmarkNested(b *testing.B) { b.Run("inner", func(*testing.B) {}) }
