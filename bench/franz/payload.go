package franz

import (
	"sync"

	"ringmain/bench/workload"
)

// payload is the bytes of values, behind a lock: it has some megabytes, so that
// clients that are many share it. Which client gets which bytes then depends on
// who comes first; sizes, keys and partitions do not.
type payload struct {
	mu    sync.Mutex
	bytes *workload.Payload
}

func newPayloads(s *workload.Spec) []*payload {
	all := make([]*payload, min(s.Connections, maxNotes))
	for i := range all {
		all[i] = &payload{bytes: s.NewPayload(uint64(i))}
	}
	return all
}

func (p *payload) fill(value []byte) {
	p.mu.Lock()
	p.bytes.Fill(value)
	p.mu.Unlock()
}
