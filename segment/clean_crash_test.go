package segment

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// stepFS calls after behind every operation that changes something.
type stepFS struct {
	vfs.FS
	after func(what string)
}

func (f *stepFS) OpenFile(name string, flag int) (vfs.File, error) {
	g, err := f.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	if flag&os.O_CREATE != 0 {
		f.after("create " + name)
	}
	return &stepFile{g, f, name}, nil
}

func (f *stepFS) Rename(from, to string) error {
	defer f.after("rename " + from)
	return f.FS.Rename(from, to)
}

func (f *stepFS) Remove(name string) error {
	defer f.after("remove " + name)
	return f.FS.Remove(name)
}

func (f *stepFS) SyncDir(name string) error {
	defer f.after("sync directory " + name)
	return f.FS.SyncDir(name)
}

type stepFile struct {
	vfs.File
	fs   *stepFS
	name string
}

func (f *stepFile) WriteAt(p []byte, off int64) (int, error) {
	defer f.fs.after("write " + f.name)
	return f.File.WriteAt(p, off)
}

func (f *stepFile) Truncate(size int64) error {
	defer f.fs.after("truncate " + f.name)
	return f.File.Truncate(size)
}

func (f *stepFile) SyncData() error {
	defer f.fs.after("sync " + f.name)
	return f.File.SyncData()
}

// fill appends so many batches, ends the transactions in them now and then, goes
// on into another segment, and syncs.
func (s *cleanScenario) fill(n int) {
	base := int64(-1)
	for i := 0; i < n || s.l.active().base == base; i++ {
		s.append()
		if i%6 == 5 || i >= n {
			s.endTransaction(11, record.Abort)
			s.endTransaction(12, record.Commit)
		}
		if i == n-1 {
			base = s.l.active().base
		}
	}
	syncLog(s.t, s.io, s.l)
}

// image is what a new process finds.
type image struct {
	what string
	mem  *vfs.Mem
}

// A kill or a power cut at any step of a cleaning leaves for each group of
// segments the old batches or the new ones, the new ones first in the log, and
// a second start finds what the first one left.
func TestCrashAtEveryStepOfACleaning(t *testing.T) {
	merged := 0
	for seed := range max(histories(5), 2) {
		s := newCleanScenario(t, 500+seed)
		s.cfg.SegmentBytes = 1500
		var images []image
		step := &stepFS{after: func(string) {}}
		s.fs = func(m *vfs.Mem) vfs.FS { step.FS = m; return step }
		s.mem = s.mem.KillClone()
		s.openLog()
		s.fill(50)
		if seed%2 == 0 { // a second pass, over segments that were cleaned before
			s.clean()
			s.fill(20)
		}
		s.now += 5000
		s.cfg.SegmentBytes = 3000 // so that segments are joined
		s.l.SetConfig(s.cfg)
		before, segments := readAll(t, s.l, 0, 1000), s.l.SegmentCount()
		var mu sync.Mutex // the reaper works meanwhile
		cleaning := true
		step.after = func(what string) {
			mu.Lock()
			defer mu.Unlock()
			if !cleaning {
				return
			}
			images = append(images, image{what + ", kill", s.mem.KillClone()})
			for range 2 {
				images = append(images, image{what + ", power cut", s.mem.CrashClone(s.rng)})
			}
		}
		got, err := s.l.Clean(s.options())
		mu.Lock()
		cleaning = false
		mu.Unlock()
		if err != nil || got.Segments == 0 {
			t.Fatalf("seed %d: %+v, %v", seed, got, err)
		}
		after := readAll(t, s.l, 0, 1000)
		groups := basesOf(s.l)
		merged += segments - len(groups)
		s.cleaned(s.now)
		s.verify("after the pass")
		for i, img := range images {
			when := fmt.Sprintf("seed %d step %d of %d, %s", seed, i, len(images), img.what)
			first := checkImage(t, when, img.mem, s.cfg, s.end, groups, before, after)
			again := img.mem.KillClone()
			if second := checkImage(t, when+", a second time", again, s.cfg, s.end, groups, before, after); first != second {
				t.Fatalf("%s: the second start left other bytes", when)
			}
		}
		s.io.Close()
	}
	if merged <= 0 {
		t.Error("no segments were joined")
	}
}

func basesOf(l *Log) []int64 {
	var out []int64
	for _, s := range l.segmentList() {
		out = append(out, s.base)
	}
	return out
}

// checkImage opens an image and returns what is in its .log files.
func checkImage(t *testing.T, when string, mem *vfs.Mem, cfg Config, end int64, groups []int64, before, after []record.Batch) (logs string) {
	t.Helper()
	var said bytes.Buffer
	d, err := OpenDir(mem, "/data", testIdent, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	l, rep, err := d.OpenLog(testTP, testTopic, cfg)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if rep.CutBytes > 0 || rep.Damaged() || l.EndOffset() != end || l.StartOffset() != 0 {
		t.Fatalf("%s: offsets %d to %d; %+v", when, l.StartOffset(), l.EndOffset(), rep)
	}
	got := readAll(t, l, 0, 1000)
	if said.Len() > 0 && !strings.Contains(when, "power cut") { // a kill leaves no damage
		t.Fatalf("%s: the start says %s", when, said.String())
	}
	old := false
	for i, base := range groups {
		next := end
		if i+1 < len(groups) {
			next = groups[i+1]
		}
		have, was, is := within(got, base, next), within(before, base, next), within(after, base, next)
		switch {
		case bytes.Equal(have, is) && (!old || bytes.Equal(was, is)):
		case bytes.Equal(have, was):
			old = true
		default:
			t.Fatalf("%s: the segments from %d to %d are neither the old nor the new ones, or the new ones behind old ones", when, base, next)
		}
	}
	es, err := mem.ReadDir("/data/" + testTP.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if strings.HasSuffix(e.Name, cleanedSuffix) || strings.HasSuffix(e.Name, swapSuffix) {
			t.Fatalf("%s: %s is left", when, e.Name)
		}
		if strings.HasSuffix(e.Name, logSuffix) {
			b, _ := vfs.ReadFile(mem, "/data/"+testTP.String()+"/"+e.Name)
			logs += e.Name + string(b)
		}
	}
	return logs
}

func within(batches []record.Batch, base, end int64) []byte {
	var out []byte
	for _, b := range batches {
		if b.BaseOffset() >= base && b.BaseOffset() < end {
			out = append(out, b...)
		}
	}
	return out
}

// A disk that fails at any step ends the pass with an error; the log goes on,
// and a later pass and a later start are none the worse.
func TestDiskFailsDuringACleaning(t *testing.T) {
	rules := []vfs.Rule{
		{Op: vfs.OpOpen, Pattern: "*.cleaned"}, {Op: vfs.OpWrite, Pattern: "*.log.cleaned"}, {Op: vfs.OpSync, Pattern: "*.log.cleaned"},
		{Op: vfs.OpWrite, Pattern: "*.index.cleaned"}, {Op: vfs.OpOpen, Pattern: "*.index.cleaned"}, {Op: vfs.OpWrite, Pattern: "*.swap.tmp"},
		{Op: vfs.OpSync, Pattern: "*.swap.tmp"}, {Op: vfs.OpRename, Pattern: "*.swap.tmp"}, {Op: vfs.OpRename, Pattern: "*.log.cleaned"},
		{Op: vfs.OpRename, Pattern: "*.index.cleaned"}, {Op: vfs.OpRename, Pattern: "*.log"}, {Op: vfs.OpRemove, Pattern: "*.index"},
		{Op: vfs.OpRemove, Pattern: "*.swap"}, {Op: vfs.OpSyncDir, Pattern: "orders-3"}, {Op: vfs.OpSyncDir, Pattern: "orders-3", After: 1},
		{Op: vfs.OpRead, Pattern: "*.log", After: 3}, {Op: vfs.OpWrite, Pattern: pointsName}, {Op: vfs.OpWrite, Pattern: cleanedName},
	}
	behind := slices.IndexFunc(rules, func(r vfs.Rule) bool { return r.Op == vfs.OpSyncDir && r.After == 1 })
	for i, rule := range rules {
		s := newCleanScenario(t, 900+uint64(i))
		s.cfg.SegmentBytes = 1200
		var fault *vfs.Faulty
		s.fs = func(m *vfs.Mem) vfs.FS { fault = vfs.NewFaulty(m); return fault }
		s.mem = s.mem.KillClone()
		s.openLog()
		s.fill(50)
		s.cfg.SegmentBytes = 3000
		rule.Err, rule.Times = syscall.EIO, 1
		fault.Inject(rule)
		_, err := s.l.Clean(s.options())
		harmless := strings.Contains(rule.Pattern, "index.cleaned")
		if (err == nil) != harmless || err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("%s %s: %v", rule.Op, rule.Pattern, err)
		}
		fault.Heal()
		// That a directory's sync failed behind a replacement is final, as it is of
		// every sync: nothing may be removed on the strength of a second one.
		if offline := s.l.Err() != nil; offline != (rule.Op == vfs.OpSyncDir && i == behind) {
			t.Errorf("%s %s: the log is offline: %v", rule.Op, rule.Pattern, s.l.Err())
		} else if offline {
			s.mem = s.mem.KillClone()
			s.openLog()
		}
		crashed := s.mem.CrashClone(rand.New(rand.NewPCG(uint64(i), 1)))
		if rep := openImage(t, crashed, s.cfg); rep.CutBytes > 0 || rep.Damaged() {
			t.Errorf("%s %s: a power cut: %+v", rule.Op, rule.Pattern, rep)
		}
		if _, err := s.l.Clean(s.options()); err != nil { // whatever came through, this finds the rest
			t.Errorf("%s %s: the next pass: %v", rule.Op, rule.Pattern, err)
		}
		s.cleaned(s.now)
		s.verify(fmt.Sprintf("%s %s failed", rule.Op, rule.Pattern))
		s.mem = s.mem.KillClone()
		s.fs = func(m *vfs.Mem) vfs.FS { return m }
		s.openLog()
		s.verify(fmt.Sprintf("%s %s failed, and a start", rule.Op, rule.Pattern))
		s.io.Close()
	}
}

func openImage(t *testing.T, mem *vfs.Mem, cfg Config) RecoveryReport {
	t.Helper()
	_, rep, err := openDir(t, mem, "/data").OpenLog(testTP, testTopic, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
