package gobench

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkN(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		_ = fmt.Sprint(i)
	}
}

func BenchmarkNMore(b *testing.B) { b.Skip("not asked for") }

func BenchmarkFails(b *testing.B) { b.Fatal("wrong checksum") }

func BenchmarkNested(b *testing.B) {
	for _, name := range []string{"inner", "inner", "a(b|c)=[x/1", "a(b|c)=[x/10", `\d+`} {
		b.Run(name, func(b *testing.B) {
			if time.Sleep(time.Millisecond); len(name) > 11 {
				b.Skip("not asked for")
			}
		})
	}
}
