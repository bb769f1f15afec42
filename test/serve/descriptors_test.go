package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

// limited is a stand-in for the binary that runs it with a limit on open files.
func limited(t *testing.T, files int) string {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ringmain")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d && exec %s \"$@\"\n", files, bin), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// openFiles counts the descriptors of the process that are segment files, and all.
func openFiles(t *testing.T, pid int) (segments, all int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	for _, e := range es {
		all++
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && (strings.HasSuffix(to, ".log") || strings.HasSuffix(to, ".index")) {
			segments++
		}
	}
	return segments, all
}

// writeAll writes one record to each partition of a topic.
func writeAll(t *testing.T, addr, topic string, partitions int) {
	t.Helper()
	cl := client(t, addr)
	defer cl.Close()
	var rs []*kgo.Record
	for p := range partitions {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: int32(p), Value: fmt.Appendf(nil, "value %d", p)})
		if len(rs) == 100 || p == partitions-1 {
			if err := cl.ProduceSync(within(t), rs...).FirstErr(); err != nil {
				t.Fatalf("produce to %d partitions, up to %d: %v", len(rs), p, err)
			}
			rs = rs[:0]
		}
	}
}

// readEach reads so many records of every partition of a topic.
func readEach(t *testing.T, addr, topic string, partitions, records int) {
	t.Helper()
	from := map[int32]kgo.Offset{}
	for p := range partitions {
		from[int32(p)] = kgo.NewOffset().At(0)
	}
	cl := client(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	defer cl.Close()
	ctx := within(t)
	for n := 0; n < partitions*records; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records were read: %v", n, partitions*records, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			if want := fmt.Sprintf("value %d", r.Partition); string(r.Value) != want {
				t.Errorf("partition %d holds %q, want %q", r.Partition, r.Value, want)
			}
		})
	}
}

// ringmain.open.files bounds the segment files that are open: many times as many
// partitions are written and read all the same, over a restart and a kill.
func TestMorePartitionsThanOpenFiles(t *testing.T) {
	const partitions, limit = 2000, 500
	b := harness.StartOwn(t, harness.Options{Overrides: []string{fmt.Sprintf("ringmain.open.files=%d", limit)}})
	create(t, b.Addr(), "wide", partitions)
	// A fetch of all partitions holds all their files for as long as it is sent.
	bounded := func(when string) {
		t.Helper()
		eventually(t, when+" no more files are open than ringmain.open.files says", func() bool {
			_, all := openFiles(t, b.PID())
			return all <= limit
		})
	}
	writeAll(t, b.Addr(), "wide", partitions)
	bounded("after writing")
	readEach(t, b.Addr(), "wide", partitions, 1)
	bounded("after reading")
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	readEach(t, b.Addr(), "wide", partitions, 1)
	writeAll(t, b.Addr(), "wide", 200)
	readEach(t, b.Addr(), "wide", 200, 2)
	bounded("after a kill")
}

// A process that may open few files serves as many connections and partitions as it
// can, refuses or keeps waiting the others, and is as before once they are gone.
func TestFewDescriptors(t *testing.T) {
	const partitions, limit = 300, 120
	b := harness.StartOwn(t, harness.Options{Binary: limited(t, limit)})
	create(t, b.Addr(), "many", partitions)
	writeAll(t, b.Addr(), "many", partitions)

	// Twice as many connections as there can be, while the first go on.
	keep := client(t, b.Addr())
	if err := keep.ProduceSync(within(t), &kgo.Record{Topic: "many", Value: []byte("value 0")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []*peer.Conn
	var dialing sync.WaitGroup
	for range 2 * limit {
		dialing.Go(func() {
			c, err := peer.Dial(b.Addr())
			if err != nil {
				return // refused
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		})
	}
	dialing.Wait()
	for i := range 50 {
		r := &kgo.Record{Topic: "many", Partition: int32(i), Value: fmt.Appendf(nil, "value %d", i)}
		if err := keep.ProduceSync(within(t), r).FirstErr(); err != nil {
			t.Fatalf("a connection that was there before gets %v", err)
		}
	}
	if _, all := openFiles(t, b.PID()); all > limit {
		t.Errorf("%d files are open of %d", all, limit)
	}
	if !b.Alive() {
		t.Fatalf("the broker ended:\n%s", b.Stderr())
	}
	for _, c := range open {
		c.Close()
	}
	eventually(t, "new connections are served once the others are gone", func() bool { return serves(t, b.Addr()) })
	readEach(t, b.Addr(), "many", partitions, 1)
	adm := kadm.NewClient(client(t, b.Addr()))
	if ends, err := adm.ListEndOffsets(within(t), "many"); err != nil || ends.Error() != nil {
		t.Errorf("offsets afterwards: %v", errors.Join(err, ends.Error()))
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
}
