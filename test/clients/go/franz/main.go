// franz writes, reads and administers with franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain.test/clients/smoke"
)

func client(opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(os.Args[1]))...)
	if err != nil {
		panic(err)
	}
	return cl
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
	defer cancel()
	adm := kadm.NewClient(client())
	led := func(topic string, partitions int) error {
		return smoke.Until(fmt.Sprintf("%d partitions of %s", partitions, topic), func() (bool, error) {
			m, err := adm.Metadata(ctx, topic)
			if err != nil {
				return false, err
			}
			o, err := adm.ListEndOffsets(ctx, topic)
			return len(m.Topics[topic].Partitions) == partitions && o.Error() == nil, err
		})
	}
	name := smoke.Topic("franz", "admin")
	setting := func() (string, error) {
		rc, err := adm.DescribeTopicConfigs(ctx, name)
		if err != nil {
			return "", err
		}
		for _, c := range rc[0].Configs {
			if c.Key == "retention.ms" {
				return c.MaybeValue(), nil
			}
		}
		return "", rc[0].Err
	}
	smoke.Check("create and describe a topic", func() error {
		v := "3600000"
		if _, err := adm.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &v}, name); err != nil {
			return err
		}
		got, err := setting()
		return errors.Join(err, smoke.Equal("retention.ms", got, "3600000"), led(name, 2))
	})
	smoke.Check("alter a setting, add partitions", func() error {
		v := "7200000"
		r, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &v}}, name)
		if err == nil {
			err = r[0].Err
		}
		if err != nil {
			return err
		}
		if c, err := adm.UpdatePartitions(ctx, 4, name); err != nil || c.Error() != nil {
			return errors.Join(err, c.Error())
		}
		return errors.Join(led(name, 4), smoke.Until("the setting", func() (bool, error) { got, err := setting(); return got == v, err }))
	})
	for _, codec := range smoke.Codecs {
		smoke.Check("produce and read, "+codec, func() error {
			t := smoke.Topic("franz", codec)
			if _, err := adm.CreateTopic(ctx, 2, 1, nil, t); err != nil {
				return err
			}
			if err := led(t, 2); err != nil {
				return err
			}
			kinds := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
			p := client(kgo.ProducerBatchCompression(kinds[codec]), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(20*time.Millisecond))
			defer p.Close()
			var rs []*kgo.Record
			for _, r := range smoke.Records(codec) {
				rs = append(rs, &kgo.Record{Topic: t, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: []kgo.RecordHeader{{Key: "n", Value: []byte(r.Header)}}})
			}
			if err := p.ProduceSync(ctx, rs...).FirstErr(); err != nil {
				return err
			}
			got, err := read(ctx, t, map[int32]kgo.Offset{0: kgo.NewOffset().AtStart(), 1: kgo.NewOffset().AtStart()}, smoke.Count)
			if err != nil {
				return err
			}
			middle, err := read(ctx, t, map[int32]kgo.Offset{0: kgo.NewOffset().At(123)}, 377)
			if err != nil {
				return err
			}
			return errors.Join(smoke.Compare(codec, got), smoke.Equal("the first from 123 on", middle[0].Offset, 123))
		})
	}
	smoke.Check("offset of a time, delete records, delete topics", func() error {
		t := smoke.Topic("franz", "time")
		if _, err := adm.CreateTopic(ctx, 1, 1, nil, t); err != nil {
			return err
		}
		if err := led(t, 1); err != nil {
			return err
		}
		p := client()
		defer p.Close()
		for i := range 100 {
			if err := p.ProduceSync(ctx, &kgo.Record{Topic: t, Value: fmt.Append(nil, i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*1000)}).FirstErr(); err != nil {
				return err
			}
		}
		at, err := adm.ListOffsetsAfterMilli(ctx, 1_700_000_041_500, t)
		if err != nil {
			return err
		}
		o, _ := at.Lookup(t, 0)
		cut := kadm.Offsets{}
		cut.AddOffset(t, 0, 30, -1)
		d, err := adm.DeleteRecords(ctx, cut)
		if err != nil {
			return err
		}
		low, _ := d.Lookup(t, 0)
		if err := errors.Join(smoke.Equal("offset of the time", o.Offset, 42), low.Err, smoke.Equal("low watermark", low.LowWatermark, 30)); err != nil {
			return err
		}
		del, err := adm.DeleteTopics(ctx, t, name)
		if err == nil {
			err = del.Error()
		}
		return errors.Join(err, smoke.Until("the topics are gone", func() (bool, error) { l, err := adm.ListTopics(ctx); return !l.Has(t) && !l.Has(name), err }))
	})
	groups(ctx, adm, led)
	smoke.End()
}

func read(ctx context.Context, topic string, from map[int32]kgo.Offset, count int) ([]smoke.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	defer c.Close()
	var got []smoke.Record
	for len(got) < count {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return got, fmt.Errorf("%d of %d read: %w", len(got), count, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			got = append(got, smoke.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value, Header: string(r.Headers[0].Value)})
		})
	}
	return got, nil
}
