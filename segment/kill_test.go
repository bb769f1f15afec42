package segment

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmain/internal/vfs"
)

// killedWriter, when set, makes this test binary the process that is killed:
// it appends to the log directory named there, on the backend after the
// colon, and prints every log end that it has synced.
const killedWriter = "RINGMAIN_TEST_KILLED_WRITER"

func TestMain(m *testing.M) {
	if v := os.Getenv(killedWriter); v != "" {
		path, name, _ := strings.Cut(v, ":")
		for _, be := range backends {
			if be.name == name {
				if err := writeForEver(path, be.make()); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		}
		os.Exit(2)
	}
	os.Exit(m.Run())
}

func writeForEver(path string, io LogIO) error {
	d, err := OpenDir(vfs.OS{}, path, testIdent, quiet)
	if err != nil {
		return err
	}
	cfg := smallConfig()
	cfg.SegmentBytes = 32 << 10
	cfg.RetentionBytes = 200 << 10
	l, _, err := d.OpenLog(testTP, testTopic, cfg)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 3))
	seq := int32(0)
	for _, p := range l.Producers() {
		seq = p.LastSequence + 1
	}
	for i := 0; ; i++ {
		for range 1 + rng.IntN(5) {
			b := produced(1, 0, seq, t0+l.EndOffset(), 1+rng.IntN(3))
			if dup, err := l.CheckProducer(b, t0); dup != nil || err != nil {
				return fmt.Errorf("sequence %d: %+v, %w", seq, dup, err)
			}
			if _, err := l.Stage(b, 0, b.MaxTimestamp(), t0); err != nil {
				return err
			}
			seq += b.Count()
		}
		if errs := Flush(io, []*Log{l}); errs != nil {
			return errs[0]
		}
		if rng.IntN(3) == 0 {
			files, upTo := l.BeginSync(nil)
			if errs := io.Sync(filesOf(nil, files)); errs != nil {
				return errs[0]
			}
			l.EndSync(upTo, false, nil)
			fmt.Println(l.SyncedOffset())
		}
		if i%20 == 19 {
			if err := d.Checkpoint(); err != nil {
				return err
			}
			if _, err := l.Retain(t0); err != nil {
				return err
			}
		}
	}
}

// A process that appends, rolls, syncs, checkpoints and retains is killed, eight
// times on the same directory: nothing it has reported is missing, the
// sequence of its producer is whole.
func TestSIGKILL(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			path := t.TempDir() + "/data"
			end := int64(0)
			rng := rand.New(rand.NewPCG(4, 4))
			for life := range 8 {
				cmd := exec.Command(self)
				cmd.Env = append(os.Environ(), killedWriter+"="+path+":"+be.name)
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				// Every second one may still be starting, the others have work behind them,
				// however slow the machine is.
				var kill *time.Timer
				arm := func() {
					kill = time.AfterFunc(time.Duration(20+rng.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
				}
				if life%2 == 1 {
					arm()
				}
				synced := end
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
						synced = n
					}
					if kill == nil {
						arm()
					}
				}
				if kill != nil {
					kill.Stop()
				}
				if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("the writer ended by itself: %v", err)
				}
				end = checkKilled(t, path, synced)
			}
			if end == 0 {
				t.Error("nothing was ever written")
			}
		})
	})
}

func checkKilled(t *testing.T, path string, synced int64) (end int64) {
	t.Helper()
	// On a copy, so that the next writer recovers what this one left.
	copied := filepath.Join(t.TempDir(), "copy")
	if err := copyTree(path, copied); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	d := openDir(t, vfs.OS{}, copied)
	defer d.Close()
	l, rep := openLog(t, d, smallConfig())
	if l.EndOffset() < synced || rep.Damaged() || len(rep.SetAside) > 0 {
		t.Fatalf("log end %d, the writer reported %d; %+v", l.EndOffset(), synced, rep)
	}
	next, seq := l.StartOffset(), int32(-1)
	for _, b := range readAll(t, l, l.StartOffset(), 1<<20) {
		if next > b.BaseOffset() && next == l.StartOffset() {
			next = b.BaseOffset()
		}
		if b.BaseOffset() != next || seq >= 0 && b.BaseSequence() != seq {
			t.Fatalf("batch at %d with sequence %d, want %d with %d", b.BaseOffset(), b.BaseSequence(), next, seq)
		}
		next, seq = b.LastOffset()+1, b.LastSequence()+1
	}
	if next != l.EndOffset() {
		t.Fatalf("batches end at %d, the log at %d", next, l.EndOffset())
	}
	if p := l.Producers(); next > 0 && (len(p) != 1 || p[0].LastSequence != seq-1 && seq >= 0) {
		t.Fatalf("producers %+v, the last sequence is %d", p, seq-1)
	}
	end = l.EndOffset()
	l.Close()
	return end
}
