package broker

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
	"ringmain/netio"
	"ringmain/partition"
	"ringmain/segment"
	"ringmain/wire"
)

// Fetch, versions 4 to 18.
//
//   - v5 log start offset, v7 sessions (KIP-227), v9 current leader epoch
//     (KIP-320), v11 rack, v12 flexible and last fetched epoch, v13 topic ids,
//     v15 the replica id moves into a tag, v16 current leader and endpoints
//     (KIP-951)
//   - only whole batches, from the one that holds the offset; the first
//     partition with data gives at least one batch, however large
//   - a fetch with too little to answer is parked until enough was appended or
//     its max wait has passed; nothing polls
//   - the bytes go from the page cache to the socket (netio; large ranges by sendfile); ranges
//     that are not in the cache, or that an earlier process wrote and this one
//     has not read yet, are read in on the pool first, and their checksums
//     compared: a damaged batch is never sent, those before it are
//
// Replicas do not fetch from this broker: a replica id is refused with
// CLUSTER_AUTHORIZATION_FAILED.
var fetchAPI = api{key: keyFetch, min: 4, max: 18}

// fetchCall is one Fetch request until its answer. Pooled; parts and req keep
// their room.
type fetchCall struct {
	request
	b             *Broker
	req           kmsg.FetchRequest
	session       *fetchSession // nil: none
	sessionID     int32         // of the answer
	incremental   bool          // answer only what has changed
	closing       bool          // the request ended its session
	parts         []fetchPart
	maxBytes      int
	minBytes      int
	deadline      time.Time
	readCommitted bool
}

var fetchCalls = sync.Pool{New: func() any { return new(fetchCall) }}

// maxKeptParts is how many partitions a fetchCall in the pool keeps room for.
const maxKeptParts = 256

// recycle puts c back once it was answered: nothing wakes it any more, because
// it waits with one waiter at a time and that one has fired.
func (c *fetchCall) recycle() {
	clear(c.parts)
	parts, req := c.parts[:0], c.req
	if cap(parts) > maxKeptParts {
		parts, req = nil, kmsg.FetchRequest{}
	}
	*c = fetchCall{parts: parts, req: req}
	fetchCalls.Put(c)
}

// fetchPart is one partition of a fetch: what was asked, and what the last
// look at it has found.
type fetchPart struct {
	key      sessionKey
	asked    *sessionPartition // in the session; nil without one
	replica  *partition.Replica
	offset   int64
	maxBytes int32
	epoch    int32 // current leader epoch that the client knows
	fetched  int32 // last fetched epoch

	code      int16
	hw        int64
	lso       int64
	logStart  int64
	records   segment.Range
	withheld  bool           // the first batch is larger than what may be given
	leader    partition.Role // for NOT_LEADER and FENCED
	diverged  bool
	divEpoch  int32
	divOffset int64
}

// fetch serves one request, on the connection's loop.
func (b *Broker) fetch(r request, f *netio.Frame, body []byte) {
	c := fetchCalls.Get().(*fetchCall)
	c.request, c.b = r, b
	req := &c.req
	if err := wire.DecodeInto(req, r.h.Version, body); err != nil {
		b.refuse(r, f, err)
		c.recycle()
		return
	}
	f.Release() // nothing of the decoded request points into the frame
	replica := req.ReplicaID
	if r.h.Version >= 15 {
		replica = req.ReplicaState.ID
	}
	if replica >= 0 {
		c.refuse(req, kerr.ClusterAuthorizationFailed.Code)
		return
	}
	c.maxBytes = int(min(max(req.MaxBytes, 0), b.settings.FetchMaxBytes))
	c.minBytes = min(int(max(req.MinBytes, 0)), c.maxBytes)
	if req.IsolationLevel < 0 || req.IsolationLevel > 1 {
		c.refuse(req, kerr.InvalidRequest.Code)
		return
	}
	c.readCommitted = req.IsolationLevel == 1
	if req.MaxWaitMillis > 0 {
		c.deadline = r.start.Add(time.Duration(min(req.MaxWaitMillis, maxFetchWaitMs)) * time.Millisecond)
	}
	if code := c.resolve(req); code != 0 {
		c.refuse(req, code)
		return
	}
	c.look()
}

// fetchFileShare is the part of the open files that one fetch may hold until its answer is
// sent: each partition that gives records holds one.
const fetchFileShare = 4

// maxFetchWaitMs is the longest a fetch is parked, whatever it asks.
const maxFetchWaitMs = 30 * 60 * 1000

// resolve finds or makes the session and lists the partitions to look at.
func (c *fetchCall) resolve(req *kmsg.FetchRequest) int16 {
	byID := c.h.Version >= 13
	cache := c.b.sessions
	id, epoch := req.SessionID, req.SessionEpoch
	if c.h.Version < 7 {
		id, epoch = 0, -1
	}
	if epoch == -1 || epoch == 0 { // a full fetch
		if id != 0 {
			cache.remove(id)
		}
		c.closing = epoch == -1 && id != 0
		if epoch == 0 {
			n := 0
			for i := range req.Topics {
				n += len(req.Topics[i].Partitions)
			}
			c.session = cache.create(byID, n, c.start)
		}
		if s := c.session; s != nil {
			c.sessionID = s.id
			s.mu.Lock()
			defer s.mu.Unlock()
		}
		c.list(req, byID)
		return 0
	}
	s := cache.use(id, c.start)
	if s == nil {
		return kerr.FetchSessionIDNotFound.Code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return kerr.InvalidFetchSessionEpoch.Code
	}
	if s.byID != byID {
		return kerr.FetchSessionTopicIDError.Code
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			s.set(sessionKey{t.Topic, model.TopicID(t.TopicID), p.Partition}, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch, p.LastFetchedEpoch)
		}
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, p := range t.Partitions {
			s.forget(sessionKey{t.Topic, model.TopicID(t.TopicID), p})
		}
	}
	if len(s.parts) == 0 { // a session of nothing ends
		cache.remove(id)
		c.list(req, byID)
		return 0
	}
	s.epoch = nextEpoch(s.epoch)
	c.session, c.sessionID, c.incremental = s, id, true
	cache.resized(s, len(s.parts))
	c.parts = slices.Grow(c.parts, len(s.parts))
	for p := s.order.next; p != &s.order; p = p.next {
		c.add(p.sessionKey, p, p.offset, p.maxBytes, p.epoch, p.lastFetched)
	}
	c.unknownLast()
	return 0
}

// list takes the partitions of a full fetch, and remembers them in the new
// session if there is one.
func (c *fetchCall) list(req *kmsg.FetchRequest, byID bool) {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	c.parts = slices.Grow(c.parts, n)
	seen := c.seen(n)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			epoch, fetched := p.CurrentLeaderEpoch, p.LastFetchedEpoch
			if c.h.Version < 9 {
				epoch = model.NoEpoch
			}
			if c.h.Version < 12 {
				fetched = model.NoEpoch
			}
			k := sessionKey{t.Topic, model.TopicID(t.TopicID), p.Partition}
			if at, again := seen[k]; again {
				c.parts[at].offset, c.parts[at].maxBytes = p.FetchOffset, max(p.PartitionMaxBytes, 0)
				c.parts[at].epoch, c.parts[at].fetched = max(epoch, model.NoEpoch), max(fetched, model.NoEpoch)
				if c.session != nil {
					c.session.set(k, p.FetchOffset, p.PartitionMaxBytes, epoch, fetched)
				}
				continue
			}
			if seen != nil {
				seen[k] = len(c.parts)
			}
			var asked *sessionPartition
			if c.session != nil {
				c.session.set(k, p.FetchOffset, p.PartitionMaxBytes, epoch, fetched)
				asked = c.session.parts[k]
			}
			c.add(k, asked, p.FetchOffset, p.PartitionMaxBytes, epoch, fetched)
		}
	}
	c.unknownLast()
	if c.session != nil {
		for i := range c.parts {
			c.session.toBack(c.parts[i].asked) // in the order of the answer, as Kafka keeps them
		}
	}
}

// seen is for finding a partition that is named twice: the last word counts, in
// the place of the first, as in Kafka. One partition needs no map.
func (c *fetchCall) seen(n int) map[sessionKey]int {
	if n < 2 {
		return nil
	}
	return make(map[sessionKey]int, n)
}

// unknownLast puts partitions that are not here behind the others, those of unknown
// topic ids first: so Kafka answers.
func (c *fetchCall) unknownLast() {
	slices.SortStableFunc(c.parts, func(a, b fetchPart) int { return a.unknown() - b.unknown() })
}

// unknown ranks a partition for that: 0 is one that this broker has.
func (p *fetchPart) unknown() int {
	switch p.code {
	case kerr.UnknownTopicID.Code:
		return 1
	case kerr.UnknownTopicOrPartition.Code:
		return 2
	}
	return 0
}

func (c *fetchCall) add(k sessionKey, asked *sessionPartition, offset int64, maxBytes, epoch, fetched int32) {
	epoch, fetched = max(epoch, model.NoEpoch), max(fetched, model.NoEpoch) // Kafka's Fetch takes everything below zero as "none"
	p := fetchPart{key: k, asked: asked, offset: offset, maxBytes: max(maxBytes, 0), epoch: epoch, fetched: fetched}
	var s *served
	byID := c.h.Version >= 13
	if byID {
		s = c.b.replicas.identified(k.id)
	} else {
		s = c.b.replicas.topic(k.topic)
	}
	if p.replica = s.at(k.index); p.replica == nil {
		p.code = missingCode(s, k.index, byID)
	}
	if byID && asked != nil {
		switch {
		case s != nil:
			asked.name = s.name
		case asked.name != "": // deleted since
			p.code = goneCode(c.b.replicas.topic(asked.name), k.index)
		}
	}
	c.parts = append(c.parts, p)
}

// look plans what can be answered now, and answers or parks. It runs on the
// connection's loop, again each time the fetch is woken.
func (c *fetchCall) look() {
	left, found, known, failed, full := c.maxBytes, 0, 0, false, false
	first := true
	files := max(c.b.dirs[0].FileBudget().Max()/fetchFileShare, 1)
	for i := range c.parts {
		p := &c.parts[i]
		if p.unknown() > 0 {
			continue // its error waits with the others, as in Kafka
		}
		known++
		if files == 0 { // the others come with the next fetch, as at maxBytes
			left, full = 0, true
		}
		p.look(c.b, c.readCommitted, left, first)
		if p.code != 0 || p.diverged {
			failed = true
			continue
		}
		if n := p.records.N; n > 0 {
			first = false
			// What is there counts, as far as the limits go: the last batch that
			// did not fit must not make the fetch wait.
			found += max(n, int(min(int64(min(int(p.maxBytes), left)), int64(n)+p.replica.Log().Behind(p.records))))
			left = max(left-n, 0)
			files--
		}
	}
	now := time.Now()
	if found >= c.minBytes || failed || full || c.closing || known == 0 || !now.Before(c.deadline) || c.b.stopping.Load() {
		c.deliver()
		return
	}
	c.park(int64(c.minBytes - found))
}

// park gives the planned ranges back and waits for missing more bytes.
func (c *fetchCall) park(missing int64) {
	watches := make([]partition.Watch, 0, len(c.parts))
	for i := range c.parts {
		p := &c.parts[i]
		if p.replica == nil {
			continue
		}
		p.records.Release()
		p.records = segment.Range{}
		watches = append(watches, partition.Watch{Replica: p.replica, Seen: p.hw, Epoch: p.leader.LeaderEpoch})
	}
	var w *partition.Waiter
	w = partition.NewWaiter(missing, func() {
		c.conn.Post(func() {
			unpark(c.conn, w)
			c.look()
		})
	})
	park(c.conn, w)
	c.b.deadlines.add(c.deadline, w)
	partition.Park(w, watches)
}

// look plans the records of one partition.
func (p *fetchPart) look(b *Broker, readCommitted bool, left int, first bool) {
	if p.replica == nil {
		return
	}
	p.records, p.withheld = segment.Range{}, false
	p.hw, p.lso, p.logStart = -1, -1, -1
	p.leader = p.replica.Role()
	err := p.replica.CheckLeader(p.epoch)
	if err != nil {
		p.code = partitionCode(err)
		return
	}
	log := p.replica.Log()
	hw, start, end := p.replica.HighWatermark(), log.StartOffset(), log.EndOffset()
	if p.fetched != model.NoEpoch {
		switch diverged, known := p.diverges(log); {
		case !known:
			p.code = kerr.OffsetOutOfRange.Code
			return
		case diverged:
			p.hw, p.lso, p.logStart = hw, p.replica.LastStableOffset(), start
			return
		}
	}
	if p.offset < start || p.offset > end {
		p.code = kerr.OffsetOutOfRange.Code
		return
	}
	p.hw, p.lso, p.logStart = hw, p.replica.LastStableOffset(), start
	limit := hw
	if readCommitted {
		limit = p.lso
	}
	if p.offset >= limit || left <= 0 && !first {
		return
	}
	most := min(int(p.maxBytes), left)
	if p.records, err = log.Plan(p.offset, limit, most, first); err != nil {
		p.fail(err)
		b.damage.report(p.replica.TP, p.offset, err)
		return
	}
	p.withheld = p.records.N == 0 && most > 0
}

// fail answers the partition with an error in place of records.
func (p *fetchPart) fail(err error) {
	p.code = partitionCode(err)
	p.hw, p.lso, p.logStart = -1, -1, -1
}

// diverges tells whether the client has fetched what is not in this log
// (KIP-595): its last epoch ended earlier here, or was never here. An epoch
// that this log has not heard of yet is not known.
func (p *fetchPart) diverges(log *segment.Log) (diverged, known bool) {
	epoch, end := log.EpochEnd(p.fetched)
	p.diverged = epoch != model.NoEpoch && (epoch < p.fetched || end < p.offset)
	p.divEpoch, p.divOffset = epoch, end
	return p.diverged, epoch != model.NoEpoch
}

// deliver answers with what was planned. Ranges that are not in the page cache,
// or not known to be sound, are read in on the pool first, with the connection
// paused: the loop must not wait for the disk.
func (c *fetchCall) deliver() {
	for i := range c.parts {
		if c.parts[i].records.N > 0 && !c.parts[i].records.Ready() {
			conn := c.conn // c is gone with its answer
			conn.Pause()
			c.b.pool.run(func() {
				for i := range c.parts {
					c.warm(&c.parts[i])
				}
				c.answer()
				conn.Resume()
			})
			return
		}
	}
	c.answer()
}

// warm reads one partition's range in and keeps of it what is sound.
func (c *fetchCall) warm(p *fetchPart) {
	good, err := p.records.Warm()
	if err != nil {
		c.b.damage.report(p.replica.TP, p.offset, err)
		if good.N == 0 {
			p.records.Release()
			good = segment.Range{}
			p.fail(err)
		}
	}
	p.records = good
}

// changed tells whether an incremental answer has to name the partition, and
// remembers what is answered. Under the session's mutex.
func (c *fetchCall) changed(p *fetchPart) bool {
	a := p.asked
	if a == nil {
		return true
	}
	yes := p.records.N > 0 || p.code != 0 || p.diverged || a.hw != p.hw || a.logStart != p.logStart
	if c.incremental && p.records.N > 0 {
		c.session.toBack(a)
	}
	a.hw, a.logStart = p.hw, p.logStart
	if p.code != 0 {
		a.hw = -1 // once the error is over, the partition is named again
	}
	return yes || !c.incremental
}
