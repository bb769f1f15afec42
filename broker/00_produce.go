package broker

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/metrics"
	"ringmain/netio"
	"ringmain/partition"
	"ringmain/record"
	"ringmain/wire"
)

// Produce, versions 3 to 13. Advertised from 0: librdkafka before 2.11.1 tests
// for old versions to find out whether it may compress (KAFKA-18659); a
// request below 3 is refused as Kafka refuses it.
//
//   - v5 log start offset, v8 record errors, v9 flexible, v10 current leader,
//     v13 topic ids instead of names
//   - the records are validated before anything is appended, each partition by
//     itself: on the connection's loop, or on the pool where they must be
//     decompressed or are very many
//   - acks=0 has no answer; a failure closes the connection
//
// Not served: transactional batches (53 for the whole request).
var produceAPI = api{key: keyProduce, min: 3, max: 13, advertisedMin: 0}

// adminClientID is who may write to internal topics: Kafka's name for itself.
const adminClientID = "__admin_client"

// produceCall is one Produce request until its answer. Pooled; its slices keep
// their room.
type produceCall struct {
	request
	b       *Broker
	frame   *netio.Frame
	acks    int16
	results []wire.ProduceResult
	appends []partition.Append // by result; Replica is nil where nothing is appended
	posts   []*partition.Append
	walked  []wire.ProducePartition
	nodes   []wire.NodeEndpoint // of leaders elsewhere

	named map[*partition.Replica]bool // with good records, if the request has many partitions

	validator record.Validator
	remaining atomic.Int32 // appends not yet answered
	visit     func(wire.ProducePartition) error
	heavy     bool
	posted    bool // to the shards: appends hold their answers
	held      bool // the connection is paused until the answer
}

var produceCalls = sync.Pool{New: func() any {
	p := &produceCall{}
	p.visit = func(w wire.ProducePartition) error {
		p.walked = append(p.walked, w)
		return nil
	}
	return p
}}

// produce serves one request, on the connection's loop.
func (b *Broker) produce(r request, f *netio.Frame, body []byte) {
	var head wire.ProduceHead
	p := produceCalls.Get().(*produceCall)
	p.request, p.b, p.frame = r, b, f
	if err := wire.WalkProduce(r.h.Version, body, &head, p.visit); err != nil {
		b.refuse(r, f, err)
		p.recycle()
		return
	}
	p.acks = head.Acks
	p.conn.Hurry()
	p.heavy = len(body) > largeBytes
	p.prepare()
	if code, message := p.requestError(); code != 0 {
		for i := range p.results {
			p.results[i].ErrorCode, p.results[i].ErrorMessage = code, message
		}
		p.refuse()
		return
	}
	if !p.heavy {
		p.submit()
		return
	}
	p.conn.Pause()
	conn := p.conn // p may be recycled before submit returns
	b.pool.run(func() {
		p.submit()
		conn.Resume()
	})
}

// prepare finds the replica of every partition and makes room for the results.
func (p *produceCall) prepare() {
	n := len(p.walked)
	if cap(p.results) < n {
		p.results = make([]wire.ProduceResult, n)
		p.appends = make([]partition.Append, n)
	}
	p.results, p.appends = p.results[:n], p.appends[:n]
	for i := range p.walked {
		w := &p.walked[i]
		res := &p.results[i]
		*res = wire.ProduceResult{Topic: w.Topic, TopicID: w.TopicID, Index: w.Index, BaseOffset: -1, LogAppendTimeMs: -1, LogStartOffset: -1, CurrentLeader: wire.NoLeader}
		var s *served
		if p.h.Version >= 13 {
			s = p.b.replicas.identified(w.TopicID)
		} else {
			s = p.b.replicas.named(w.Topic)
		}
		replica := s.at(w.Index)
		if replica == nil {
			res.ErrorCode = missingCode(s, w.Index, p.h.Version >= 13)
			continue
		}
		p.appends[i].Replica = replica
		if record.Heavy(w.Records, &replica.Settings().Rules) {
			p.heavy = true
		}
	}
}

// requestError finds what is wrong with the request as a whole. Bytes that frame no
// batch are that too: Kafka fails over them when it looks for transactional batches,
// before it knows which partition they are for.
func (p *produceCall) requestError() (code int16, message string) {
	for i := range p.walked {
		transactional, err := record.BeginsTransactional(p.walked[i].Records)
		if err != nil {
			code, message, _ = produceError(err)
			return code, message
		}
		if transactional {
			// Kafka's answer to a transactional batch from one who may not write
			// it; final for every client.
			return kerr.TransactionalIDAuthorizationFailed.Code, ""
		}
	}
	return 0, ""
}

// submit validates every partition's records and posts what is good.
func (p *produceCall) submit() {
	nowMs := time.Now().UnixMilli()
	p.posts = p.posts[:0]
	if len(p.walked) > manyPartitions {
		p.named = map[*partition.Replica]bool{}
	}
	for i := range p.walked {
		a := &p.appends[i]
		if a.Replica == nil {
			continue
		}
		if err := p.check(i, nowMs); err != nil {
			p.fail(i, err)
			a.Replica = nil
			continue
		}
		p.posts = append(p.posts, a)
		if p.named != nil {
			p.named[a.Replica] = true
		}
	}
	if len(p.posts) == 0 {
		p.refuse()
		return
	}
	if p.acks == 0 && (len(p.posts) < len(p.walked) || slices.ContainsFunc(p.posts, sequenced)) {
		p.held = true
		p.conn.Pause()
	}
	p.posted = true
	p.remaining.Store(int32(len(p.posts)))
	p.post()
}

// sequenced reports whether a shard may refuse a batch for its sequence. Without an answer
// (acks=0) that closes the connection, as does another partition's batch that was refused
// before, and what was sent behind it is not to be served.
func sequenced(a *partition.Append) bool { return a.Batch.ProducerID() >= 0 }

// check validates the records of one partition and fills its append.
func (p *produceCall) check(i int, nowMs int64) error {
	a := &p.appends[i]
	w := &p.walked[i]
	if err := p.refusal(a.Replica); err != nil {
		if _, framing := record.Only(w.Records, p.h.Version); framing != nil {
			return framing
		}
		return err
	}
	if p.again(i) {
		return errDuplicatePartition
	}
	set := a.Replica.Settings()
	res, err := p.validator.Validate(w.Records, &set.Rules, nowMs, p.h.Version)
	if err != nil {
		return err
	}
	a.Batch, a.MaxTimestamp, a.AppendTimeMs = res.Batch, res.MaxTimestamp, res.AppendTimeMs
	a.AcksAll = p.acks == -1
	a.Done = p
	a.Err = nil
	return nil
}

// refusal says why no batch is taken, however good it is.
func (p *produceCall) refusal(r *partition.Replica) error {
	switch {
	case p.acks < -1 || p.acks > 1:
		return errRequiredAcks
	case r.Class == metrics.Internal && isInternalTopic(r.TP.Topic) && p.h.ClientID != adminClientID:
		return errInternalTopic
	}
	return nil
}

// manyPartitions is how many partitions of a request are compared one by one.
const manyPartitions = 32

// again tells whether the request has named the partition of append i before,
// with records that were good.
func (p *produceCall) again(i int) bool {
	r := p.appends[i].Replica
	if p.named != nil {
		return p.named[r]
	}
	for j := range i {
		if p.appends[j].Replica == r {
			return true
		}
	}
	return false
}

// post hands the appends to their shards: those of one shard under one lock.
func (p *produceCall) post() {
	// The last answer may recycle p: keep what the loop needs.
	posts := p.posts
	for len(posts) > 0 {
		shard := posts[0].Replica.Shard()
		n := 1
		for n < len(posts) && posts[n].Replica.Shard() == shard {
			n++
		}
		mine := posts[:n:n]
		posts = posts[n:]
		if err := shard.PostAppends(mine); err != nil {
			for _, a := range mine {
				a.Err = err
				p.Appended(a)
			}
		}
	}
}

// Appended implements partition.Appender. Called on a shard's loop.
func (p *produceCall) Appended(*partition.Append) {
	if p.remaining.Add(-1) == 0 {
		p.slot.Finish(p)
	}
}

// collect turns what the shards have answered into results.
func (p *produceCall) collect() {
	for i := range p.appends {
		a := &p.appends[i]
		if a.Replica == nil {
			continue
		}
		if a.Err != nil {
			p.fail(i, a.Err)
			continue
		}
		r := &p.results[i]
		r.BaseOffset, r.LogAppendTimeMs, r.LogStartOffset = a.BaseOffset, a.AppendTimeMs, a.LogStart
	}
}

// fail turns an error into the result of partition i.
func (p *produceCall) fail(i int, err error) {
	r := &p.results[i]
	r.ErrorCode, r.ErrorMessage, r.RecordErrors = produceError(err)
	if namesLogStart(err) {
		r.LogStartOffset = p.appends[i].Replica.Log().StartOffset()
	}
	if moved(r.ErrorCode) && p.h.Version >= 10 {
		role := p.appends[i].Replica.Role()
		r.CurrentLeader = wire.Leader{ID: role.Leader, Epoch: role.LeaderEpoch}
		p.nodes = p.b.addNode(p.nodes, role.Leader, p.conn.Listener())
	}
}

// Answer implements netio.Answerer: on the connection's loop, once everything is
// appended. For acks=0 it closes the connection if anything failed. It gives p back.
func (p *produceCall) Answer() *netio.Response {
	if p.posted {
		p.collect()
	}
	failed := false
	m := p.b.metrics
	for i := range p.results {
		if c := p.results[i].ErrorCode; c != 0 {
			failed = true
			m.Error(keyProduce, c)
		} else if a := &p.appends[i]; a.Replica != nil {
			m.Append(a.Replica.Class, int(a.Batch.Count()), a.Batch.Size())
		}
	}
	m.Request(keyProduce, time.Since(p.start))
	var resp *netio.Response
	if p.acks != 0 {
		resp = netio.NewResponse()
		resp.Buf = wire.AppendProduceResponse(resp.Buf, p.h.Version, p.h.Correlation, 0, p.results, p.nodes)
	} else if failed {
		p.conn.Close(errAcksZero)
	}
	if p.held {
		p.conn.Resume()
	}
	p.frame.Release()
	p.recycle()
	return resp
}

// refuse answers at once where nothing is appended: a connection that this closes
// (acks=0) is not to have the requests behind it served.
func (p *produceCall) refuse() {
	slot := p.slot
	if resp := p.Answer(); resp != nil {
		slot.Send(resp)
	} else {
		slot.Skip()
	}
}

// keptPartitions is the largest request whose room is kept for later ones.
const keptPartitions = 4096

// recycle drops every reference and puts p back.
func (p *produceCall) recycle() {
	clear(p.results)
	clear(p.appends)
	clear(p.posts)
	clear(p.walked)
	if cap(p.results) > keptPartitions {
		p.results, p.appends, p.posts, p.walked = nil, nil, nil, nil
	}
	p.results, p.appends, p.posts, p.walked = p.results[:0], p.appends[:0], p.posts[:0], p.walked[:0]
	p.request, p.b, p.frame, p.nodes, p.named, p.heavy, p.posted, p.held = request{}, nil, nil, nil, nil, false, false, false
	produceCalls.Put(p)
}
