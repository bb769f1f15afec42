package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"ringmain.test/clients/smoke"
)

// groups runs the course with each of the client's strategies.
func groups(addrs []string, admin sarama.ClusterAdmin, create func(string, int32, map[string]*string) error) {
	for _, strategy := range []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange(), sarama.NewBalanceStrategyRoundRobin(), sarama.NewBalanceStrategySticky()} {
		smoke.Check("group, "+strategy.Name(), func() error {
			t, group := smoke.Topic("sarama", "group"), smoke.Topic("sarama", "members")
			if err := create(t, smoke.GroupPartitions, nil); err != nil {
				return err
			}
			p, err := sarama.NewSyncProducer(addrs, config())
			if err != nil {
				return err
			}
			defer p.Close()
			course := smoke.Course{
				Produce: func(count int) error {
					var ms []*sarama.ProducerMessage
					for i := range smoke.GroupPartitions * count {
						ms = append(ms, &sarama.ProducerMessage{Topic: t, Partition: int32(i % smoke.GroupPartitions), Value: sarama.StringEncoder(fmt.Sprint(i))})
					}
					return p.SendMessages(ms)
				},
				Member: func(ctx context.Context, m *smoke.Member) error { return member(ctx, m, addrs, t, group, strategy) },
			}
			if err := course.Run(); err != nil {
				return err
			}
			kept, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{t: {0, 1, 2, 3, 4, 5}})
			if err != nil {
				return err
			}
			for p := range int32(smoke.GroupPartitions) {
				b := kept.GetBlock(t, p)
				if err := errors.Join(smoke.Equal("offset", b.Offset, smoke.GroupRecords), smoke.Equal("metadata", b.Metadata, "note")); err != nil {
					return err
				}
			}
			return administer(admin, group, t)
		})
	}
}

// handler is a member: it commits every record before it takes the next.
type handler struct {
	m *smoke.Member
}

func (h handler) Setup(s sarama.ConsumerGroupSession) error {
	for _, ps := range s.Claims() {
		h.m.Take(ps...)
	}
	return nil
}

func (h handler) Cleanup(sarama.ConsumerGroupSession) error {
	h.m.Lose()
	return nil
}

func (h handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-s.Context().Done(): // what was fetched and not read is not committed either
			return nil
		default:
		}
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			h.m.Read(m.Partition, m.Offset)
			s.MarkMessage(m, "note")
		case <-s.Context().Done():
			return nil
		}
	}
}

func member(ctx context.Context, m *smoke.Member, addrs []string, topic, group string, strategy sarama.BalanceStrategy) error {
	c := config()
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = 6*time.Second, 200*time.Millisecond
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 50 * time.Millisecond
	g, err := sarama.NewConsumerGroup(addrs, group, c)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, handler{m}); err != nil && ctx.Err() == nil {
			return errors.Join(err, g.Close())
		}
	}
	return g.Close()
}

// administer does what the client can with a group that has no members.
func administer(admin sarama.ClusterAdmin, group, topic string) error {
	listed, err := admin.ListConsumerGroups()
	if err != nil {
		return err
	}
	described, err := admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return err
	}
	if err := errors.Join(smoke.Equal("kind", listed[group], "consumer"), smoke.Equal("state", described[0].State, "Empty"), admin.DeleteConsumerGroupOffset(group, topic, 0)); err != nil {
		return err
	}
	kept, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1}})
	if err != nil {
		return err
	}
	if err := errors.Join(smoke.Equal("deleted offset", kept.GetBlock(topic, 0).Offset, -1), smoke.Equal("the other", kept.GetBlock(topic, 1).Offset, smoke.GroupRecords), admin.DeleteConsumerGroup(group)); err != nil {
		return err
	}
	if err := admin.DeleteConsumerGroup(group); !errors.Is(err, sarama.ErrGroupIDNotFound) {
		return fmt.Errorf("deleting it again: %v", err)
	}
	return nil
}
