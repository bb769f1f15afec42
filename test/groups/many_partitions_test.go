package groups

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

var partitionCount = flag.Int("partitions", 0, "TestManyPartitionsSettle: so many partitions have the members' topics")

// TestManyPartitionsSettle: a target assignment of a whole group is one batch, however large it
// becomes, and larger than the topic is to have batches. The members settle, settle again when
// all topics grow, and are there after a kill.
func TestManyPartitionsSettle(t *testing.T) {
	members, partitions, topicCount, patience := 60, 240, 4, 60*time.Second
	overrides := []string{"group.consumer.assignment.interval.ms=100", "group.consumer.min.heartbeat.interval.ms=200", "group.consumer.heartbeat.interval.ms=200"}
	if *partitionCount > 0 {
		members, partitions, topicCount, patience = *memberCount, *partitionCount, max(1, *partitionCount/100), 300*time.Second
		overrides = nil // as brokers are
	}
	b := harness.StartOwn(t, harness.Options{Overrides: overrides})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	adm := kadm.NewClient(cl)
	var topics []string
	for i := range topicCount {
		topics = append(topics, fmt.Sprintf("many-%03d", i))
		createTopic(t, b.Addr(), topics[i], int32(partitions/2/topicCount))
	}
	partitions = partitions / 2 / topicCount * topicCount
	findCoordinator(t, dial(t, b.Addr()), "g")
	const batch = 1024
	small := fmt.Sprint(batch)
	altered, err := adm.AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &small}}, "__consumer_offsets")
	if err != nil || altered[0].Err != nil {
		t.Fatal(err, altered)
	}

	var all settled
	all.t, all.members, all.goal = t, members, partitions
	begun := time.Now()
	all.join(b.Addr(), func(c *peer.Conn, rank int) error { return all.consumer(c, "g", rank, topics...) })
	at := all.await(partitions, patience)
	t.Logf("%d members with %d partitions settled after %v", members, partitions, at.Sub(begun).Round(time.Millisecond))
	begun = time.Now()
	if grown, err := adm.UpdatePartitions(context.Background(), 2*partitions/topicCount, topics...); err != nil || grown.Error() != nil {
		t.Fatal(err, grown.Error())
	}
	at = all.await(2*partitions, patience)
	t.Logf("all topics have grown to twice as much: settled after %v", at.Sub(begun).Round(time.Millisecond))
	all.end()
	before := consumers(t, b.Addr(), "g")
	b.Kill()
	if size := largestBatch(t, b, "g"); size <= batch {
		t.Errorf("the largest batch of the group has %d bytes; more than %d were to be tested", size, batch)
	}
	begun = time.Now()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	after := consumers(t, b.Addr(), "g")
	t.Logf("killed and started: described after %v", time.Since(begun).Round(time.Millisecond))
	if len(before.Members) != members || before.State != "Stable" || !reflect.DeepEqual(before, after) {
		t.Errorf("%d members, %s, of epoch %d before; %d, %s, %d after, or others", len(before.Members), before.State, before.Epoch, len(after.Members), after.State, after.Epoch)
	}
}

// largestBatch is the size of the largest batch in the partition of a group.
func largestBatch(t *testing.T, b *harness.Broker, group string) (largest int) {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(b.DataDir(), fmt.Sprintf("__consumer_offsets-%d", home(group)), "00000000000000000000.log")
	out, err := exec.Command(bin, "log", "dump", segment).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^position \d+ size (\d+) `).FindAllStringSubmatch(string(out), -1) {
		size, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, size)
	}
	return largest
}

// consumers is what ConsumerGroupDescribe says of a group once its coordinator has loaded; members
// and their topics are in order.
func consumers(t *testing.T, addr, group string) kmsg.ConsumerGroupDescribeResponseGroup {
	t.Helper()
	c := dial(t, addr)
	var g kmsg.ConsumerGroupDescribeResponseGroup
	code, err := retry(func() (int16, error) {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = []string{group}
		resp, err := do[*kmsg.ConsumerGroupDescribeResponse](c, 1, req)
		if err != nil {
			return 0, err
		}
		g = resp.Groups[0]
		return g.ErrorCode, nil
	})
	if err != nil || code != 0 {
		t.Fatalf("ConsumerGroupDescribe: error %d, %v", code, err)
	}
	slices.SortFunc(g.Members, func(a, b kmsg.ConsumerGroupDescribeResponseGroupMember) int {
		return cmp.Compare(a.MemberID, b.MemberID)
	})
	for _, m := range g.Members {
		for _, a := range []kmsg.Assignment{m.Assignment, m.TargetAssignment} {
			slices.SortFunc(a.TopicPartitions, func(a, b kmsg.AssignmentTopicPartition) int { return cmp.Compare(a.Topic, b.Topic) })
		}
	}
	return g
}
