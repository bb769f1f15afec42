// sarama writes, reads and administers with IBM/sarama.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"

	"ringmain.test/clients/smoke"
)

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V4_0_0_0
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.RequiredAcks = sarama.WaitForAll
	return c
}

func main() {
	addrs := []string{os.Args[1]}
	admin, err := sarama.NewClusterAdmin(addrs, config())
	if err != nil {
		fmt.Println("FAIL connect:", err)
		os.Exit(1)
	}
	client, err := sarama.NewClient(addrs, config())
	if err != nil {
		fmt.Println("FAIL connect:", err)
		os.Exit(1)
	}
	create := func(topic string, partitions int32, configs map[string]*string) error {
		if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}, false); err != nil {
			return err
		}
		return smoke.Until("topic "+topic, func() (bool, error) {
			if err := client.RefreshMetadata(topic); err != nil {
				return false, err
			}
			for p := range partitions {
				if _, err := client.GetOffset(topic, p, sarama.OffsetNewest); err != nil {
					return false, err
				}
			}
			return true, nil
		})
	}
	name := smoke.Topic("sarama", "admin")
	setting := func() (string, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: name, ConfigNames: []string{"retention.ms"}})
		if err != nil || len(entries) != 1 {
			return "", fmt.Errorf("%d entries, %w", len(entries), err)
		}
		return entries[0].Value, nil
	}
	smoke.Check("create and describe a topic", func() error {
		v := "3600000"
		if err := create(name, 2, map[string]*string{"retention.ms": &v}); err != nil {
			return err
		}
		got, err := setting()
		return errors.Join(err, smoke.Equal("retention.ms", got, v))
	})
	smoke.Check("alter a setting, add partitions", func() error {
		v := "7200000"
		if err := admin.IncrementalAlterConfig(sarama.TopicResource, name, map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &v}}, false); err != nil {
			return err
		}
		if err := admin.CreatePartitions(name, 4, nil, false); err != nil {
			return err
		}
		return errors.Join(
			smoke.Until("the setting", func() (bool, error) { got, err := setting(); return got == v, err }),
			smoke.Until("four partitions", func() (bool, error) {
				m, err := admin.DescribeTopics([]string{name})
				return err == nil && len(m[0].Partitions) == 4, err
			}))
	})
	smoke.Check("describe log directories", func() error {
		id := client.Brokers()[0].ID()
		d, err := admin.DescribeLogDirs([]int32{id})
		if err != nil {
			return err
		}
		return smoke.Equal("directories", len(d[id]), 1)
	})
	kinds := map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}
	for _, codec := range smoke.Codecs {
		smoke.Check("produce and read, "+codec, func() error {
			t := smoke.Topic("sarama", codec)
			if err := create(t, 2, nil); err != nil {
				return err
			}
			c := config()
			c.Producer.Compression = kinds[codec]
			c.Producer.Idempotent, c.Net.MaxOpenRequests = true, 1
			p, err := sarama.NewSyncProducer(addrs, c)
			if err != nil {
				return err
			}
			defer p.Close()
			var ms []*sarama.ProducerMessage
			for _, r := range smoke.Records(codec) {
				m := &sarama.ProducerMessage{Topic: t, Partition: r.Partition, Headers: []sarama.RecordHeader{{Key: []byte("n"), Value: []byte(r.Header)}}}
				if r.Key != nil {
					m.Key = sarama.ByteEncoder(r.Key)
				}
				if r.Value != nil {
					m.Value = sarama.ByteEncoder(r.Value)
				}
				ms = append(ms, m)
			}
			if err := p.SendMessages(ms); err != nil {
				return err
			}
			var got []smoke.Record
			for p := range int32(2) {
				part, err := read(client, t, p, sarama.OffsetOldest, smoke.Count/2)
				if err != nil {
					return err
				}
				got = append(got, part...)
			}
			middle, err := read(client, t, 0, 123, 377)
			if err != nil {
				return err
			}
			return errors.Join(smoke.Compare(codec, got), smoke.Equal("the first from 123 on", middle[0].Offset, 123))
		})
	}
	smoke.Check("offset of a time, delete records, delete topics", func() error {
		t := smoke.Topic("sarama", "time")
		if err := create(t, 1, nil); err != nil {
			return err
		}
		p, err := sarama.NewSyncProducer(addrs, config())
		if err != nil {
			return err
		}
		defer p.Close()
		for i := range 100 {
			if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: t, Value: sarama.StringEncoder(fmt.Sprint(i)), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*1000)}); err != nil {
				return err
			}
		}
		at, err := client.GetOffset(t, 0, 1_700_000_041_500)
		if err != nil {
			return err
		}
		if err := admin.DeleteRecords(t, map[int32]int64{0: 30}); err != nil {
			return err
		}
		low, err := client.GetOffset(t, 0, sarama.OffsetOldest)
		if err := errors.Join(err, smoke.Equal("offset of the time", at, 42), smoke.Equal("log start", low, 30)); err != nil {
			return err
		}
		if err := errors.Join(admin.DeleteTopic(t), admin.DeleteTopic(name)); err != nil {
			return err
		}
		return smoke.Until("the topics are gone", func() (bool, error) {
			l, err := admin.ListTopics()
			_, a := l[t]
			_, b := l[name]
			return !a && !b, err
		})
	})
	groups(addrs, admin, create)
	smoke.End()
}

func read(client sarama.Client, topic string, partition int32, from int64, count int) ([]smoke.Record, error) {
	c, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	pc, err := c.ConsumePartition(topic, partition, from)
	if err != nil {
		return nil, err
	}
	defer pc.Close()
	var got []smoke.Record
	for timeout := time.After(30 * time.Second); len(got) < count; {
		select {
		case m := <-pc.Messages():
			got = append(got, smoke.Record{Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Header: string(m.Headers[0].Value)})
		case <-timeout:
			return got, fmt.Errorf("%d of %d read in 30 s", len(got), count)
		}
	}
	return got, nil
}
