package lag

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// event is what a webhook is told.
type event struct {
	Alert, State, Group string
	Records             int64 `json:"lag_records"`
	Growing             bool
	Node                int32
}

// hook is a webhook that remembers what it took.
type hook struct {
	*httptest.Server
	mu   sync.Mutex
	took []event
}

// newHook listens on a listener, or on a port of its own where that is nil. answer gives the
// status of the nth post, from 1 on.
func newHook(t *testing.T, l net.Listener, answer func(n int) int) *hook {
	t.Helper()
	h, posts := &hook{}, 0
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		posts++
		n := posts
		h.mu.Unlock()
		status := answer(n)
		if status/100 == 2 {
			var e event
			if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
				t.Error(err)
			}
			h.mu.Lock()
			h.took = append(h.took, e)
			h.mu.Unlock()
		}
		rw.WriteHeader(status)
	}))
	if l != nil {
		h.Listener.Close()
		h.Listener = l
	}
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// takes is a webhook that is well.
func takes(int) int { return http.StatusOK }

// told gives what it was told of a group so far.
func (h *hook) told(group string) (events []event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.took {
		if e.Group == group {
			events = append(events, e)
		}
	}
	return events
}
