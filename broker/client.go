package broker

import (
	"slices"

	"ringmain/netio"
	"ringmain/partition"
)

// client is what the broker keeps of a connection, as its State. The
// connection's loop owns it.
type client struct {
	id      string              // client id of the last request, nearly always that of the next
	waiters []*partition.Waiter // fetches that wait, oldest first
	groups  groupCalls          // with the group coordinator
}

// clientOf gives the client of a connection.
func clientOf(c *netio.Conn) *client { return c.State.(*client) }

// maxParked is how many fetches of one connection may wait at once. The usual
// consumer has one under way; one that sends ahead is not read until an answer
// has gone, as in Kafka, where any request holds up the next. Otherwise a few
// bytes on the wire would buy the memory of a waiting fetch as often as wanted.
const maxParked = 2

// park notes that w waits on behalf of c.
func park(c *netio.Conn, w *partition.Waiter) {
	p := clientOf(c)
	p.waiters = append(p.waiters, w)
	if len(p.waiters) == maxParked {
		c.Pause()
	}
}

// unpark takes park back.
func unpark(c *netio.Conn, w *partition.Waiter) {
	p := clientOf(c)
	if len(p.waiters) == maxParked {
		c.Resume()
	}
	i := slices.Index(p.waiters, w)
	p.waiters = slices.Delete(p.waiters, i, i+1)
}

// abandonParked ends the waiting of a connection that has closed; its wake-ups
// go nowhere.
func abandonParked(c *netio.Conn) {
	for _, w := range clientOf(c).waiters {
		w.Fire()
	}
}
