// confluent writes, reads and administers with confluent-kafka-go (librdkafka).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"ringmain.test/clients/smoke"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
	defer cancel()
	admin, err := kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": os.Args[1]})
	if err != nil {
		fmt.Println("FAIL connect:", err)
		os.Exit(1)
	}
	count := func(topic string) (int, error) {
		m, err := admin.GetMetadata(&topic, false, 10000)
		if err != nil {
			return 0, err
		}
		return len(m.Topics[topic].Partitions), nil
	}
	create := func(topic string, partitions int, configs map[string]string) error {
		r, err := admin.CreateTopics(ctx, []kafka.TopicSpecification{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, Config: configs}})
		if err != nil {
			return err
		}
		if r[0].Error.Code() != kafka.ErrNoError {
			return r[0].Error
		}
		return smoke.Until("topic "+topic, func() (bool, error) { n, err := count(topic); return n == partitions, err })
	}
	name := smoke.Topic("confluent-go", "admin")
	resource := kafka.ConfigResource{Type: kafka.ResourceTopic, Name: name}
	setting := func() (string, error) {
		r, err := admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource})
		if err != nil {
			return "", err
		}
		return r[0].Config["retention.ms"].Value, nil
	}
	smoke.Check("create and describe a topic", func() error {
		if err := create(name, 2, map[string]string{"retention.ms": "3600000"}); err != nil {
			return err
		}
		got, err := setting()
		return errors.Join(err, smoke.Equal("retention.ms", got, "3600000"))
	})
	smoke.Check("alter a setting, add partitions", func() error {
		change := resource
		change.Config = []kafka.ConfigEntry{{Name: "retention.ms", Value: "7200000", IncrementalOperation: kafka.AlterConfigOpTypeSet}}
		r, err := admin.IncrementalAlterConfigs(ctx, []kafka.ConfigResource{change})
		if err != nil {
			return err
		}
		if r[0].Error.Code() != kafka.ErrNoError {
			return r[0].Error
		}
		p, err := admin.CreatePartitions(ctx, []kafka.PartitionsSpecification{{Topic: name, IncreaseTo: 4}})
		if err != nil {
			return err
		}
		if p[0].Error.Code() != kafka.ErrNoError {
			return p[0].Error
		}
		return errors.Join(
			smoke.Until("the setting", func() (bool, error) { got, err := setting(); return got == "7200000", err }),
			smoke.Until("four partitions", func() (bool, error) { n, err := count(name); return n == 4, err }))
	})
	for _, codec := range smoke.Codecs {
		smoke.Check("produce and read, "+codec, func() error {
			t := smoke.Topic("confluent-go", codec)
			if err := create(t, 2, nil); err != nil {
				return err
			}
			if err := write(t, codec); err != nil {
				return err
			}
			got, err := read(t, []int32{0, 1}, kafka.OffsetBeginning)
			if err != nil {
				return err
			}
			middle, err := read(t, []int32{0}, 123)
			if err != nil {
				return err
			}
			return errors.Join(smoke.Compare(codec, got), smoke.Equal("records from 123 on", len(middle), 377))
		})
	}
	smoke.Check("offset of a time, delete records, delete topics", func() error {
		t := smoke.Topic("confluent-go", "time")
		if err := create(t, 1, nil); err != nil {
			return err
		}
		p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": os.Args[1], "go.delivery.reports": false})
		if err != nil {
			return err
		}
		defer p.Close()
		for i := range 100 {
			if err := p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &t, Partition: 0}, Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*1000)}, nil); err != nil {
				return err
			}
		}
		p.Flush(30000)
		at, err := p.OffsetsForTimes([]kafka.TopicPartition{{Topic: &t, Partition: 0, Offset: 1_700_000_041_500}}, 10000)
		if err != nil {
			return err
		}
		d, err := admin.DeleteRecords(ctx, []kafka.TopicPartition{{Topic: &t, Partition: 0, Offset: 30}})
		if err != nil {
			return err
		}
		low := d.DeleteRecordsResults[0]
		if low.TopicPartition.Error != nil {
			return low.TopicPartition.Error
		}
		if err := errors.Join(smoke.Equal("offset of the time", at[0].Offset, 42), smoke.Equal("low watermark", low.DeletedRecords.LowWatermark, 30)); err != nil {
			return err
		}
		r, err := admin.DeleteTopics(ctx, []string{t, name})
		if err != nil {
			return err
		}
		for _, x := range r {
			if x.Error.Code() != kafka.ErrNoError {
				return x.Error
			}
		}
		return smoke.Until("the topics are gone", func() (bool, error) {
			m, err := admin.GetMetadata(nil, true, 10000)
			if err != nil {
				return false, err
			}
			_, a := m.Topics[t]
			_, b := m.Topics[name]
			return !a && !b, nil
		})
	})
	smoke.End()
}

func write(topic, codec string) error {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": os.Args[1], "enable.idempotence": true, "compression.type": codec, "linger.ms": 20})
	if err != nil {
		return err
	}
	defer p.Close()
	reports := make(chan kafka.Event, smoke.Count)
	for _, r := range smoke.Records(codec) {
		if err := p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: r.Partition}, Key: r.Key, Value: r.Value, Headers: []kafka.Header{{Key: "n", Value: []byte(r.Header)}}}, reports); err != nil {
			return err
		}
	}
	if left := p.Flush(30000); left > 0 {
		return fmt.Errorf("%d records were not answered", left)
	}
	for range smoke.Count {
		if m, ok := (<-reports).(*kafka.Message); ok && m.TopicPartition.Error != nil {
			return m.TopicPartition.Error
		}
	}
	return nil
}

// read reads partitions from an offset to their end.
func read(topic string, partitions []int32, from kafka.Offset) ([]smoke.Record, error) {
	c, err := kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": os.Args[1], "group.id": "unused", "enable.auto.commit": false, "enable.partition.eof": true, "check.crcs": true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var at []kafka.TopicPartition
	for _, p := range partitions {
		at = append(at, kafka.TopicPartition{Topic: &topic, Partition: p, Offset: from})
	}
	if err := c.Assign(at); err != nil {
		return nil, err
	}
	var got []smoke.Record
	left := len(partitions)
	for end := time.Now().Add(30 * time.Second); left > 0; {
		if time.Now().After(end) {
			return got, errors.New("the end was not reached in 30 s")
		}
		switch e := c.Poll(500).(type) {
		case *kafka.Message:
			got = append(got, smoke.Record{Partition: e.TopicPartition.Partition, Offset: int64(e.TopicPartition.Offset), Key: e.Key, Value: e.Value, Header: string(e.Headers[0].Value)})
		case kafka.PartitionEOF:
			left--
		case kafka.Error:
			return got, e
		}
	}
	return got, nil
}
