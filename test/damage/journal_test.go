package damage

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/segment"
	"ringmain/test/harness"
)

// dump runs ringmain log dump.
func dump(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, append([]string{"log", "dump"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	return string(b) + stderr.String(), err
}

// A journal is printed as the other files are, while the broker writes it and after it was
// killed, as text and as JSON.
func TestJournalIsPrinted(t *testing.T) {
	const partitions = 16
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"ringmain.journal.bytes=4194304", "ringmain.appenders=1"}})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, "many"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.DataDir(), "ringmain-journal-0")
	var commits []segment.JournalCommit
	rounds := int64(0)
	for end := time.Now().Add(30 * time.Second); len(commits) == 0; rounds++ {
		if time.Now().After(end) {
			t.Fatalf("no commit in %s within 30 s of produce", path)
		}
		var rs []*kgo.Record
		for p := range int32(partitions) {
			rs = append(rs, &kgo.Record{Topic: "many", Partition: p, Value: []byte("kept for a power cut")})
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		out, err := dump(t, "--output", "json", path)
		if err != nil {
			continue // it is being made
		}
		for line := range strings.Lines(out) {
			var c segment.JournalCommit
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			commits = append(commits, c)
		}
	}
	for _, c := range commits {
		if c.File != path || c.Half != 0 || c.Position%4096 != 0 || len(c.Entries) < 4 {
			t.Errorf("%+v", c)
		}
		for _, e := range c.Entries {
			if e.Topic != "many" || e.Partition < 0 || e.Partition >= partitions || e.BaseOffset != 0 || e.Bytes <= 0 || e.FirstOffset < 0 || e.LastOffset < e.FirstOffset || e.LastOffset >= rounds {
				t.Errorf("after %d rounds: %+v", rounds, e)
			}
		}
	}
	b.Kill()
	out, err := dump(t, "--records", path)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, text := range []string{"journal with halves of 2097152 bytes", "half 0 position 4096 generation 1 sequence 0 ", " many-3 segment 0 position ", `value "kept for a power cut"`, "half 1 ends at position 2101248"} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out[:min(len(out), 4000)])
		}
	}
	flipAt(4096+200)(t, path)
	if out, err := dump(t, path); err == nil || !strings.Contains(out, path+" at byte 4096: the commit is not whole") {
		t.Errorf("with a flipped bit: %v\n%s", err, out)
	}
	flipAt(9)(t, path)
	if out, err := dump(t, path); err == nil || !strings.Contains(out, path+": head of a journal") {
		t.Errorf("with a flipped bit in its head: %v\n%s", err, out)
	}
	if out, err := dump(t, "--output", "json", filepath.Join(b.DataDir(), "many-0", "00000000000000000000.log")); err == nil || !strings.Contains(out, "only journals are printed as JSON") {
		t.Errorf("a segment as JSON: %v\n%s", err, out)
	}
}
