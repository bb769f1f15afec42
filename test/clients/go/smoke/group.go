package smoke

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// GroupPartitions is the number of partitions of a course's topic, GroupRecords that of
// the records in each of them at its end.
const (
	GroupPartitions = 6
	GroupRecords    = 220
)

type place struct {
	partition int32
	offset    int64
}

// Member is what one member of a group has and has read; its client fills it.
type Member struct {
	mu     sync.Mutex
	has    map[int32]bool
	read   []place
	cancel context.CancelFunc
	done   chan error
	left   bool
}

// Take adds partitions that the member was assigned.
func (m *Member) Take(partitions ...int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range partitions {
		m.has[p] = true
	}
}

// Lose removes partitions; without any it removes all.
func (m *Member) Lose(partitions ...int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(partitions) == 0 {
		clear(m.has)
	}
	for _, p := range partitions {
		delete(m.has, p)
	}
}

// Read adds a record.
func (m *Member) Read(partition int32, offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = append(m.read, place{partition, offset})
}

// stop ends a member in good order.
func (m *Member) stop() error {
	if m.left {
		return nil
	}
	m.left = true
	m.cancel()
	select {
	case err := <-m.done:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("a member does not end within 30 s")
	}
}

// Course is a group that grows, shrinks and is left, the same for every client.
type Course struct {
	// Produce writes so many records to each partition of the topic.
	Produce func(count int) error
	// Member is one member until ctx ends; it commits what it has read before that.
	Member func(ctx context.Context, m *Member) error
	// Repeats says that the client may read records again around a rebalance.
	Repeats bool

	written int
	members []*Member
}

func (c *Course) more(count int) error {
	c.written += count
	return c.Produce(count)
}

func (c *Course) join() *Member {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Member{has: map[int32]bool{}, cancel: cancel, done: make(chan error, 1)}
	c.members = append(c.members, m)
	go func() { m.done <- c.Member(ctx, m) }()
	return m
}

// places counts how often each record was read.
func (c *Course) places() map[place]int {
	all := map[place]int{}
	for _, m := range c.members {
		m.mu.Lock()
		for _, r := range m.read {
			all[r]++
		}
		m.mu.Unlock()
	}
	return all
}

// settled waits until the living members share the partitions so, and all that was written is read.
func (c *Course) settled(what string, shares ...int) error {
	return Until(what, func() (bool, error) {
		var have []int
		all := map[int32]bool{}
		for _, m := range c.members {
			if m.left {
				continue
			}
			select {
			case err := <-m.done:
				return false, fmt.Errorf("a member ended by itself: %w", err)
			default:
			}
			m.mu.Lock()
			have = append(have, len(m.has))
			for p := range m.has {
				all[p] = true
			}
			m.mu.Unlock()
		}
		slices.Sort(have)
		read := len(c.places())
		if !slices.Equal(have, shares) || len(all) != GroupPartitions || read != c.written*GroupPartitions {
			return false, fmt.Errorf("partitions %v, %d of %d records", have, read, c.written*GroupPartitions)
		}
		return true, nil
	})
}

// Run runs the course.
func (c *Course) Run() (err error) {
	defer func() {
		for _, m := range c.members {
			err = errors.Join(err, m.stop())
		}
	}()
	step := func(what string, count int, shares ...int) error {
		if err := c.more(count); err != nil {
			return err
		}
		return c.settled(what, shares...)
	}
	one := c.join()
	if err := step("one member reads all", 50, 6); err != nil {
		return err
	}
	two := c.join()
	if err := errors.Join(c.settled("two have half each", 3, 3), step("two read", 50, 3, 3)); err != nil {
		return err
	}
	three := c.join()
	if err := errors.Join(c.settled("three have a third each", 2, 2, 2), step("three read", 50, 2, 2, 2)); err != nil {
		return err
	}
	if err := errors.Join(one.stop(), c.settled("two are left", 3, 3), two.stop(), c.settled("one is left", 6), step("the last reads on", 50, 6), three.stop()); err != nil {
		return err
	}
	later := c.join()
	if err := errors.Join(step("a later one goes on", GroupRecords-c.written, 6), later.stop()); err != nil {
		return err
	}
	if want := 20 * GroupPartitions; len(later.read) != want {
		return fmt.Errorf("the later one read %d records, not %d", len(later.read), want)
	}
	for r, times := range c.places() {
		if times > 1 && !c.Repeats {
			return fmt.Errorf("record %d of partition %d was read %d times", r.offset, r.partition, times)
		}
	}
	return nil
}
