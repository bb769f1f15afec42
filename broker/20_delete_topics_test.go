package broker

import (
	"context"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

func deleteRequest(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics, req.TimeoutMillis = topics, 10000
	return req
}

func doomedName(name string) kmsg.DeleteTopicsRequestTopic {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	return t
}

func doomedID(id model.TopicID) kmsg.DeleteTopicsRequestTopic {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = id
	return t
}

func TestDeleteTopicsByName(t *testing.T) {
	a, meta, _ := newAdmin(t)
	for version := int16(1); version <= 5; version++ {
		addTopic(t, meta, "x", 2, "retention.ms", "5")
		addTopic(t, meta, "stays", 1)
		req := deleteRequest()
		req.TopicNames = []string{"x", "nope", "stays", "stays"}
		resp := serve[*kmsg.DeleteTopicsResponse](t, a, version, req)
		if len(resp.Topics) != 3 {
			t.Fatalf("v%d: %+v", version, resp.Topics)
		}
		for i, want := range []struct {
			name string
			code int16
		}{{"x", 0}, {"nope", 3}, {"stays", 42}} {
			out := resp.Topics[i]
			if *out.Topic != want.name || out.ErrorCode != want.code || (out.ErrorMessage != nil) != (want.code != 0 && version >= 5) {
				t.Errorf("v%d: %s %d, message %v; want %+v", version, *out.Topic, out.ErrorCode, out.ErrorMessage, want)
			}
		}
		img := meta.Image()
		if img.Topic("x") != nil || img.Topic("stays") == nil || img.Config(metadata.TopicResource, "x") != nil {
			t.Errorf("v%d: topics %v", version, img.TopicNames())
		}
		if meta.served != img.Offset() {
			t.Errorf("v%d: answered before the topics were out of service", version)
		}
		meta.apply(t, metadata.RemoveTopicRecord{ID: img.Topic("stays").ID})
	}
}

func TestDeleteTopicsByID(t *testing.T) {
	a, meta, _ := newAdmin(t)
	x, y, z := addTopic(t, meta, "x", 1), addTopic(t, meta, "y", 1), addTopic(t, meta, "z", 1)
	gone := model.NewTopicID()
	both := doomedName("z")
	both.TopicID = z.ID
	type answer struct {
		name string // "" for null
		id   model.TopicID
		code int16
	}
	for _, c := range []struct {
		ask  []kmsg.DeleteTopicsRequestTopic
		want []answer
		left []string
	}{
		{[]kmsg.DeleteTopicsRequestTopic{both}, []answer{{"z", z.ID, 42}}, []string{"x", "y", "z"}},
		{[]kmsg.DeleteTopicsRequestTopic{kmsg.NewDeleteTopicsRequestTopic()}, []answer{{"", model.TopicID{}, 42}}, []string{"x", "y", "z"}},
		{[]kmsg.DeleteTopicsRequestTopic{doomedID(y.ID), doomedName("y")}, []answer{{"y", y.ID, 42}}, []string{"x", "y", "z"}},
		{[]kmsg.DeleteTopicsRequestTopic{doomedName("y"), doomedID(y.ID)}, []answer{{"y", y.ID, 42}}, []string{"x", "y", "z"}},
		{[]kmsg.DeleteTopicsRequestTopic{doomedID(y.ID), doomedID(y.ID), doomedName("z"), doomedName("z")},
			[]answer{{"", y.ID, 42}, {"z", model.TopicID{}, 42}}, []string{"x", "y", "z"}},
		{[]kmsg.DeleteTopicsRequestTopic{doomedID(x.ID), doomedID(gone), doomedName("nope"), doomedName("y")},
			[]answer{{"x", x.ID, 0}, {"", gone, 100}, {"nope", model.TopicID{}, 3}, {"y", y.ID, 0}}, []string{"z"}},
	} {
		resp := serve[*kmsg.DeleteTopicsResponse](t, a, 6, deleteRequest(c.ask...))
		var got []answer
		for _, out := range resp.Topics {
			name := ""
			if out.Topic != nil {
				name = *out.Topic
			}
			got = append(got, answer{name, out.TopicID, out.ErrorCode})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("answers %+v, want %+v", got, c.want)
		}
		if left := meta.Image().TopicNames(); !slices.Equal(left, c.left) {
			t.Errorf("topics %v, want %v", left, c.left)
		}
	}
}

func TestDeleteTopicsForbiddenOrTimedOut(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	code := func(version int16, timeout int32) int16 {
		req := deleteRequest(doomedName("x"))
		req.TopicNames, req.TimeoutMillis = []string{"x"}, timeout
		return serve[*kmsg.DeleteTopicsResponse](t, a, version, req).Topics[0].ErrorCode
	}
	if got := code(6, 0); got != 7 {
		t.Errorf("no time: code %d", got)
	}
	a.cfg.DeleteTopics = false
	if got := code(2, 1000); got != 42 {
		t.Errorf("v2: code %d, want INVALID_REQUEST", got)
	}
	if got := code(3, 1000); got != 73 {
		t.Errorf("v3: code %d, want TOPIC_DELETION_DISABLED", got)
	}
	a.cfg.DeleteTopics = true
	meta.failWith = context.DeadlineExceeded
	if got := code(6, 1000); got != 7 {
		t.Errorf("timed out: code %d", got)
	}
	if meta.Image().Topic("x") == nil {
		t.Error("the topic is gone")
	}
}
