package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// BenchmarkClean is a pass over 16 MiB of records of 100 bytes, of which one in
// ten survives.
func BenchmarkClean(b *testing.B) {
	for _, codec := range []record.Codec{record.None, record.LZ4} {
		b.Run(codec.String(), func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.CompactPolicy, cfg.DeletePolicy, cfg.SegmentBytes = true, false, 1<<20
			io := NewPwritevIO()
			defer io.Close()
			size := int64(0)
			for b.Loop() {
				b.StopTimer()
				d := openDir(b, vfs.NewMem(), "/data")
				l, _ := openLog(b, d, cfg)
				w := record.NewBuilder()
				w.Codec = codec
				rng := rand.New(rand.NewPCG(1, 2))
				for n := range 1600 {
					w.Reset()
					for i := range 100 {
						w.Add(t0, fmt.Appendf(nil, "key-%d", (n*100+i)%16000), fmt.Appendf(nil, "%080x", rng.Uint64()))
					}
					appendAll(b, io, l, 0, w.Build())
				}
				syncLog(b, io, l)
				size = l.Size()
				b.StartTimer()
				_, err := l.Clean(CleanOptions{Config: cfg, Stable: l.EndOffset(), NowMs: t0, MapBytes: 128 << 20, MapLoad: 0.9,
					BufferBytes: 512 << 10, Pace: func(int) error { return nil }, Replace: l.Replace})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(size)
			b.ReportAllocs()
		})
	}
}
