package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func growTopic(name string, count int32, lists ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, list := range lists {
		r := kmsg.NewCreatePartitionsRequestTopicAssignment()
		r.Replicas = list
		t.Assignment = append(t.Assignment, r)
	}
	return t
}

func growRequest(topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.TimeoutMillis = topics, 10000
	return req
}

func TestCreatePartitionsInEveryVersion(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	for version := int16(0); version <= 3; version++ {
		want := 3 + int32(version)
		resp := serve[*kmsg.CreatePartitionsResponse](t, a, version, growRequest(growTopic("x", want)))
		if resp.Topics[0].ErrorCode != 0 || resp.Topics[0].ErrorMessage != nil {
			t.Errorf("v%d: %+v", version, resp.Topics)
		}
		p := meta.Image().Topic("x").Partitions
		if len(p) != int(want) || p[want-1].Leader != 1 || meta.served != meta.Image().Offset() {
			t.Errorf("v%d: partitions %+v", version, p)
		}
	}
	if resp := serve[*kmsg.CreatePartitionsResponse](t, a, 3, growRequest()); len(resp.Topics) != 0 {
		t.Errorf("nothing asked for: %+v", resp.Topics)
	}
}

func TestCreatePartitionsMistakes(t *testing.T) {
	empty := growTopic("x", 3)
	empty.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	for _, c := range []struct {
		topic   kmsg.CreatePartitionsRequestTopic
		code    int16
		message bool
	}{
		{growTopic("nope", 5), 3, false}, {growTopic("", 5), 3, false},
		{growTopic("x", 2), 37, true}, {growTopic("x", 1), 37, true}, {growTopic("x", 0), 37, true}, {growTopic("x", -1), 37, true},
		{growTopic("x", 20003), 44, true}, {growTopic("x", 1000000000), 44, true},
		{empty, 39, true}, {growTopic("x", 5, []int32{1}), 39, true}, {growTopic("x", 3, []int32{1}, []int32{1}), 39, true},
		{growTopic("x", 3, []int32{2}), 39, true}, {growTopic("x", 3, []int32{}), 39, true}, {growTopic("x", 3, []int32{1, 1}), 39, true},
	} {
		for _, validateOnly := range []bool{false, true} {
			a, meta, _ := newAdmin(t)
			addTopic(t, meta, "x", 2)
			req := growRequest(c.topic)
			req.ValidateOnly = validateOnly
			out := serve[*kmsg.CreatePartitionsResponse](t, a, 3, req).Topics[0]
			if out.ErrorCode != c.code || (out.ErrorMessage != nil) != c.message {
				t.Errorf("%+v: code %d, message %v; want %d", c.topic, out.ErrorCode, out.ErrorMessage, c.code)
			}
			if n := len(meta.Image().Topic("x").Partitions); n != 2 {
				t.Errorf("%+v: %d partitions", c.topic, n)
			}
		}
	}
}

func TestCreatePartitionsTogether(t *testing.T) {
	a, meta, _ := newAdmin(t)
	for _, name := range []string{"a", "b", "c"} {
		addTopic(t, meta, name, 1)
	}
	resp := serve[*kmsg.CreatePartitionsResponse](t, a, 3, growRequest(growTopic("a", 2), growTopic("b", 2), growTopic("a", 3), growTopic("c", 1)))
	got := []string{}
	for _, topic := range resp.Topics {
		got = append(got, fmt.Sprint(topic.Topic, topic.ErrorCode))
	}
	if want := []string{"a42", "b0", "c37"}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	if len(meta.Image().Topic("a").Partitions) != 1 || len(meta.Image().Topic("b").Partitions) != 2 {
		t.Error("wrong topics have grown")
	}
	req := growRequest(growTopic("c", 5))
	req.ValidateOnly = true
	if out := serve[*kmsg.CreatePartitionsResponse](t, a, 3, req).Topics[0]; out.ErrorCode != 0 || len(meta.Image().Topic("c").Partitions) != 1 {
		t.Errorf("validation: %+v", out)
	}
	req.TimeoutMillis = 0
	if out := serve[*kmsg.CreatePartitionsResponse](t, a, 3, req).Topics[0]; out.ErrorCode != 7 {
		t.Errorf("no time: code %d", out.ErrorCode)
	}
}
