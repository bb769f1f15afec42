package franz

import (
	"context"
	"sync/atomic"
)

// room bounds the records that a producer has given to its client and that have
// no answer yet. The client's own bound does not do: it lets the next record in
// as soon as one is answered and sends it at once, alone. Here a batch is let in
// as a whole.
type room struct {
	bound  int64
	group  int64 // records that are let in together
	let    int64 // of the group
	inside atomic.Int64
	left   chan struct{} // there may be room again
}

func newRoom(bound, group int) room {
	return room{bound: int64(max(bound, group)), group: int64(group), left: make(chan struct{}, 1)}
}

// enter waits until there is room for the next record, and calls full if there is
// none at first. It returns false when the context ended before. For one goroutine.
func (r *room) enter(ctx context.Context, full func()) (waited, ok bool) {
	if r.let == 0 && !r.free() {
		full()
		for !r.free() {
			select {
			case <-r.left:
			case <-ctx.Done():
				return true, false
			}
		}
		waited = true
	}
	r.let = (r.let + 1) % r.group
	r.inside.Add(1)
	return waited, true
}

func (r *room) free() bool { return r.inside.Load()+r.group <= r.bound }

// leave makes room. For any goroutine.
func (r *room) leave() {
	if r.inside.Add(-1)+r.group != r.bound {
		return
	}
	select {
	case r.left <- struct{}{}:
	default:
	}
}
