package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"ringmain/internal/vfs"
)

// After a kill the log is as it was when the last entry was acknowledged. Wherever it is cut
// since, and whichever of its files is gone, entries are missing that were acknowledged: the
// start is refused, with file and place, and Verify says the same.
func TestLogCutAfterAKillIsRefused(t *testing.T) {
	all := used(t, false)
	for name, b := range all {
		if !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		for size := range b {
			cut := maps.Clone(all)
			cut[name] = b[:size]
			mem := restore(t, cut)
			c, err := Open(testConfig(mem), nil)
			mustRefuse(t, name, size, c, err)
			if v, err := Verify(mem, "/meta"); err != nil || len(v.Problems) == 0 {
				t.Fatalf("%s cut to %d bytes: verify finds %+v, %v", name, size, v, err)
			}
			if !maps.EqualFunc(cut, files(t, mem), bytes.Equal) {
				t.Fatalf("%s cut to %d bytes: files were changed", name, size)
			}
		}
		missing := maps.Clone(all)
		delete(missing, name)
		if _, err := Open(testConfig(restore(t, missing)), nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// A directory of before there was a mark starts, and gets one.
func TestLogWithoutAMark(t *testing.T) {
	all := used(t, false)
	clear(all[quorumStateName][reachedAt : reachedAt+reachedSize])
	cfg := testConfig(restore(t, all))
	c := open(t, cfg)
	if c.Image().Topic("last") == nil {
		t.Error("the last topic is gone")
	}
	mustCreate(t, c, "more")
	killed := cfg.FS.(*vfs.Mem).KillClone()
	last, _ := c.logs.LastIndex()
	if q, err := decodeQuorumState(files(t, killed)[quorumStateName], quorumStateName); err != nil || q.reached != last {
		t.Errorf("the mark is %d, the log ends with entry %d: %v", q.reached, last, err)
	}
	closeClean(t, c)
}

// Power cuts at any time, with changes under way, are no cuts of the log: the mark is never
// above what the disk has, when files are begun and dropped too.
func TestMarkIsNeverAboveTheDisk(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for seed := range 30 {
		mem := vfs.NewMem()
		cfg := testConfig(mem)
		cfg.limits = limits{checkpointEntries: 1 + rng.Uint64N(6), checkpointBytes: 1 << 30}
		for round := range 5 {
			c := open(t, cfg)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := 0; ctx.Err() == nil; n++ {
					if _, err := createTopic(c, fmt.Sprintf("t%d-%d", round, n), 1); err != nil {
						return
					}
				}
			}()
			for range 1 + rng.IntN(4) {
				k := cfg
				k.FS = mem.CrashClone(rng)
				other, err := Open(k, nil)
				if err != nil {
					t.Fatalf("seed %d: after a power cut: %v", seed, err)
				}
				other.Close()
			}
			cut := mem.CrashClone(rng)
			if rng.IntN(2) == 0 {
				cut = mem.KillClone()
			}
			cancel()
			c.Close()
			<-done
			mem, cfg.FS = cut, cut
		}
	}
}
