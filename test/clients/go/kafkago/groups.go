package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"

	"ringmain.test/clients/smoke"
)

// round sends records to one partition after the other.
type round struct{ n int }

func (r *round) Balance(kafka.Message, ...int) int {
	r.n++
	return r.n % smoke.GroupPartitions
}

// groups runs the course with the client's consumer groups.
func groups(ctx context.Context, client *kafka.Client, create func(string, int) error) {
	for _, balancer := range []kafka.GroupBalancer{kafka.RoundRobinGroupBalancer{}} {
		smoke.Check("group, "+balancer.ProtocolName(), func() error {
			t, group := smoke.Topic("kafka-go", "group"), smoke.Topic("kafka-go", "members")
			if err := create(t, smoke.GroupPartitions); err != nil {
				return err
			}
			w := &kafka.Writer{Addr: client.Addr, Topic: t, Balancer: &round{}, RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond}
			defer w.Close()
			course := smoke.Course{
				Produce: func(count int) error {
					var ms []kafka.Message
					for i := range smoke.GroupPartitions * count {
						ms = append(ms, kafka.Message{Value: fmt.Append(nil, i)})
					}
					return w.WriteMessages(ctx, ms...)
				},
				Member:  func(ctx context.Context, m *smoke.Member) error { return member(ctx, m, t, group, balancer) },
				Repeats: true,
			}
			if err := course.Run(); err != nil {
				return err
			}
			kept, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{t: {0, 1, 2, 3, 4, 5}}})
			if err != nil {
				return err
			}
			for _, p := range kept.Topics[t] {
				if err := errors.Join(p.Error, smoke.Equal("offset", p.CommittedOffset, smoke.GroupRecords)); err != nil {
					return err
				}
			}
			d, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return err
			}
			gone, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return err
			}
			return errors.Join(smoke.Equal("state", d.Groups[0].GroupState, "Empty"), gone.Errors[group])
		})
	}
}

// member is one of a group: a generation after the other, each partition read by one reader, which commits
// what it has read when the generation ends.
func member(ctx context.Context, m *smoke.Member, topic, group string, balancer kafka.GroupBalancer) error {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: group, Brokers: []string{os.Args[1]}, Topics: []string{topic}, GroupBalancers: []kafka.GroupBalancer{balancer},
		SessionTimeout: 6 * time.Second, HeartbeatInterval: 200 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond, StartOffset: kafka.FirstOffset})
	if err != nil {
		return err
	}
	for {
		gen, err := g.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return g.Close()
			}
			return errors.Join(err, g.Close())
		}
		m.Lose()
		for _, a := range gen.Assignments[topic] {
			m.Take(int32(a.ID))
			gen.Start(func(end context.Context) { readOne(end, m, gen, topic, a) })
		}
	}
}

// readOne reads a partition until its generation ends and commits each record before it takes the next.
func readOne(end context.Context, m *smoke.Member, gen *kafka.Generation, topic string, a kafka.PartitionAssignment) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{os.Args[1]}, Topic: topic, Partition: a.ID, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if r.SetOffset(a.Offset) != nil {
		return
	}
	for {
		got, err := r.ReadMessage(end)
		if err != nil {
			return
		}
		m.Read(int32(got.Partition), got.Offset)
		if gen.CommitOffsets(map[string]map[int]int64{topic: {a.ID: got.Offset + 1}}) != nil {
			return // of a generation that is over: the next reads it again
		}
	}
}
