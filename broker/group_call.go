package broker

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
	"ringmain/netio"
	"ringmain/wire"
)

// groupHandler serves one request to the group coordinator: it posts steps to the
// machines and returns. The call is answered once, by whichever step is the last.
type groupHandler func(g *groups, c *groupCall, req kmsg.Request)

// groupCall is one request to the group coordinator until its answer. It holds its
// frame that long, so that what waits counts as bytes in flight.
type groupCall struct {
	request
	b      *Broker
	frame  *netio.Frame
	client group.Client
	calls  *groupCalls
	steps  *sync.WaitGroup // counts the steps that have not run; nil for small requests
}

// serveGroup serves a request on the connection's loop, which posts what is to be done
// and reads on: the steps of a connection's requests run in their order. A large
// request is decoded on the pool, with the connection paused until its steps have run,
// for the reasons given at serve.
func (b *Broker) serveGroup(a *api, r request, f *netio.Frame, body []byte) {
	c := &groupCall{request: r, b: b, frame: f, calls: &clientOf(r.conn).groups,
		client: group.Client{ID: r.h.ClientID, Host: javaAddress(r.conn.RemoteIP())}}
	c.calls.begin(r.conn)
	if len(body) <= quickBytes {
		c.serve(a, body)
		return
	}
	r.conn.Pause()
	b.pool.run(func() {
		if len(body) > largeBytes {
			b.large.Lock()
			defer b.large.Unlock()
		}
		c.steps = &sync.WaitGroup{}
		c.serve(a, body)
		c.steps.Wait()
		r.conn.Resume()
	})
}

func (c *groupCall) serve(a *api, body []byte) {
	req, err := wire.Decode(c.h.Key, c.h.Version, body)
	if err != nil {
		c.b.refuse(c.request, c.frame, err)
		return
	}
	a.group(c.b.groups, c, req)
}

// answer sends the response. Any goroutine.
func (c *groupCall) answer(out kmsg.Response) {
	out.SetVersion(c.h.Version)
	resp := netio.NewResponse()
	resp.Buf = wire.AppendResponse(resp.Buf, c.h.Correlation, out)
	c.b.answered(c.h.Key, responseError(out), c.start)
	c.frame.Release()
	c.slot.Send(resp)
	c.calls.end(c.conn)
}

// maxGroupCalls is how many requests of one connection may be with the group
// coordinator at once. A JoinGroup waits for minutes; a client that sends ahead is not
// read on until an answer has gone, where Kafka lets any request hold up the next.
// Otherwise a few bytes on the wire would buy the memory of a waiting member as often
// as wanted.
const maxGroupCalls = 8

// groupCalls counts the requests of a connection that are with the group coordinator.
type groupCalls struct {
	open   atomic.Int32
	paused atomic.Bool
}

// begin counts one more, on the connection's loop.
func (g *groupCalls) begin(c *netio.Conn) {
	if g.open.Add(1) < maxGroupCalls {
		return
	}
	c.Pause()
	g.paused.Store(true)
	if g.open.Load() < maxGroupCalls { // an answer came between the two
		g.resume(c)
	}
}

// end counts one less. Any goroutine.
func (g *groupCalls) end(c *netio.Conn) {
	if g.open.Add(-1) < maxGroupCalls {
		g.resume(c)
	}
}

func (g *groupCalls) resume(c *netio.Conn) {
	if g.paused.CompareAndSwap(true, false) {
		c.Resume()
	}
}

// ask runs a step for one group and gives what the machine says to then. refuse makes
// what is given where the group is not served, or where its write failed.
func ask[R any](c *groupCall, id string, then func(R), refuse func(code int16) R, step func(m *group.Machine, s *coordinator.Step, reply func(R, error))) {
	askPartition(c, c.b.groups.partitionOf(id), then, func(err error) R { return refuse(coordinatorCode(err)) }, step)
}

// askPartition is ask for a partition of the offsets topic.
func askPartition[R any](c *groupCall, partition int32, then func(R), refuse func(err error) R, step func(m *group.Machine, s *coordinator.Step, reply func(R, error))) {
	ran := func() {}
	if c.steps != nil {
		c.steps.Add(1)
		ran = c.steps.Done
	}
	c.b.groups.runtime.Do(partition, func(m *group.Machine, s *coordinator.Step) {
		step(m, s, func(r R, err error) {
			if err != nil {
				r = refuse(err)
			}
			then(r)
		})
		ran()
	}, func(err error) {
		then(refuse(err))
		ran()
	})
}

// gather makes a function for each of n parts of an answer; when all have been called,
// done gets the parts in order.
func gather[R any](n int, done func([]R)) []func(R) {
	parts := make([]R, n)
	give := make([]func(R), n)
	left := atomic.Int32{}
	left.Store(int32(n))
	for i := range give {
		give[i] = func(r R) {
			parts[i] = r
			if left.Add(-1) == 0 {
				done(parts)
			}
		}
	}
	if n == 0 {
		done(parts)
	}
	return give
}

// maxAnswerBytes is about how large an answer of several groups may be. Of a request
// that names a large group very often the first are answered.
const maxAnswerBytes = 100 << 20

// gatherNamed is gather for the parts of an answer that have names: ask is called for
// the first part of each name, and the others are the same. What does not fit into an
// answer becomes what refuse gives; the first part always fits.
func gatherNamed[K comparable, R any](names []K, ask func(i int, give func(R)), size func(R) int, refuse func(i int) R, done func([]R)) {
	place := map[K]int{}
	var first []int // by place
	for i, name := range names {
		if _, again := place[name]; !again {
			place[name] = len(first)
			first = append(first, i)
		}
	}
	give := gather(len(first), func(parts []R) {
		all := make([]R, len(names))
		bytes := 0
		for i, name := range names {
			part := parts[place[name]]
			if n := size(part); i == 0 || bytes+n <= maxAnswerBytes {
				all[i] = part
				bytes += n
				continue
			}
			all[i] = refuse(i)
		}
		done(all)
	})
	for n, i := range first {
		ask(i, give[n])
	}
}
