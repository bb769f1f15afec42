package verify

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench"
	"ringmain/bench/audit"
	"ringmain/test/harness"
)

// start starts a broker whose logs roll often, so that kills meet rolls.
func start(t *testing.T) *harness.Broker {
	t.Helper()
	return harness.StartOwn(t, harness.Options{Overrides: []string{"log.segment.bytes=1048576"}})
}

// again kills the broker and starts it on what it left.
func again(t *testing.T, b *harness.Broker) {
	t.Helper()
	b.Kill()
	if err := b.Restart(); err != nil {
		t.Errorf("start after a kill: %v", err)
	}
}

func TestNothingIsLostOverKills(t *testing.T) {
	b := start(t)
	const kills = 3
	killed := make(chan struct{})
	begun := make(chan struct{}, 1)
	go func() {
		defer close(killed)
		<-begun
		for range kills {
			time.Sleep(700 * time.Millisecond)
			again(t, b)
		}
	}()
	r, err := bench.Verify(t.Context(), bench.VerifyOptions{
		Client: []kgo.Opt{kgo.SeedBrokers(b.Addr())}, Partitions: 4, Replication: 1,
		ValueBytes: 500, BatchBytes: 16 << 10, Rate: 5000, Duration: 4 * time.Second, Patience: 20 * time.Second,
		Progress: func(p bench.VerifyProgress) {
			if p.Acked == 0 {
				return
			}
			select {
			case begun <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	<-killed
	v := r.Verdict
	if !r.OK || v.Acked == 0 || v.Acked != r.Written || v.Seen < v.Acked || r.Kept {
		t.Errorf("%+v", r)
	}
	t.Logf("%d records acknowledged over %d kills, at most %v without an answer", v.Acked, kills, r.LongestGap)
}

// verifying is 'ringmain bench verify' as a process.
func verifying(t *testing.T, b *harness.Broker, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), bin, append([]string{"bench", "verify", "--bootstrap", b.Addr(), "--output", "json"}, args...)...)
}

// finish runs a verifier to its end, which must find nothing wrong.
func finish(t *testing.T, cmd *exec.Cmd) bench.VerifyReport {
	t.Helper()
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, complaint.String(), out)
	}
	var r bench.VerifyReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return r
}

func TestTheAccountOutlivesItsProcess(t *testing.T) {
	b := start(t)
	account := filepath.Join(t.TempDir(), "account.json")
	first := verifying(t, b, "--state", account, "--duration", "1h", "--rate", "5000", "--record-size", "500", "--partitions", "4")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	// The account is at most a second behind; wait for one with acknowledgements.
	deadline := time.Now().Add(time.Minute)
	for noted := false; !noted; {
		if time.Now().After(deadline) {
			_ = first.Process.Kill()
			t.Fatal("no account of an acknowledged record after a minute")
		}
		time.Sleep(50 * time.Millisecond)
		state, err := audit.LoadState(account)
		noted = err == nil && len(state.Sessions) == 1 && len(state.Sessions[0].Streams[0].Acked) > 0
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	again(t, b)

	r := finish(t, verifying(t, b, "--resume", account))
	if !r.OK || !r.Kept || r.Written != 0 || r.Verdict.Acked == 0 || r.Verdict.Seen < r.Verdict.Acked {
		t.Errorf("after the kill: %+v", r)
	}
	more := finish(t, verifying(t, b, "--resume", account, "--records", "1000", "--remove"))
	if !more.OK || more.Kept || more.Sessions != 2 || more.Written != 1000 || more.Verdict.Acked < r.Verdict.Acked+1000 {
		t.Errorf("gone on with: %+v", more)
	}
	if _, err := os.Stat(account); !os.IsNotExist(err) {
		t.Errorf("the account is still there: %v", err)
	}
}
