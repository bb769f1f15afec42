package netio

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// pipelined sends frames of size bytes with depth in flight over one connection
// and discards the answers; one operation is one frame.
func pipelined(b *testing.B, s *Server, size, depth, answerSize int) {
	c, err := net.Dial("tcp", s.Addr("PLAINTEXT"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	frame := frameOf(make([]byte, size))
	burst := make([]byte, 0, depth*len(frame))
	for range depth {
		burst = append(burst, frame...)
	}
	in := bufio.NewReaderSize(c, 64<<10)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += depth {
		k := min(depth, b.N-n)
		if _, err := c.Write(burst[:k*len(frame)]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, in, int64(k*(answerSize+4))); err != nil {
			b.Fatal(err)
		}
	}
}

// ack answers each frame with 16 bytes, on the loop.
func ack(c *Conn, f *Frame) {
	slot := c.Reserve()
	r := NewResponse()
	r.Buf = binary.BigEndian.AppendUint32(r.Buf, 16)
	r.Buf = append(r.Buf, make([]byte, 16)...)
	slot.Send(r)
	f.Release()
}

func BenchmarkFrames(b *testing.B) {
	s := serve(b, Config{Loops: 1}, handlerFuncs{frame: ack})
	b.Run("100B one at a time", func(b *testing.B) { pipelined(b, s, 100, 1, 16) })
	b.Run("100B 64 in flight", func(b *testing.B) { pipelined(b, s, 100, 64, 16) })
	b.Run("64KiB 5 in flight", func(b *testing.B) { pipelined(b, s, 64<<10+100, 5, 16) })
	b.Run("1MiB 2 in flight", func(b *testing.B) { pipelined(b, s, 1<<20+100, 2, 16) })
}

// BenchmarkElsewhere answers from another goroutine, as the broker mostly does.
func BenchmarkElsewhere(b *testing.B) {
	type job struct {
		c *Conn
		s Slot
		f *Frame
	}
	jobs := make(chan job, 1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for j := range jobs {
			r := NewResponse()
			r.Buf = binary.BigEndian.AppendUint32(r.Buf, 16)
			r.Buf = append(r.Buf, make([]byte, 16)...)
			j.s.Send(r)
			j.f.Release()
		}
	}()
	s := serve(b, Config{Loops: 1}, handlerFuncs{frame: func(c *Conn, f *Frame) { jobs <- job{c, c.Reserve(), f} }})
	b.Run("100B one at a time", func(b *testing.B) { pipelined(b, s, 100, 1, 16) })
	b.Run("100B 64 in flight", func(b *testing.B) { pipelined(b, s, 100, 64, 16) })
	close(jobs)
	<-done
}

func BenchmarkFileRanges(b *testing.B) {
	f := newCountedFile(b, make([]byte, 4<<20))
	s := serve(b, Config{Loops: 1}, handlerFuncs{frame: func(c *Conn, fr *Frame) {
		n := int(binary.BigEndian.Uint32(fr.Bytes))
		r := NewResponse()
		r.Buf = binary.BigEndian.AppendUint32(r.Buf, uint32(n))
		r.AddFile(f.ranged(0, n))
		c.Reserve().Send(r)
		fr.Release()
	}})
	for name, size := range map[string]int{"64KiB": 64 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			c, err := net.Dial("tcp", s.Addr("PLAINTEXT"))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			req := frameOf(binary.BigEndian.AppendUint32(nil, uint32(size)))
			sink := make([]byte, 256<<10)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := c.Write(req); err != nil {
					b.Fatal(err)
				}
				for left := size + 4; left > 0; {
					n, err := c.Read(sink[:min(left, len(sink))])
					if err != nil {
						b.Fatal(err)
					}
					left -= n
				}
			}
		})
	}
}
