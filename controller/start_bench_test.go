package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

func BenchmarkStart(b *testing.B) {
	for _, topics := range []int{0, 500, 2000} {
		b.Run(fmt.Sprintf("existing-%d", topics), func(b *testing.B) {
			cfg := Config{Dir: b.TempDir(), NodeID: 1}
			c := open(b, cfg)
			for n := range topics {
				mustCreate(b, c, fmt.Sprint("topic-", n))
			}
			closeClean(b, c)
			for b.Loop() {
				c, err := Open(cfg, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Start(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				c.Close()
				b.StartTimer()
			}
		})
	}
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			b.StartTimer()
			c, err := Open(Config{Dir: dir + "/meta", NodeID: 1}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Start(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			c.Close()
			b.StartTimer()
		}
	})
}

func BenchmarkCreateTopics(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers, "-callers"), func(b *testing.B) {
			c := open(b, Config{Dir: b.TempDir(), NodeID: 1})
			b.SetParallelism(max(callers/2, 1))
			var n int64
			var mu sync.Mutex
			create := func() {
				mu.Lock()
				n++
				name := fmt.Sprint("topic-", n)
				mu.Unlock()
				if _, err := createTopic(c, name, 1); err != nil {
					b.Error(err)
				}
			}
			if callers == 1 {
				for b.Loop() {
					create()
				}
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					create()
				}
			})
		})
	}
}
