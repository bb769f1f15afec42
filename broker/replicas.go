package broker

import (
	"sync"

	"ringmain/model"
	"ringmain/partition"
)

// served is a topic with the replicas of it that this broker holds, indexed by
// partition; nil where it holds none.
type served struct {
	name     string
	id       model.TopicID
	replicas []*partition.Replica

	mu      sync.Mutex
	offline map[int32]bool // partitions whose log could not be opened
}

// fail notes that a partition's log could not be opened.
func (s *served) fail(index int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offline == nil {
		s.offline = map[int32]bool{}
	}
	s.offline[index] = true
}

// isOffline tells whether a partition is here but could not be opened.
func (s *served) isOffline(index int32) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offline[index]
}

// replicas finds the replicas that this broker holds. Written by the applier
// only; read by every loop.
type replicas struct {
	mu     sync.RWMutex
	byName map[string]*served
	byID   map[model.TopicID]*served
}

func newReplicas() *replicas {
	return &replicas{byName: map[string]*served{}, byID: map[model.TopicID]*served{}}
}

// named gives the topic's replicas; the name is not kept.
func (r *replicas) named(name []byte) *served {
	r.mu.RLock()
	s := r.byName[string(name)]
	r.mu.RUnlock()
	return s
}

// identified gives the replicas of the topic with this id.
func (r *replicas) identified(id model.TopicID) *served {
	r.mu.RLock()
	s := r.byID[id]
	r.mu.RUnlock()
	return s
}

// at gives the replica of one partition, or nil.
func (s *served) at(index int32) *partition.Replica {
	if s == nil || index < 0 || int(index) >= len(s.replicas) {
		return nil
	}
	return s.replicas[index]
}

// put publishes a topic, replacing what was there.
func (r *replicas) put(s *served) {
	r.mu.Lock()
	r.byName[s.name] = s
	r.byID[s.id] = s
	r.mu.Unlock()
}

// remove takes a topic out, if it is still the one with this id.
func (r *replicas) remove(name string, id model.TopicID) *served {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil {
		return nil
	}
	delete(r.byID, id)
	if r.byName[name] == s {
		delete(r.byName, name)
	}
	return s
}

// all gives every replica at this moment.
func (r *replicas) all() []*partition.Replica {
	var out []*partition.Replica
	for _, s := range r.topics() {
		for _, p := range s.replicas {
			if p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// topic gives the topic's replicas.
func (r *replicas) topic(name string) *served {
	r.mu.RLock()
	s := r.byName[name]
	r.mu.RUnlock()
	return s
}

// topics gives every topic at this moment.
func (r *replicas) topics() []*served {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*served, 0, len(r.byID))
	for _, s := range r.byID {
		out = append(out, s)
	}
	return out
}
