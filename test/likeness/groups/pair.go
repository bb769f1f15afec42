package groups

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// pair are the two brokers, and what was made on both before the sequences began.
type pair struct {
	t     testing.TB
	addrs [2]string // the reference, and the one that is to be like it
	begun int64
	runs  atomic.Int64 // sequences, for the names of their groups

	topicIDs   [2]map[[16]byte][16]byte // by the id that requests of sequences have
	topicNames [2]map[[16]byte]string
}

// topics are those of all sequences, with their partitions.
var topics = map[string]int32{"likeness-a": 3, "likeness-b": 1}

func newPair(t testing.TB, reference, other string) *pair {
	p := &pair{t: t, addrs: [2]string{reference, other}, begun: time.Now().UnixMilli()}
	for side := range p.addrs {
		p.prepare(side)
	}
	return p
}

// prepare makes the topics, and waits until the coordinators of all groups answer.
func (p *pair) prepare(side int) {
	conn, err := peer.Dial(p.addrs[side])
	if err != nil {
		p.t.Fatalf("connect to %s: %v", p.addrs[side], err)
	}
	defer conn.Close()
	do := func(version int16, req kmsg.Request) kmsg.Response {
		req.SetVersion(version)
		resp, err := conn.Do(req)
		if err != nil {
			p.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
		}
		return resp
	}
	create, metadata := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrMetadataRequest()
	create.TimeoutMillis = 20_000
	for name, partitions := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
		create.Topics = append(create.Topics, t)
		metadata.Topics = append(metadata.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	do(7, create) // they may be there already
	find, describe := kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrDescribeGroupsRequest()
	for i := range 500 { // enough to meet every partition of the offsets topic
		find.CoordinatorKeys = append(find.CoordinatorKeys, fmt.Sprint(i))
	}
	describe.Groups = find.CoordinatorKeys
	p.until(func() bool {
		for _, c := range do(4, find).(*kmsg.FindCoordinatorResponse).Coordinators {
			if c.ErrorCode != 0 {
				return false
			}
		}
		for _, g := range do(5, describe).(*kmsg.DescribeGroupsResponse).Groups {
			if g.ErrorCode != 0 {
				return false
			}
		}
		return true
	})
	p.until(func() bool {
		p.topicIDs[side], p.topicNames[side] = map[[16]byte][16]byte{}, map[[16]byte]string{}
		for _, t := range do(12, metadata).(*kmsg.MetadataResponse).Topics {
			if t.ErrorCode != 0 {
				return false
			}
			p.topicIDs[side][topicID(*t.Topic)], p.topicNames[side][t.TopicID] = t.TopicID, *t.Topic
		}
		return true
	})
}

func (p *pair) until(ready func() bool) {
	for deadline := time.Now().Add(time.Minute); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("a broker is not ready within a minute")
		}
	}
}

// topicID is the id of a topic in requests before they are translated.
func topicID(name string) (id [16]byte) {
	id[0] = 0xdd
	copy(id[1:], name)
	return id
}

func (p *pair) topicName(side int, id [16]byte) string {
	if name, ok := p.topicNames[side][id]; ok {
		return name
	}
	return fmt.Sprintf("%x", id)
}
