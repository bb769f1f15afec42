package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"ringmain/metadata"
	"ringmain/model"
	"ringmain/partition"
	"ringmain/segment"
)

// applier turns what the metadata says into replicas: it opens, reconfigures
// and deletes them, one delta after the other, in the order of the metadata
// log. A request that changed the metadata is answered when the applier has
// come past its change (wait), so what was created is served before its
// creator hears of it.
type applier struct {
	b    *Broker
	dirs []*segment.Dir
	// home says in which log directory a partition's files are; filled from the
	// directories at start, then kept by the applier.
	home map[model.TopicPartition]*segment.Dir
	// twice has the other directories of partitions that were found in several:
	// a power cut can bring a deleted topic's back after its name was used again.
	twice map[model.TopicPartition][]*segment.Dir
	// unread are the directories in which a log was not opened: it failed, or the start
	// was ended before. What such a log holds was not checked.
	unread map[*segment.Dir]bool

	// first is closed when the first image is served.
	first chan struct{}

	mu      sync.Mutex
	applied int64 // index of the metadata up to which everything is served
	waiters []appliedWaiter
}

type appliedWaiter struct {
	index int64
	done  chan struct{}
}

func newApplier(b *Broker, dirs []*segment.Dir) (*applier, error) {
	a := &applier{b: b, dirs: dirs, home: map[model.TopicPartition]*segment.Dir{}, twice: map[model.TopicPartition][]*segment.Dir{}, unread: map[*segment.Dir]bool{}, first: make(chan struct{})}
	for _, d := range dirs {
		tps, err := d.Partitions()
		if err != nil {
			return nil, err
		}
		for _, tp := range tps {
			if err := a.found(tp, d); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// found notes that a partition's files are in d.
func (a *applier) found(tp model.TopicPartition, d *segment.Dir) error {
	other := a.home[tp]
	if other == nil {
		a.home[tp] = d
		return nil
	}
	for _, o := range append(a.twice[tp], other) {
		id, err1 := d.TopicIDOf(tp)
		old, err2 := o.TopicIDOf(tp)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("partition %s is in %s and in %s: %w", tp, o.Path(), d.Path(), err)
		}
		if id == old {
			return fmt.Errorf("partition %s of topic id %s is in %s and in %s; move one of them away", tp, id, o.Path(), d.Path())
		}
	}
	a.twice[tp] = append(a.twice[tp], d)
	return nil
}

// settle decides, for a partition that was found in several directories, which
// is the topic's, and sets the others aside.
func (a *applier) settle(tp model.TopicPartition, topic model.TopicID) {
	all := append([]*segment.Dir{a.home[tp]}, a.twice[tp]...)
	delete(a.twice, tp)
	for _, d := range all {
		if id, err := d.TopicIDOf(tp); err == nil && id == topic {
			a.home[tp] = d
		}
	}
	for _, d := range all {
		if d != a.home[tp] {
			_ = a.setAside(d, tp) // it is logged, and a directory that stays harms nobody
		}
	}
}

// wait returns once everything up to the metadata index is served here.
func (a *applier) wait(ctx context.Context, index int64) error {
	a.mu.Lock()
	if a.applied >= index {
		a.mu.Unlock()
		return nil
	}
	w := appliedWaiter{index, make(chan struct{})}
	a.waiters = append(a.waiters, w)
	a.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// apply serves one delta. It is called in order, on the goroutine of the
// controller's watch.
func (a *applier) apply(img *metadata.Image, d *metadata.Delta) {
	var changed []string // topics with changed partitions, which come sorted
	for _, t := range d.Deleted {
		a.remove(t)
	}
	a.open(img, d.Created)
	for _, tp := range d.Changed {
		if len(changed) == 0 || changed[len(changed)-1] != tp.Topic {
			changed = append(changed, tp.Topic)
		}
	}
	for _, name := range changed {
		a.change(img, img.Topic(name))
	}
	a.reconfigure(img, d.Configs)
	a.b.groups.follow(img, d)
	select {
	case <-a.first:
	default:
		a.setStraysAside(img)
		for _, d := range a.dirs {
			if !a.unread[d] {
				d.MarkRecovered()
			}
		}
		close(a.first)
	}
	a.reached(img.Offset())
}

// reached wakes those who wait for an index up to this one.
func (a *applier) reached(index int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if index > a.applied {
		a.applied = index
	}
	left := a.waiters[:0]
	for _, w := range a.waiters {
		if w.index <= a.applied {
			close(w.done)
			continue
		}
		left = append(left, w)
	}
	clear(a.waiters[len(left):])
	a.waiters = left
}

// setStraysAside renames, once at start, the directories of partitions whose
// topic is not in the metadata, as Kafka does. Usually the topic was deleted,
// and a kill came before its files were; but metadata that was restored from an
// old copy looks the same, so nothing is deleted.
func (a *applier) setStraysAside(img *metadata.Image) {
	for tp, dir := range a.home {
		if t := img.Topic(tp.Topic); t != nil && t.Partition(tp.Partition) != nil {
			continue
		}
		if len(a.twice[tp]) > 0 {
			a.settle(tp, model.TopicID{}) // all but one, which is next
		}
		dir = a.home[tp]
		id, err := dir.TopicIDOf(tp)
		if err != nil || img.TopicByID(id) != nil {
			a.b.log.Warn("a partition's directory belongs to no topic that the metadata knows; it is left alone", "dir", dir.Path(), "partition", tp.String(), "error", err)
			continue
		}
		if a.setAside(dir, tp) == nil {
			delete(a.home, tp)
		}
	}
}

func (a *applier) setAside(dir *segment.Dir, tp model.TopicPartition) error {
	to, err := dir.SetAside(tp)
	if err != nil {
		a.b.log.Error("the directory of a topic that does not exist could not be set aside", "partition", tp.String(), "dir", dir.Path(), "error", err)
		return err
	}
	a.b.log.Warn("a partition's directory is of a topic that does not exist and was set aside; remove it when nothing in it is needed", "partition", tp.String(), "set_aside", to)
	return nil
}

// open opens the logs of new topics, several at a time, and publishes the
// topics.
func (a *applier) open(img *metadata.Image, topics []*metadata.Topic) {
	type job struct {
		s     *served
		t     *metadata.Topic
		index int32
		set   *partition.Settings
	}
	var jobs []job
	all := make([]*served, 0, len(topics))
	for _, t := range topics {
		s := &served{name: t.Name, id: t.ID, replicas: make([]*partition.Replica, len(t.Partitions))}
		all = append(all, s)
		set := a.b.topicSettings(img, t.Name)
		for i := range t.Partitions {
			if holds(t.Partitions[i].Replicas, a.b.settings.NodeID) {
				jobs = append(jobs, job{s, t, int32(i), set})
			}
		}
	}
	// Placing is serial (it counts), opening is not.
	dirs := make([]*segment.Dir, len(jobs))
	for i, j := range jobs {
		dirs[i] = a.place(model.TopicPartition{Topic: j.t.Name, Partition: j.index}, j.t.ID)
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(len(jobs), 2*runtime.GOMAXPROCS(0)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if a.b.stopping.Load() {
					continue // nobody is served any more, and reading a log may take long
				}
				j := jobs[i]
				r, err := a.openOne(img, dirs[i], j.t, j.index, j.set)
				if err != nil {
					a.b.log.Error("a partition's log could not be opened; it is offline", "partition", model.TopicPartition{Topic: j.t.Name, Partition: j.index}.String(), "dir", dirs[i].Path(), "error", err)
					j.s.fail(j.index)
					continue
				}
				j.s.replicas[j.index] = r
			}
		}()
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, j := range jobs {
		if j.s.replicas[j.index] == nil {
			a.unread[dirs[i]] = true
		}
	}
	for _, s := range all {
		a.b.replicas.put(s)
	}
}

func (a *applier) openOne(img *metadata.Image, dir *segment.Dir, t *metadata.Topic, index int32, set *partition.Settings) (*partition.Replica, error) {
	tp := model.TopicPartition{Topic: t.Name, Partition: index}
	log, _, err := dir.OpenLog(tp, t.ID, set.Log)
	if errors.Is(err, segment.ErrTopicID) {
		if id, _ := dir.TopicIDOf(tp); img.TopicByID(id) != nil {
			// Moved by hand, or a copy: to begin again, empty, would hide that the
			// partition's own files are elsewhere.
			return nil, fmt.Errorf("%w; the other topic exists, so put each directory back under its own name (ringmain log verify names all that are wrong)", err)
		}
		// A topic of this name was deleted, and a kill came before its files
		// were removed; see setStraysAside.
		if err := a.setAside(dir, tp); err != nil {
			return nil, err
		}
		log, _, err = dir.OpenLog(tp, t.ID, set.Log)
	}
	if err != nil {
		return nil, err
	}
	log.ExpireProducers(time.Now().UnixMilli()) // those whose time was up while nobody looked
	r := partition.NewReplica(tp, t.ID, log, set, a.b.roleOf(&t.Partitions[index]))
	shard := a.b.shardOf(t.ID, index)
	return r, shard.Adopt(r)
}

// place gives the log directory of a partition: where its files are, else the
// one with the fewest partitions, as Kafka chooses.
func (a *applier) place(tp model.TopicPartition, topic model.TopicID) *segment.Dir {
	if len(a.twice[tp]) > 0 {
		a.settle(tp, topic)
	}
	if d := a.home[tp]; d != nil {
		return d
	}
	count := map[*segment.Dir]int{}
	if len(a.dirs) > 1 {
		for _, d := range a.home {
			count[d]++
		}
	}
	best := a.dirs[0]
	for _, d := range a.dirs[1:] {
		if count[d] < count[best] {
			best = d
		}
	}
	a.home[tp] = best
	return best
}

// remove takes a deleted topic out of service and deletes its files.
func (a *applier) remove(t *metadata.Topic) {
	s := a.b.replicas.remove(t.Name, t.ID)
	if s == nil {
		return
	}
	for i, r := range s.replicas {
		if r == nil {
			a.discardOffline(s, int32(i))
			continue
		}
		delete(a.home, r.TP)
		if err := r.Delete(); err != nil {
			a.b.log.Error("a deleted partition's files could not be removed", "partition", r.TP.String(), "error", err)
		}
	}
}

// discardOffline removes the files of a deleted partition whose log could not
// be opened.
func (a *applier) discardOffline(s *served, index int32) {
	tp := model.TopicPartition{Topic: s.name, Partition: index}
	dir := a.home[tp]
	if dir == nil || !s.isOffline(index) {
		return
	}
	delete(a.home, tp)
	if id, err := dir.TopicIDOf(tp); err == nil && id != s.id { // why it could not be opened
		a.b.log.Warn("a deleted partition's directory is of another topic and is left alone", "partition", tp.String(), "dir", dir.Path(), "topic_id", id.String())
		return
	}
	if err := dir.Discard(tp); err != nil {
		a.b.log.Error("a deleted partition's files could not be removed", "partition", tp.String(), "error", err)
	}
}

// change applies what is new of a topic: more partitions, other leaders.
func (a *applier) change(img *metadata.Image, t *metadata.Topic) {
	s := a.b.replicas.identified(t.ID)
	if s == nil {
		return
	}
	now := &served{name: s.name, id: s.id, replicas: make([]*partition.Replica, len(t.Partitions)), offline: maps.Clone(s.offline)}
	copy(now.replicas, s.replicas)
	var set *partition.Settings
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if r := now.replicas[i]; r != nil {
			if role := a.b.roleOf(p); role != r.Role() {
				r.SetRole(role)
			}
			continue
		}
		if !holds(p.Replicas, a.b.settings.NodeID) {
			continue
		}
		if set == nil {
			set = a.b.topicSettings(img, t.Name)
		}
		tp := model.TopicPartition{Topic: t.Name, Partition: int32(i)}
		r, err := a.openOne(img, a.place(tp, t.ID), t, int32(i), set)
		if err != nil {
			a.b.log.Error("a partition's log could not be opened; it is offline", "partition", tp.String(), "error", err)
			now.fail(int32(i))
			continue
		}
		now.replicas[i] = r
	}
	a.b.replicas.put(now)
}

// reconfigure applies changed configurations: a topic's to its replicas, a
// broker's to the broker itself and, as defaults, to every topic.
func (a *applier) reconfigure(img *metadata.Image, refs []metadata.ResourceRef) {
	broker := false
	for _, ref := range refs {
		switch ref.Kind {
		case metadata.TopicResource:
			if s := a.b.replicas.topic(ref.Name); s != nil && !broker {
				a.reconfigureTopic(img, s)
			}
		case metadata.BrokerResource:
			broker = true
		}
	}
	if broker {
		a.b.brokerConfigured(a.b.layers(img).Resolve())
		for _, s := range a.b.replicas.topics() {
			a.reconfigureTopic(img, s)
		}
	}
}

func (a *applier) reconfigureTopic(img *metadata.Image, s *served) {
	set := a.b.topicSettings(img, s.name)
	for _, r := range s.replicas {
		if r != nil {
			r.Reconfigure(set)
		}
	}
}

func holds(replicas []int32, id int32) bool {
	for _, r := range replicas {
		if r == id {
			return true
		}
	}
	return false
}

// roleOf gives this broker's part in a partition.
func (b *Broker) roleOf(p *metadata.Partition) partition.Role {
	return partition.Role{Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: len(p.ISR), Replicas: len(p.Replicas), Local: p.Leader == b.settings.NodeID}
}
