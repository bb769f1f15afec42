package damage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/record"
	"ringmain/test/harness"
	"ringmain/test/peer"
)

const (
	batchesEach = 40
	recordsEach = 5 // in a batch
	endOffset   = batchesEach * recordsEach
)

// part is a partition that the broker fills.
type part struct {
	topic string
	index int32
}

func (p part) String() string { return fmt.Sprintf("%s-%d", p.topic, p.index) }

var parts = []part{{"orders", 0}, {"orders", 1}, {"other", 0}}

// overrides make segments of ten batches: their timestamps lie ten milliseconds apart.
var overrides = []string{"log.roll.ms=95", "log.index.interval.bytes=4096"}

func value(p part, offset int64) string {
	return fmt.Sprintf("%s@%d %s", p, offset, strings.Repeat("x", 1000))
}

// filled is a directory that a broker has filled and left, cleanly or not.
func filled(t *testing.T, kill bool) string {
	t.Helper()
	b := harness.StartOwn(t, harness.Options{Overrides: overrides})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	for topic, n := range map[string]int32{"orders": 2, "other": 1} {
		if _, err := admin.CreateTopic(context.Background(), n, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now().UnixMilli() - 600_000
	c := dial(t, b.Addr())
	for k, p := range parts {
		for i := range batchesEach {
			append1(t, c, p, int64(i*recordsEach), recordsEach, begin+int64(k)*100_000+int64(i)*10, int32(i*recordsEach))
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	if kill {
		b.Kill()
	} else if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	copyTree(t, b.DataDir(), dir)
	return dir
}

func dial(t *testing.T, addr string) *peer.Conn {
	t.Helper()
	c, err := peer.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// append1 writes one batch, of which it wants the given offset (-1: any), and
// returns the offset.
func append1(t *testing.T, c *peer.Conn, p part, offset int64, n int, ts int64, sequence int32) int64 {
	t.Helper()
	b := record.NewBuilder()
	if sequence >= 0 {
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 4000+int64(p.index), 0, sequence
	}
	for i := range n {
		b.Add(ts+int64(i), nil, []byte(value(p, offset+int64(i))))
	}
	at, code := tryProduce(t, c, p, b.Build())
	if code != 0 || offset >= 0 && at != offset {
		t.Fatalf("produce to %v: code %d, offset %d, want %d", p, code, at, offset)
	}
	return at
}

// seen is what fetches of every batch of a partition brought.
type seen struct {
	got   map[int64]bool  // offsets of records
	codes map[int64]int16 // by offset, of fetches that failed
}

// readAll fetches at every batch's offset, and reports every record that is not
// what was written there.
func readAll(t *testing.T, addr string, p part) seen {
	t.Helper()
	c := dial(t, addr)
	s := seen{map[int64]bool{}, map[int64]int16{}}
	for offset := int64(0); offset < endOffset; offset += recordsEach {
		got := fetch(t, c, p, offset)
		if got.ErrorCode != 0 {
			s.codes[offset] = got.ErrorCode
			if len(got.RecordBatches) > 0 {
				t.Errorf("fetch %v at %d: code %d, and %d bytes", p, offset, got.ErrorCode, len(got.RecordBatches))
			}
			continue
		}
		s.take(t, p, offset, got.RecordBatches)
	}
	return s
}

func fetch(t *testing.T, c *peer.Conn, p part, offset int64) kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 0, 1<<20, -1
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = p.index, offset, 20_000, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.Partitions = p.topic, []kmsg.FetchRequestTopicPartition{rp}
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("fetch %v at %d: %v", p, offset, err)
	}
	return resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

func (s *seen) take(t *testing.T, p part, offset int64, bs []byte) {
	t.Helper()
	for len(bs) > 0 {
		b, err := record.First(bs)
		if err != nil {
			t.Errorf("fetch %v at %d: what was sent is no batch: %v", p, offset, err)
			return
		}
		bs = bs[b.Size():]
		if !b.ChecksumOK() {
			t.Errorf("fetch %v at %d: a batch with a wrong checksum was sent", p, offset)
			continue
		}
		r, err := record.NewReader(b)
		if err != nil {
			t.Errorf("fetch %v at %d: %v", p, offset, err)
			continue
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if string(rec.Value) != value(p, rec.Offset) {
				t.Errorf("fetch %v at %d: the record at %d is %.20q", p, offset, rec.Offset, rec.Value)
			}
			s.got[rec.Offset] = true
		}
		r.Close()
	}
}

// verdict is the document of log verify and log repair.
type verdict struct {
	code     int
	stderr   string
	Findings []finding
	Repaired bool
}

type finding struct {
	File     string
	Position int64
	From     int64 `json:"lost_from"`
	To       int64 `json:"lost_to"`
	Reason   string
	Repair   string
	Harmless bool
}

// command runs ringmain log.
func command(t *testing.T, args ...string) verdict {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := exec.Command(bin, append([]string{"log"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	v := verdict{code: cmd.ProcessState.ExitCode(), stderr: errOut.String()}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatalf("%v prints %v: %s", args, err, out.String())
		}
	}
	return v
}

func (v verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d %s", v.code, v.stderr)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n  %s at %d, lost %d to %d: %s; repair: %s (harmless %v)", f.File, f.Position, f.From, f.To, f.Reason, f.Repair, f.Harmless)
	}
	return b.String()
}

// names tells whether a finding is about a path that ends so.
func (v verdict) names(end string) bool {
	for _, f := range v.Findings {
		if strings.HasSuffix(f.File, end) || strings.Contains(f.Reason, end) {
			return true
		}
	}
	return false
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
