package groups

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

func createTopic(t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

func dial(t testing.TB, addr string) *peer.Conn {
	t.Helper()
	c, err := peer.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// do sends a request at a version.
func do[R kmsg.Response](c *peer.Conn, version int16, req kmsg.Request) (R, error) {
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		var none R
		return none, err
	}
	return resp.(R), nil
}

// findCoordinator asks until there is a coordinator: the offsets topic may only be made now.
func findCoordinator(t testing.TB, c *peer.Conn, group string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = []string{group}
		resp, err := do[*kmsg.FindCoordinatorResponse](c, 4, req)
		if err != nil {
			t.Fatal(err)
		}
		code := resp.Coordinators[0].ErrorCode
		if code == 0 {
			return
		}
		if !kerr.IsRetriable(kerr.ErrorForCode(code)) || time.Now().After(deadline) {
			t.Fatalf("no coordinator of %s: %v", group, kerr.ErrorForCode(code))
		}
	}
}

// commitRequest commits one offset, with its number as metadata, for each of a topic's partitions.
func commitRequest(group, topic string, partitions int32, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	metadata := fmt.Sprint(offset)
	for p := range partitions {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = p, offset, &metadata
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// commitError is the first error of a commit's answer.
func commitError(resp *kmsg.OffsetCommitResponse) error {
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchOffsets returns what a group has committed, by partition; it retries while the coordinator loads.
func fetchOffsets(c *peer.Conn, group, topic string) (map[int32]kmsg.OffsetFetchResponseGroupTopicPartition, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		req := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = group
		req.Groups = append(req.Groups, g)
		resp, err := do[*kmsg.OffsetFetchResponse](c, 8, req)
		if err != nil {
			return nil, err
		}
		if err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); err != nil {
			if !kerr.IsRetriable(err) || time.Now().After(deadline) {
				return nil, err
			}
			continue
		}
		got := map[int32]kmsg.OffsetFetchResponseGroupTopicPartition{}
		for _, rt := range resp.Groups[0].Topics {
			for _, p := range rt.Partitions {
				if rt.Topic != topic || p.ErrorCode != 0 {
					return nil, errors.Join(fmt.Errorf("partition %d of %s", p.Partition, rt.Topic), kerr.ErrorForCode(p.ErrorCode))
				}
				got[p.Partition] = p
			}
		}
		return got, nil
	}
}
