package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain.test/clients/smoke"
)

// groups runs the course with each assignor of the classic protocol and with KIP-848.
func groups(ctx context.Context, adm *kadm.Client, led func(string, int) error) {
	for _, how := range []struct {
		name string
		opts []kgo.Opt
	}{
		{"range", []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}},
		{"roundrobin", []kgo.Opt{kgo.Balancers(kgo.RoundRobinBalancer())}},
		{"sticky", []kgo.Opt{kgo.Balancers(kgo.StickyBalancer())}},
		{"cooperative-sticky", []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())}},
		{"consumer protocol", []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())}},
		{"consumer protocol, range", []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())}},
	} {
		smoke.Check("group, "+how.name, func() error {
			t, group := smoke.Topic("franz", "group"), smoke.Topic("franz", "members")
			if _, err := adm.CreateTopic(ctx, smoke.GroupPartitions, 1, nil, t); err != nil {
				return err
			}
			if err := led(t, smoke.GroupPartitions); err != nil {
				return err
			}
			p := client(kgo.DefaultProduceTopic(t), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			defer p.Close()
			course := smoke.Course{
				Produce: func(count int) error {
					var rs []*kgo.Record
					for i := range smoke.GroupPartitions * count {
						rs = append(rs, &kgo.Record{Partition: int32(i % smoke.GroupPartitions), Value: fmt.Append(nil, i)})
					}
					return p.ProduceSync(ctx, rs...).FirstErr()
				},
				Member: func(ctx context.Context, m *smoke.Member) error {
					return member(ctx, m, append(how.opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(t)))
				},
			}
			if err := course.Run(); err != nil {
				return err
			}
			kept, err := adm.FetchOffsets(ctx, group)
			if err != nil {
				return err
			}
			for p := range int32(smoke.GroupPartitions) {
				o, _ := kept.Lookup(t, p)
				if err := errors.Join(smoke.Equal("offset", o.At, smoke.GroupRecords), smoke.Equal("metadata", o.Metadata, "note")); err != nil {
					return err
				}
			}
			return administer(ctx, adm, group, t, strings.HasPrefix(how.name, "consumer"))
		})
	}
}

// member polls, commits and polls again until ctx ends; the group does not rebalance in between.
func member(ctx context.Context, m *smoke.Member, opts []kgo.Opt) error {
	count := func(change func(...int32)) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			for _, ps := range parts {
				change(ps...)
			}
		}
	}
	cl := client(append(opts, kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(200*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.OnPartitionsAssigned(count(m.Take)), kgo.OnPartitionsRevoked(count(func(ps ...int32) {
			if len(ps) > 0 {
				m.Lose(ps...)
			}
		})))...)
	defer cl.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fs := cl.PollRecords(ctx, 20)
		if err := fs.Err(); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		read := map[string]map[int32]kgo.EpochOffset{}
		fs.EachRecord(func(r *kgo.Record) {
			m.Read(r.Partition, r.Offset)
			if read[r.Topic] == nil {
				read[r.Topic] = map[int32]kgo.EpochOffset{}
			}
			read[r.Topic][r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		})
		if len(read) > 0 {
			var failed error
			cl.CommitOffsetsSync(kgo.PreCommitFnContext(context.Background(), noted), read, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
				failed = err
				if err == nil {
					for _, t := range resp.Topics {
						for _, p := range t.Partitions {
							failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
						}
					}
				}
			})
			if failed != nil {
				return fmt.Errorf("commit: %w", failed)
			}
		}
		cl.AllowRebalance()
	}
	return nil
}

// noted gives every committed partition a metadata.
func noted(req *kmsg.OffsetCommitRequest) error {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			req.Topics[i].Partitions[j].Metadata = kmsg.StringPtr("note")
		}
	}
	return nil
}

// administer does what kadm can with a group that has no members.
func administer(ctx context.Context, adm *kadm.Client, group, topic string, next bool) error {
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(listed.Groups(), group) {
		return errors.New("the group is not listed")
	}
	if next {
		d, err := adm.DescribeConsumerGroups(ctx, group)
		if err := errors.Join(err, smoke.Equal("state", d[group].State, "Empty")); err != nil {
			return err
		}
	} else {
		lag, err := adm.Lag(ctx, group)
		if err != nil {
			return err
		}
		l := lag[group]
		if err := errors.Join(l.Error(), smoke.Equal("state", l.State, "Empty"), smoke.Equal("lag", l.Lag.Total(), 0)); err != nil {
			return err
		}
	}
	back := kadm.Offsets{}
	back.AddOffset(topic, 1, 7, -1)
	if r, err := adm.CommitOffsets(ctx, group, back); err != nil || r.Error() != nil {
		return errors.Join(err, r.Error())
	}
	gone := kadm.TopicsSet{}
	gone.Add(topic, 0)
	if r, err := adm.DeleteOffsets(ctx, group, gone); err != nil || r.Error() != nil {
		return errors.Join(err, r.Error())
	}
	kept, err := adm.FetchOffsets(ctx, group)
	if err != nil {
		return err
	}
	_, zero := kept.Lookup(topic, 0)
	one, _ := kept.Lookup(topic, 1)
	if err := errors.Join(smoke.Equal("a deleted offset is there", zero, false), smoke.Equal("offset set", one.At, 7)); err != nil {
		return err
	}
	if _, err := adm.DeleteGroup(ctx, group); err != nil {
		return err
	}
	if _, err := adm.DeleteGroup(ctx, group); !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("deleting it again: %v", err)
	}
	return nil
}
