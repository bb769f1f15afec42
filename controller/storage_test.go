package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

var errFull = errors.New("no space left on device")

func faultyConfig() (Config, *vfs.Faulty) {
	f := vfs.NewFaulty(vfs.NewMem())
	return testConfig(f), f
}

// A full disk refuses the change. What was there is read, and when there is room
// again, changes go on without a restart.
func TestFullDiskRefusesChangesUntilThereIsRoom(t *testing.T) {
	for _, short := range []int{0, 1, 60} {
		cfg, faulty := faultyConfig()
		c := open(t, cfg)
		mustCreate(t, c, "before")
		faulty.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: "*" + segmentSuffix, Short: short, Err: errFull})
		for range 3 {
			_, err := createTopic(c, "refused", 1)
			if !errors.Is(err, ErrStorage) || !errors.Is(err, errFull) {
				t.Fatalf("with a full disk: %v", err)
			}
			if c.Image().Topic("before") == nil || c.Image().Topic("refused") != nil || c.Err() != nil {
				t.Fatalf("topics %v, fault %v", c.Image().TopicNames(), c.Err())
			}
		}
		faulty.Heal()
		mustCreate(t, c, "after")
		closeClean(t, c)
		c = open(t, cfg)
		if c.Image().Topic("after") == nil || c.Image().Topic("before") == nil || c.Image().Topic("refused") != nil {
			t.Errorf("after a restart: %v", c.Image().TopicNames())
		}
	}
}

// A full disk that is there when the broker starts stops it with a sentence.
func TestFullDiskAtStart(t *testing.T) {
	cfg, faulty := faultyConfig()
	closeClean(t, open(t, cfg))
	faulty.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: "*" + segmentSuffix, Err: errFull})
	c, err := Open(cfg, testLog(t))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := c.Start(context.Background()); !errors.Is(err, ErrStorage) || !errors.Is(err, errFull) {
		t.Errorf("start: %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	c.Close()
	faulty.Heal()
	mustCreate(t, open(t, cfg), "a")
}

// A failed sync is final, whatever comes after it; the image stays.
func TestFailedSyncIsFinal(t *testing.T) {
	for _, file := range []string{"*" + segmentSuffix, quorumStateName} {
		cfg, faulty := faultyConfig()
		c := open(t, cfg)
		mustCreate(t, c, "before")
		eio := errors.New("input/output error")
		if file == quorumStateName { // a vote is stored when the log cannot be written
			faulty.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: "*" + segmentSuffix, Times: 1, Err: errFull})
		}
		faulty.Inject(vfs.Rule{Op: vfs.OpSync, Pattern: file, Times: 1, Err: eio})
		if _, err := createTopic(c, "lost", 1); !errors.Is(err, ErrStorage) {
			t.Fatalf("%s: %v", file, err)
		}
		for range 2 {
			if _, err := createTopic(c, "refused", 1); !errors.Is(err, ErrStorage) || !errors.Is(err, eio) {
				t.Fatalf("%s: after the failed sync: %v", file, err)
			}
		}
		if _, err := c.AllocateProducerID(); !errors.Is(err, ErrStorage) {
			t.Errorf("%s: producer id: %v", file, err)
		}
		if c.Image().Topic("before") == nil || !errors.Is(c.Err(), eio) {
			t.Errorf("%s: topics %v, fault %v", file, c.Image().TopicNames(), c.Err())
		}
		c.Close()
		faulty.Heal()
		c = open(t, cfg)
		if c.Image().Topic("before") == nil {
			t.Errorf("%s: after a restart: %v", file, c.Image().TopicNames())
		}
		mustCreate(t, c, "after")
	}
}

// Any operation may fail at any time: never a panic, never a lost answer, and
// the directory opens when the disk is well again.
func TestRandomFaults(t *testing.T) {
	ops := []vfs.Op{vfs.OpOpen, vfs.OpRead, vfs.OpWrite, vfs.OpSync, vfs.OpTruncate, vfs.OpRename, vfs.OpRemove, vfs.OpReadDir, vfs.OpSyncDir}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg, faulty := faultyConfig()
		cfg.limits = limits{checkpointEntries: 5, checkpointBytes: 1 << 30}
		var answered []string
		for round := range 4 {
			op := ops[rng.IntN(len(ops))]
			rule := vfs.Rule{Op: op, After: rng.IntN(25), Times: 1 + rng.IntN(3), Err: errFull}
			if op == vfs.OpWrite && rng.IntN(2) == 0 {
				rule.Pattern, rule.Short = "0*", rng.IntN(600) // but a slot of quorum-state is written or it is not
			}
			faulty.Inject(rule)
			c, err := Open(cfg, nil)
			if err == nil {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				err = c.Start(ctx)
				cancel()
			}
			if err == nil {
				for n := range 15 {
					name := fmt.Sprintf("t%d-%d", round, n)
					if _, err := createTopic(c, name, 1); err == nil {
						answered = append(answered, name)
					}
				}
			}
			if c != nil {
				c.Close()
			}
			faulty.Heal()
			c, err = Open(cfg, nil)
			if err == nil {
				err = c.Start(context.Background())
			}
			if err != nil {
				t.Fatalf("seed %d round %d (%s): %v", seed, round, op, err)
			}
			for _, name := range answered {
				if c.Image().Topic(name) == nil {
					t.Fatalf("seed %d round %d (%s): %s was answered and is gone", seed, round, op, name)
				}
			}
			closeClean(t, c)
		}
	}
}

// Cut off at any moment of the first start, the next one begins again or goes
// on, and does not refuse.
func TestCrashWhileFormatting(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for after := range 14 {
		for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir, vfs.OpMkdir} {
			mem := vfs.NewMem()
			faulty := vfs.NewFaulty(mem)
			faulty.Inject(vfs.Rule{Op: op, After: after, Err: errFull})
			cfg := testConfig(faulty)
			c, err := Open(cfg, nil)
			if err == nil {
				c.Start(context.Background())
			}
			for range 10 {
				k := cfg
				k.FS = mem.CrashClone(rng)
				mustCreate(t, open(t, k), "a")
			}
			if c != nil {
				c.Close()
			}
		}
	}
}

func TestForeignDirectoriesAreRefusedAndLeftAlone(t *testing.T) {
	for name, put := range map[string]map[string]string{
		"kafka":      {"quorum-state": `{"leaderId":1,"data_version":0}`, "00000000000000000000.log": "x"},
		"kafka logs": {"meta.properties": "version=1", "00000000000000000000.log": "x"},
		"other":      {"notes.txt": "mine"},
	} {
		mem := vfs.NewMem()
		mem.MkdirAll("/meta")
		for file, text := range put {
			putFile(t, mem, file, []byte(text))
		}
		_, err := Open(testConfig(mem), nil)
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		left, _ := mem.ReadDir("/meta")
		if len(left) != len(put) {
			t.Errorf("%s: the directory was written to: %v", name, left)
		}
	}
}

func TestIdentityAndLock(t *testing.T) {
	mem := vfs.NewMem()
	cfg := testConfig(mem)
	cfg.ClusterID = "one"
	c := open(t, cfg)
	if _, err := Open(cfg, nil); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("open twice: %v", err)
	}
	closeClean(t, c)
	other := cfg
	other.NodeID = 2
	if _, err := Open(other, nil); !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), "node 1") {
		t.Errorf("other node: %v", err)
	}
	other = cfg
	other.ClusterID = "two"
	if _, err := Open(other, nil); !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), "cluster one") {
		t.Errorf("other cluster: %v", err)
	}
	cfg.ClusterID = ""
	if c := open(t, cfg); c.ClusterID() != "one" {
		t.Errorf("adopted cluster id %q", c.ClusterID())
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no directory":    {NodeID: 1},
		"negative node":   {Dir: "/meta", NodeID: -1},
		"long cluster id": {Dir: "/meta", ClusterID: strings.Repeat("x", 250)},
	} {
		if _, err := Open(cfg, nil); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// Records of a newer release in the log, or in a checkpoint, stop the start.
func TestNewerRecordInTheLogIsRefused(t *testing.T) {
	all := used(t, false)
	for name, b := range all {
		if !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		at := strings.LastIndex(string(b), "RMFR")
		h, ok := parseFrameHeader(b[at:])
		if !ok {
			t.Fatal("no frame where one was found")
		}
		l := entryOf(h, b[at:])
		l.Data = []byte{1, 1, 99, 1, 0}
		all[name] = append(b[:at:at], appendFrame(nil, &l, h.batchFirst)...)
		_, err := Open(testConfig(restore(t, all)), nil)
		if !errors.Is(err, metadata.ErrNewer) || !strings.Contains(err.Error(), filepath.Base(name)) || !strings.Contains(err.Error(), "type 99") {
			t.Errorf("record of type 99: %v", err)
		}
	}
}

// Nothing is written to standard output, which belongs to the ready line.
func TestStandardOutputStaysEmpty(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	saved := os.Stdout
	os.Stdout = w
	c, err := Open(testConfig(vfs.NewMem()), nil)
	if err == nil {
		err = c.Start(context.Background())
		createTopic(c, "a", 1)
		c.Close()
	}
	os.Stdout = saved
	w.Close()
	b := make([]byte, 100)
	n, _ := r.Read(b)
	if n > 0 || err != nil {
		t.Errorf("standard output got %q; %v", b[:n], err)
	}
}
