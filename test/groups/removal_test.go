package groups

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// TestMembersAreRemovedByTheirID: `ringmain group remove-members` removes a member that is
// not static, of either protocol; its client joins again as another.
func TestMembersAreRemovedByTheirID(t *testing.T) {
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"group.initial.rebalance.delay.ms=0",
		"group.consumer.min.heartbeat.interval.ms=200", "group.consumer.heartbeat.interval.ms=200"}})
	createTopic(t, b.Addr(), "orders", 3)
	protocols := map[string][]kgo.Opt{
		"classic":  {kgo.Balancers(kgo.RangeBalancer())},
		"consumer": {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
	}
	for protocol, opts := range protocols {
		t.Run(protocol, func(t *testing.T) {
			// command runs a command for the group and reads its document.
			command := func(result any, name string, flags ...string) error {
				args := append([]string{"group", name, protocol, "--output", "json", "--bootstrap", b.Addr()}, flags...)
				out, err := exec.Command(bin, args...).Output()
				if err != nil {
					return err
				}
				return json.Unmarshal(out, result)
			}
			// settled waits until the group's one member is not the last one, and has every partition.
			settled := func(last string) string {
				deadline := time.Now().Add(60 * time.Second)
				for {
					var groups []struct {
						Type, State string
						Members     []struct {
							ID         string `json:"member_id"`
							Assignment map[string][]int32
						}
					}
					err := command(&groups, "describe")
					if err == nil && len(groups) == 1 && groups[0].Type == protocol && groups[0].State == "Stable" && len(groups[0].Members) == 1 {
						if m := groups[0].Members[0]; m.ID != last && len(m.Assignment["orders"]) == 3 {
							return m.ID
						}
					}
					if time.Now().After(deadline) {
						t.Fatalf("group %q stays %+v, %v", protocol, groups, err)
					}
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.ConsumerGroup(protocol), kgo.ConsumeTopics("orders"),
				kgo.HeartbeatInterval(200 * time.Millisecond)}, opts...)...)
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			go func() {
				for ctx.Err() == nil {
					cl.PollFetches(ctx)
				}
			}()
			id := ""
			for _, whom := range []func() []string{
				func() []string { return []string{"--member", id} },
				func() []string { return []string{"--all"} },
			} {
				id = settled(id)
				var removed []struct {
					ID      string `json:"member_id"`
					Removed bool
				}
				if err := command(&removed, "remove-members", whom()...); err != nil {
					t.Fatal(err)
				}
				if len(removed) != 1 || !removed[0].Removed || removed[0].ID != id {
					t.Errorf("removed %+v instead of %q", removed, id)
				}
			}
			settled(id)
		})
	}
}
