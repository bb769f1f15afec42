package franz

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// atOnce is how many clients are opened, or closed, at the same time.
const atOnce = 16

// clients are those that close must close. For any goroutine.
type clients struct {
	mu     sync.Mutex
	list   []*kgo.Client
	closed bool
}

// prepare makes a client that has not connected yet.
func (c *clients) prepare(opts []kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("franz-go refuses its options: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		client.Close()
		return nil, errors.New("the engine is closed")
	}
	c.list = append(c.list, client)
	return client, nil
}

// open makes a client that has said hello.
func (c *clients) open(ctx context.Context, opts []kgo.Opt) (*kgo.Client, error) {
	client, err := c.prepare(opts)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx); err != nil {
		return nil, fmt.Errorf("say hello: %w", err)
	}
	return client, nil
}

// close closes all, and those that are made from now on at once.
func (c *clients) close() {
	c.mu.Lock()
	all := c.list
	c.list, c.closed = nil, true
	c.mu.Unlock()
	_ = each(len(all), func(i int) error {
		all[i].Close()
		return nil
	})
}

// each calls do with 0..n-1, some at the same time, and returns the first error;
// after one no more calls begin.
func each(n int, do func(i int) error) error {
	var (
		mu    sync.Mutex
		next  int
		first error
		wg    sync.WaitGroup
	)
	for range min(n, atOnce) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				over := i >= n || first != nil
				mu.Unlock()
				if over {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
