package broker

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
	"ringmain/netio"
	"ringmain/wire"
)

// fetchFrame is the scratch of one Fetch answer.
type fetchFrame struct {
	w   wire.FetchWriter
	buf []byte
	out []int // indexes of the parts that are answered
}

var fetchFrames = sync.Pool{New: func() any { return new(fetchFrame) }}

var noAborted = []wire.AbortedTransaction{}

// answer sends what was planned: the frame's own bytes copied into the
// response, the records as file ranges whose references it takes over.
func (c *fetchCall) answer() {
	f := fetchFrames.Get().(*fetchFrame)
	f.out = f.out[:0]
	if s := c.session; s != nil {
		s.mu.Lock()
		for i := range c.parts {
			if c.changed(&c.parts[i]) {
				f.out = append(f.out, i)
			}
		}
		s.mu.Unlock()
	} else {
		for i := range c.parts {
			f.out = append(f.out, i)
		}
	}
	topics := 0
	for n, i := range f.out {
		if n == 0 || !c.parts[f.out[n-1]].sameTopic(&c.parts[i]) {
			topics++
		}
	}
	f.w.Begin(f.buf[:0], c.h.Version, c.h.Correlation, 0, 0, c.sessionID, topics)
	var nodes []wire.NodeEndpoint
	first := int16(0)
	for n := 0; n < len(f.out); {
		m := n + 1
		for m < len(f.out) && c.parts[f.out[n]].sameTopic(&c.parts[f.out[m]]) {
			m++
		}
		k := c.parts[f.out[n]].key
		f.w.Topic(k.topic, k.id, m-n)
		for ; n < m; n++ {
			p := &c.parts[f.out[n]]
			if p.code != 0 && first == 0 {
				first = p.code
			}
			nodes = c.write(&f.w, p, nodes)
		}
	}
	f.buf = f.w.End(nodes)
	resp := netio.NewResponse()
	piece := 0
	for _, i := range f.out {
		p := &c.parts[i]
		if p.records.N == 0 {
			continue
		}
		c.b.metrics.Fetch(p.replica.Class, p.records.N)
		resp.Buf = append(resp.Buf, f.w.Piece(piece).Bytes...)
		resp.AddFile(netio.FileRange{File: p.records.File, Off: p.records.Off, N: p.records.N})
		piece++
	}
	resp.Buf = append(resp.Buf, f.w.Piece(piece).Bytes...)
	fetchFrames.Put(f)
	c.b.answered(keyFetch, first, c.start)
	c.slot.Send(resp)
	c.recycle()
}

// write appends one partition to the frame.
func (c *fetchCall) write(w *wire.FetchWriter, p *fetchPart, nodes []wire.NodeEndpoint) []wire.NodeEndpoint {
	a := wire.NewFetchPartition(p.key.index, p.code)
	// Nothing is transactional yet. Kafka has an empty list where it has looked, and
	// for a partition that it does not know, and none where it did not come so far.
	if c.readCommitted && p.code == 0 && !p.diverged && !p.withheld || p.replica == nil && p.unknown() > 0 {
		a.Aborted = noAborted
	}
	if p.code == 0 {
		a.HighWatermark, a.LastStable, a.LogStart = p.hw, p.lso, p.logStart
		a.RecordsLen = p.records.N
		if p.diverged {
			a.DivergingEpoch = wire.EpochEndOffset{Epoch: p.divEpoch, EndOffset: p.divOffset}
		}
	}
	if moved(p.code) && p.replica != nil && c.h.Version >= 16 {
		a.CurrentLeader = wire.Leader{ID: p.leader.Leader, Epoch: p.leader.LeaderEpoch}
		nodes = c.b.addNode(nodes, p.leader.Leader, c.conn.Listener())
	}
	w.Partition(&a)
	return nodes
}

// moved tells whether an error means that the client should go to another
// leader (KIP-951).
func moved(code int16) bool {
	return code == kerr.NotLeaderForPartition.Code || code == kerr.FencedLeaderEpoch.Code
}

// addNode lists where a broker is reached on a listener, once.
func (b *Broker) addNode(nodes []wire.NodeEndpoint, id int32, listener string) []wire.NodeEndpoint {
	for _, n := range nodes {
		if n.NodeID == id {
			return nodes
		}
	}
	broker := b.admin.meta.Image().Broker(id)
	if broker == nil {
		return nodes
	}
	e := broker.Endpoint(listener)
	if e == nil {
		return nodes
	}
	return append(nodes, wire.NodeEndpoint{NodeID: id, Host: e.Host, Port: e.Port, Rack: broker.Rack})
}

func (p *fetchPart) sameTopic(o *fetchPart) bool {
	return p.key.topic == o.key.topic && p.key.id == o.key.id
}

// refuse answers a fetch that fails as a whole. Before version 7 there is no
// place for such an error but the partitions.
func (c *fetchCall) refuse(req *kmsg.FetchRequest, code int16) {
	var w wire.FetchWriter
	resp := netio.NewResponse()
	if c.h.Version >= 7 {
		w.Begin(resp.Buf, c.h.Version, c.h.Correlation, 0, code, 0, 0)
	} else {
		w.Begin(resp.Buf, c.h.Version, c.h.Correlation, 0, 0, 0, len(req.Topics))
		for i := range req.Topics {
			t := &req.Topics[i]
			w.Topic(t.Topic, model.TopicID(t.TopicID), len(t.Partitions))
			for j := range t.Partitions {
				p := wire.NewFetchPartition(t.Partitions[j].Partition, code)
				p.Aborted = noAborted
				w.Partition(&p)
			}
		}
	}
	resp.Buf = w.End(nil)
	c.b.answered(keyFetch, code, c.start)
	c.slot.Send(resp)
	c.recycle()
}
