package broker

import (
	"slices"

	"ringmain/netio"
	"ringmain/partition"
)

// parked are the fetches of one connection that wait, oldest first. It is the
// connection's State, made when the first one waits; its loop owns it.
type parked struct{ waiters []*partition.Waiter }

// maxParked is how many fetches of one connection may wait at once. The usual
// consumer has one under way; one that sends ahead is not read until an answer
// has gone, as in Kafka, where any request holds up the next. Otherwise a few
// bytes on the wire would buy the memory of a waiting fetch as often as wanted.
const maxParked = 2

// park notes that w waits on behalf of c.
func park(c *netio.Conn, w *partition.Waiter) {
	p, _ := c.State.(*parked)
	if p == nil {
		p = &parked{}
		c.State = p
	}
	p.waiters = append(p.waiters, w)
	if len(p.waiters) == maxParked {
		c.Pause()
	}
}

// unpark takes park back.
func unpark(c *netio.Conn, w *partition.Waiter) {
	p := c.State.(*parked)
	if len(p.waiters) == maxParked {
		c.Resume()
	}
	i := slices.Index(p.waiters, w)
	p.waiters = slices.Delete(p.waiters, i, i+1)
}

// abandonParked ends the waiting of a connection that has closed; its wake-ups
// go nowhere.
func abandonParked(c *netio.Conn) {
	if p, _ := c.State.(*parked); p != nil {
		for _, w := range p.waiters {
			w.Fire()
		}
	}
}
