package franz

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// guests are the connections of an idle load.
type guests struct {
	env     *load.Env
	clients *clients
	notes   []*notes

	mu      sync.Mutex
	gone    bool // nobody is admitted any more
	watched sync.WaitGroup
}

// arrive opens all connections, as the rate says, until the context ends. A
// connection that fails is noted and not tried again.
func (g *guests) arrive(sending, finishing context.Context, begin time.Duration) error {
	s := &g.env.Spec
	doors := min(s.Connections, atOnce)
	return each(doors, func(door int) error {
		turns, err := newTurns(begin, s.Rate.RecordsPerSecond(max(s.Record.Mean(), 1)), door, doors)
		if err != nil {
			return err
		}
		defer turns.close()
		notes := g.notes[door%len(g.notes)]
		for range (s.Connections - door + doors - 1) / doors {
			intended, now, ok := turns.next(sending)
			if !ok {
				return nil
			}
			if err := g.admit(finishing); err != nil {
				notes.failed(err)
				continue
			}
			notes.done(load.Connect, intended, now, pace.Now())
		}
		return nil
	})
}

// admit opens one connection and stays with it.
func (g *guests) admit(ctx context.Context) error {
	guest := &guest{}
	client, err := g.clients.open(ctx, clientOptions(g.env, kgo.ConnIdleTimeout(idleFor), kgo.MetadataMaxAge(time.Hour), kgo.WithHooks(guest)))
	if err != nil {
		return err
	}
	conn := guest.connection()
	if conn == nil {
		client.Close()
		return net.ErrClosed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return net.ErrClosed
	}
	g.env.Meter.Open.Add(1)
	g.watched.Go(func() {
		defer g.env.Meter.Open.Add(-1)
		if !closedByUs(conn) {
			g.env.Meter.Lost.Add(1)
		}
	})
	return nil
}

// leave returns when all connections have ended, which their clients must do.
func (g *guests) leave() {
	g.mu.Lock()
	g.gone = true
	g.mu.Unlock()
	g.watched.Wait()
}

// guest is one connection of them. franz-go reads from it only when it waits for
// an answer, so it does not see that the server has closed an idle one.
type guest struct {
	mu   sync.Mutex
	conn net.Conn
}

// OnBrokerConnect is called by franz-go when it has tried to connect.
func (g *guest) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, conn net.Conn, err error) {
	if err != nil {
		return
	}
	g.mu.Lock()
	g.conn = conn
	g.mu.Unlock()
}

func (g *guest) connection() net.Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conn
}

// closedByUs waits until a connection ends, and says by whom. Nobody else reads:
// nothing was asked.
func closedByUs(conn net.Conn) bool {
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return errors.Is(err, net.ErrClosed)
	}
	var unasked [1]byte
	for {
		if _, err := conn.Read(unasked[:]); err != nil {
			// franz-go lets a deadline pass before it closes what it has.
			return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}
