package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// visitors are those of one loop: connections that come for a moment (Storm) or to
// stay (Idle).
type visitors struct {
	env   *load.Env
	lp    *loop
	place place
	// greeting are the requests that a visitor sends, each after the answer to the
	// one before.
	greeting [][]byte
	stay     bool
	free     []*visitor // Storm: not connected
	waiting  int        // Idle: connections that are still to be opened
	opening  int        // Idle: under way
	count    int        // connections made so far, over all
	first    int        // number of the first of them in the load
	dues     *pace.Schedule
	stopped  bool
	err      error // of who could not come, found where another one is not at fault
}

// visitor is one connection, at one of its visits.
type visitor struct {
	*visitors
	link           *link
	said           int // of the greeting
	intended, sent time.Duration
	there          bool // Idle: greeted
}

// maxOpening bounds connections under way, of an idle load: a server's queue of
// connections that were not accepted yet has some hundred places.
const maxOpening = 64

// begin starts the load; perSecond paces this loop's part of a storm.
func (vs *visitors) begin(at time.Duration, perSecond float64, loop, loops int) error {
	if perSecond > 0 {
		vs.dues = pace.Starting(at, perSecond, loop, loops)
		return nil
	}
	return vs.more()
}

// due has visitors come whose time it is.
func (vs *visitors) due(now time.Duration) (time.Duration, error) {
	if vs.err != nil {
		return never, vs.err
	}
	if vs.dues == nil || vs.stopped {
		return never, nil
	}
	for len(vs.free) > 0 {
		if at := vs.dues.Peek(); at > now {
			return at, nil
		}
		if err := vs.come(vs.take(), vs.dues.Next()); err != nil {
			return 0, err
		}
	}
	return never, nil // who leaves makes room, and the loop asks again
}

func (vs *visitors) take() *visitor {
	v := vs.free[len(vs.free)-1]
	vs.free = vs.free[:len(vs.free)-1]
	return v
}

// more lets as many come as may, in a closed loop.
func (vs *visitors) more() error {
	for !vs.stopped && vs.waiting > 0 && vs.opening < maxOpening {
		vs.waiting--
		vs.opening++
		if err := vs.come(&visitor{visitors: vs}, pace.Now()); err != nil {
			return err
		}
	}
	for !vs.stopped && !vs.stay && vs.dues == nil && len(vs.free) > 0 {
		if err := vs.come(vs.take(), pace.Now()); err != nil {
			return err
		}
	}
	return nil
}

func (vs *visitors) come(v *visitor, intended time.Duration) error {
	fd, err := vs.place.connect(vs.first + vs.count)
	if vs.stay {
		vs.count++
	}
	if err != nil {
		return connectError(err)
	}
	v.intended, v.sent, v.said, v.there = intended, pace.Now(), 0, false
	v.link = &link{fd: fd, role: v, connecting: true}
	return vs.lp.add(v.link)
}

// connectError says what is to be done where it is known.
func connectError(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("open a connection: %w; raise the limit of open files (ulimit -n)", err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("open a connection: %w; all local ports are in use: use fewer connections or a lower rate", err)
	}
	return fmt.Errorf("open a connection: %w", err)
}

func (v *visitor) connected(l *link) error { return v.say(l) }

func (v *visitor) say(l *link) error {
	request := v.greeting[v.said]
	v.said++
	binary.BigEndian.PutUint32(request[correlationAt:], uint32(l.next))
	return l.send(v.lp, request, nil)
}

func (v *visitor) answered(l *link, _ []byte) error {
	if v.said < len(v.greeting) {
		return v.say(l)
	}
	v.lp.worker.Done(load.Connect, 0, 0, v.intended, v.sent, pace.Now())
	if v.stay {
		v.there = true
		v.opening--
		v.env.Meter.Open.Add(1)
		l.quiet = true // ten thousand of them are to cost little
		v.err = v.more()
		return nil
	}
	v.lp.drop(l)
	return v.leave()
}

// leave makes room for the next one.
func (v *visitor) leave() error {
	v.free = append(v.free, v)
	return v.more()
}

func (v *visitor) drained(*link) error { return nil }

func (v *visitor) lost(_ *link, reason error) error {
	switch {
	case v.stopped:
		return nil
	case v.there:
		v.env.Meter.Open.Add(-1)
		v.env.Meter.Lost.Add(1)
		return nil
	case v.stay:
		v.opening--
		v.lp.worker.Failed(failureName(reason))
		return v.more()
	}
	v.lp.worker.Failed(failureName(reason))
	if errors.Is(reason, unix.ECONNREFUSED) {
		return fmt.Errorf("open a connection: %w", reason) // there is nobody to storm
	}
	return v.leave()
}

func failureName(reason error) string {
	switch {
	case errors.Is(reason, unix.ECONNREFUSED):
		return "connection refused"
	case errors.Is(reason, unix.ECONNRESET), errors.Is(reason, errClosed):
		return "connection closed"
	case errors.Is(reason, unix.ETIMEDOUT):
		return "connection timed out"
	}
	return reason.Error()
}
