// kafkago writes, reads and administers with segmentio/kafka-go.
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

// manual sends a message where its key's rank says: the partitioner gets the partition by closure.
type manual struct{ next *[]int }

func (m manual) Balance(kafka.Message, ...int) int {
	p := (*m.next)[0]
	*m.next = (*m.next)[1:]
	return p
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
	defer cancel()
	addr := kafka.TCP(os.Args[1])
	client := &kafka.Client{Addr: addr, Timeout: 30 * time.Second}
	create := func(topic string, partitions int, configs ...kafka.ConfigEntry) error {
		r, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}}})
		if err == nil {
			err = r.Errors[topic]
		}
		if err != nil {
			return err
		}
		return smoke.Until("topic "+topic, func() (bool, error) {
			var ask []kafka.OffsetRequest
			for p := range partitions {
				ask = append(ask, kafka.LastOffsetOf(p))
			}
			r, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: ask}})
			if err != nil {
				return false, err
			}
			for _, p := range r.Topics[topic] {
				if p.Error != nil {
					return false, p.Error
				}
			}
			return len(r.Topics[topic]) == partitions, nil
		})
	}
	name := smoke.Topic("kafka-go", "admin")
	setting := func() (string, error) {
		r, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: name, ConfigNames: []string{"retention.ms"}}}})
		if err != nil {
			return "", err
		}
		return r.Resources[0].ConfigEntries[0].ConfigValue, r.Resources[0].Error
	}
	smoke.Check("create and describe a topic", func() error {
		if err := create(name, 2, kafka.ConfigEntry{ConfigName: "retention.ms", ConfigValue: "3600000"}); err != nil {
			return err
		}
		got, err := setting()
		return errors.Join(err, smoke.Equal("retention.ms", got, "3600000"))
	})
	smoke.Check("alter a setting, add partitions", func() error {
		r, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: "7200000", ConfigOperation: kafka.ConfigOperationSet}}}}})
		if err == nil {
			err = r.Resources[0].Error
		}
		if err != nil {
			return err
		}
		c, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: name, Count: 4}}})
		if err == nil {
			err = c.Errors[name]
		}
		return errors.Join(err,
			smoke.Until("the setting", func() (bool, error) { got, err := setting(); return got == "7200000", err }),
			smoke.Until("four partitions", func() (bool, error) {
				m, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{name}})
				return err == nil && len(m.Topics[0].Partitions) == 4, err
			}))
	})
	kinds := map[string]kafka.Compression{"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}
	for _, codec := range smoke.Codecs {
		smoke.Check("produce and read, "+codec, func() error {
			t := smoke.Topic("kafka-go", codec)
			if err := create(t, 2); err != nil {
				return err
			}
			var ms []kafka.Message
			var to []int
			for _, r := range smoke.Records(codec) {
				ms = append(ms, kafka.Message{Key: r.Key, Value: r.Value, Headers: []kafka.Header{{Key: "n", Value: []byte(r.Header)}}})
				to = append(to, int(r.Partition))
			}
			w := &kafka.Writer{Addr: addr, Topic: t, Balancer: manual{&to}, Compression: kinds[codec], RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond}
			if err := errors.Join(w.WriteMessages(ctx, ms...), w.Close()); err != nil {
				return err
			}
			var got []smoke.Record
			for p := range 2 {
				part, err := read(ctx, t, p, kafka.FirstOffset, smoke.Count/2)
				if err != nil {
					return err
				}
				got = append(got, part...)
			}
			middle, err := read(ctx, t, 0, 123, 377)
			if err != nil {
				return err
			}
			return errors.Join(smoke.Compare(codec, got), smoke.Equal("the first from 123 on", middle[0].Offset, 123))
		})
	}
	smoke.Check("offset of a time, delete topics", func() error {
		t := smoke.Topic("kafka-go", "time")
		if err := create(t, 1); err != nil {
			return err
		}
		w := &kafka.Writer{Addr: addr, Topic: t, RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond}
		var ms []kafka.Message
		for i := range 100 {
			ms = append(ms, kafka.Message{Value: fmt.Append(nil, i), Time: time.UnixMilli(1_700_000_000_000 + int64(i)*1000)})
		}
		if err := errors.Join(w.WriteMessages(ctx, ms...), w.Close()); err != nil {
			return err
		}
		r, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{t: {kafka.TimeOffsetOf(0, time.UnixMilli(1_700_000_041_500))}}})
		if err != nil {
			return err
		}
		found := int64(-1)
		for o := range r.Topics[t][0].Offsets {
			found = o
		}
		if err := smoke.Equal("offset of the time", found, 42); err != nil {
			return err
		}
		d, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{t, name}})
		if err != nil {
			return err
		}
		return errors.Join(d.Errors[t], d.Errors[name], smoke.Until("the topics are gone", func() (bool, error) {
			m, err := client.Metadata(ctx, &kafka.MetadataRequest{})
			if err != nil {
				return false, err
			}
			for _, x := range m.Topics {
				if x.Name == t || x.Name == name {
					return false, nil
				}
			}
			return true, nil
		}))
	})
	groups(ctx, client, func(topic string, partitions int) error { return create(topic, partitions) })
	smoke.End()
}

func read(ctx context.Context, topic string, partition int, from int64, count int) ([]smoke.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{os.Args[1]}, Topic: topic, Partition: partition, MaxWait: 200 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(from); err != nil {
		return nil, err
	}
	var got []smoke.Record
	for len(got) < count {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return got, fmt.Errorf("%d of %d read: %w", len(got), count, err)
		}
		got = append(got, smoke.Record{Partition: int32(m.Partition), Offset: m.Offset, Key: m.Key, Value: m.Value, Header: string(m.Headers[0].Value)})
	}
	return got, nil
}
