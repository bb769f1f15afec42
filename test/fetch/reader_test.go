package fetch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

const (
	produceVersion = 8  // the last that is not flexible: short to read by hand
	fetchVersion   = 11 // likewise
)

func dial(t testing.TB, addr string) *peer.Conn {
	t.Helper()
	c, err := peer.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func produceRequest(topic string, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(produceVersion)
	req.Acks, req.TimeoutMillis = 1, 30000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = append(req.Topics, t)
	return req
}

func fetchRequest(topic string, offset int64, most int) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(fetchVersion)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 500, 1, 1<<30, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, int32(most)
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = append(req.Topics, t)
	return req
}

// reader is one consumer's connection. Its buffer is kept, so that a test over
// gigabytes measures the broker and not its own garbage.
type reader struct {
	conn *peer.Conn
	from io.Reader
	buf  []byte
}

func newReader(c *peer.Conn) *reader { return &reader{conn: c, from: c.Conn} }

// fetch asks for records at offset and gives their bytes, valid until the next call.
func (r *reader) fetch(topic string, offset int64, most int) ([]byte, error) {
	if err := r.conn.Send(r.conn.Frame(fetchRequest(topic, offset, most))); err != nil {
		return nil, err
	}
	return r.receive()
}

func (r *reader) receive() ([]byte, error) {
	r.conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	var head [4]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > 64<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if _, err := io.ReadFull(r.from, b); err != nil {
		return nil, err
	}
	return recordsOf(b)
}

// recordsOf finds the records in an answer of one partition: correlation 4,
// throttle 4, error 2, session 4, topics 4, name, partitions 4, index 4, error 2,
// high watermark 8, last stable 8, log start 8, aborted 4, replica 4, size 4.
func recordsOf(b []byte) ([]byte, error) {
	const upToName, behindName = 4 + 4 + 2 + 4 + 4, 4 + 4 + 2 + 8 + 8 + 8 + 4 + 4 + 4
	short := errors.New("the answer is too short for one partition")
	if len(b) < upToName+2 {
		return nil, short
	}
	at := upToName + 2 + int(binary.BigEndian.Uint16(b[upToName:]))
	if len(b) < at+behindName {
		return nil, short
	}
	if code := int16(binary.BigEndian.Uint16(b[at+8:])); code != 0 {
		return nil, fmt.Errorf("error code %d", code)
	}
	records := b[at+behindName:]
	if n := int(int32(binary.BigEndian.Uint32(b[at+behindName-4:]))); n != len(records) {
		return nil, fmt.Errorf("records of %d bytes are announced, %d are there", n, len(records))
	}
	return records, nil
}

// trickle reads a little at a time, with a pause between.
type trickle struct {
	from  io.Reader
	piece int
	pause time.Duration
}

func (s trickle) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.from.Read(p[:min(len(p), s.piece)])
}

// vanish asks for more than it takes, reads some of it and resets the connection.
func vanish(c *peer.Conn, topic string, offsets []int64, most, take int) error {
	for _, o := range offsets {
		if err := c.Send(c.Frame(fetchRequest(topic, o, most))); err != nil {
			return err
		}
	}
	if _, err := io.CopyN(io.Discard, c.Conn, int64(take)); err != nil {
		return err
	}
	c.Conn.(*net.TCPConn).SetLinger(0)
	return c.Close()
}
