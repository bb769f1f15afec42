package lag

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// fake is a broker's groups and logs, with a clock.
type fake struct {
	mu      sync.Mutex
	nowMs   int64
	commits []Commit
	err     error
	logs    map[place]Bounds
	times   map[place]map[int64]stamp // of the batch at an offset
	looks   int
}

func newFake() *fake {
	return &fake{nowMs: 1_000_000, logs: map[place]Bounds{}, times: map[place]map[int64]stamp{}}
}

func (f *fake) Committed(_ context.Context, visit func(Commit)) error {
	f.mu.Lock()
	commits, err := slices.Clone(f.commits), f.err
	f.mu.Unlock()
	for _, c := range commits {
		visit(c)
	}
	return err
}

func (f *fake) Bounds(topic string, partition int32) (Bounds, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.logs[place{topic, partition}]
	return b, ok
}

func (f *fake) Time(topic string, partition int32, offset int64) (int64, bool, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	t := f.times[place{topic, partition}][offset]
	return t.ms, t.appended, t.ok
}

// commit sets a group's offset.
func (f *fake) commit(group, topic string, partition int32, offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Commit{Group: group, Type: "classic", State: "Stable", Topic: topic, Partition: partition, Offset: offset}
	f.commits = slices.DeleteFunc(f.commits, func(o Commit) bool {
		return o.Group == group && o.Topic == topic && o.Partition == partition
	})
	f.commits = append(f.commits, c)
}

func (f *fake) log(topic string, partition int32, b Bounds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs[place{topic, partition}] = b
}

func (f *fake) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.UnixMilli(f.nowMs)
}

func (f *fake) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nowMs += d.Milliseconds()
}

func (f *fake) watcher(rules ...Rule) *Watcher {
	return newWatcher(Config{Rules: rules, Node: 7, Cluster: "c", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), now: f.now, pause: time.Millisecond}, f, f)
}

var errLoading = errors.New("loading")
