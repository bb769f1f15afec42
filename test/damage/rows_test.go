package damage

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmain/test/harness"
)

// What a start does with a damaged directory.
type start int

const (
	serves  start = iota // every partition, apart from what is damaged
	offline              // a partition of orders is KAFKA_STORAGE_ERROR
	refused              // there is none
)

// row is one kind of damage to one file.
type row struct {
	name   string
	where  place
	change change
	start  start
	// loses says that records of orders-0 are gone for good.
	loses bool
	// withheld says that records are not served before a repair, which brings them back.
	withheld bool
	// byHand says that repair cannot mend it.
	byHand bool
	// says is what a refused start says in place of the file's name.
	says string
	// unknown says that verify finds nothing: it does not matter, and another
	// state would look the same.
	unknown bool
	// both says that the same file of orders-1 is damaged as well.
	both bool
}

// hits tells whether a partition is damaged.
func (r row) hits(p part) bool { return p == o0 || r.both && p == parts[1] }

var (
	o0       = parts[0]
	closed   = nth(o0, ".log", 1)
	newest   = nth(o0, ".log", -1)
	index    = nth(o0, ".index", 1)
	lastIdx  = nth(o0, ".index", -1)
	snapshot = nth(o0, ".snapshot", -1)
	history  = fixed("orders-0/leader-epoch-checkpoint")
	owner    = fixed("orders-0/partition.metadata")
	points   = fixed("recovery-point-offset-checkpoint")
	identity = fixed("ringmain.properties")
	roster   = fixed("log-directories")
	quorum   = fixed("__cluster_metadata/quorum-state")
	raft     = fixed("__cluster_metadata/00000000000000000001.raft")
)

var rows = []row{
	{name: "data flipped", where: closed, change: flipHalf(), loses: true},
	{name: "data first batch flipped", where: closed, change: flipAt(100), loses: true},
	{name: "data length flipped", where: closed, change: flipAt(9), loses: true},
	{name: "data offset flipped", where: closed, change: flipAt(7), loses: true},
	{name: "data epoch flipped", where: closed, change: flipAt(15), withheld: true},
	{name: "data epoch of a later batch flipped", where: closed, change: flipEpoch(4), withheld: true},
	{name: "data epoch of the newest segment flipped", where: newest, change: flipEpoch(1), withheld: true},
	{name: "data last epoch flipped", where: newest, change: flipEpoch(-1), withheld: true},
	{name: "data newest segment flipped", where: newest, change: flipHalf(), loses: true},
	{name: "data last batch flipped", where: newest, change: flipAt(-10), loses: true},
	{name: "data cut", where: closed, change: cut(55), loses: true},
	{name: "data newest segment cut", where: newest, change: cut(55), loses: true},
	{name: "data a byte short", where: newest, change: cutBytes(1), loses: true},
	{name: "data emptied", where: closed, change: cut(0), loses: true},
	{name: "data zeros behind", where: closed, change: zeros(5000)},
	{name: "data zeros behind the newest", where: newest, change: zeros(5000)},
	{name: "data end zeroed", where: closed, change: zeroEnd(30), loses: true},
	{name: "data end of the newest zeroed", where: newest, change: zeroEnd(30), loses: true},
	{name: "data missing", where: closed, change: remove, loses: true},
	{name: "data first missing", where: nth(o0, ".log", 0), change: remove, loses: true},
	{name: "data newest missing", where: newest, change: remove, loses: true},
	{name: "data of another partition", where: closed, change: edited(copied("orders-0", "orders-1")), loses: true},
	{name: "data of two segments swapped", where: nth(o0, ".log", 2), change: swap("00000000000000000100.log", "00000000000000000150.log"), loses: true},
	{name: "data swapped with another partition's", where: closed, change: exchanged(".log"), loses: true, both: true},
	{name: "data and index swapped with another partition's", where: closed, change: exchanged(".log", ".index"), loses: true, both: true},
	{name: "data with index and snapshot swapped with another partition's", where: closed, change: exchanged(".log", ".index", ".snapshot"), loses: true, both: true},
	{name: "data newest swapped with another partition's", where: newest, change: exchanged(".log"), loses: true, both: true},
	{name: "data newest and index swapped with another partition's", where: newest, change: exchanged(".log", ".index"), start: offline, loses: true, both: true},
	{name: "data newest with index and snapshot swapped with another partition's", where: newest, change: exchanged(".log", ".index", ".snapshot"), start: offline, loses: true, both: true},
	{name: "data newest of another partition", where: newest, change: edited(copied("orders-0", "orders-1")), start: offline, loses: true},

	{name: "index flipped", where: index, change: flipAt(100)},
	{name: "index header flipped", where: index, change: flipAt(40)},
	{name: "index cut", where: index, change: cut(50)},
	{name: "index zeros behind", where: index, change: zeros(500)},
	{name: "index zeroed", where: index, change: zeroEnd(100)},
	{name: "index missing", where: index, change: remove},
	{name: "index of another topic", where: index, change: copied("orders-0", "other-0")},
	{name: "index swapped with another partition's", where: index, change: exchanged(".index"), both: true},
	{name: "index newest swapped with another partition's", where: lastIdx, change: exchanged(".index"), both: true},
	{name: "index newest flipped", where: lastIdx, change: flipAt(40)},
	{name: "index newest missing", where: lastIdx, change: remove, unknown: true},

	{name: "snapshot flipped", where: snapshot, change: flipHalf()},
	{name: "snapshot cut", where: snapshot, change: cut(50)},
	{name: "snapshot zeros behind", where: snapshot, change: zeros(100)},
	{name: "snapshot missing", where: snapshot, change: remove, unknown: true},
	{name: "snapshot of another topic", where: snapshot, change: copied("orders-0", "other-0")},

	{name: "snapshot swapped with another partition's", where: snapshot, change: exchanged(".snapshot"), both: true},

	{name: "epochs flipped", where: history, change: flipHalf()},
	{name: "epochs cut", where: history, change: cut(50)},
	{name: "epochs zeros behind", where: history, change: zeros(100)},
	{name: "epochs missing", where: history, change: remove},
	{name: "epochs of another topic", where: history, change: copied("orders-0", "other-0")},

	{name: "owner flipped", where: owner, change: flipHalf()},
	{name: "owner cut", where: owner, change: cut(50)},
	{name: "owner missing", where: owner, change: remove},
	{name: "owner of another partition", where: owner, change: copied("orders-0", "orders-1"), start: offline, byHand: true},
	{name: "directories of two partitions swapped", where: fixed("orders-0"), change: swap("orders-0", "orders-1"), start: offline, byHand: true},
	{name: "directories of two topics swapped", where: fixed("orders-0"), change: swap("orders-0", "other-0"), start: offline, byHand: true},
	{name: "directory missing", where: fixed("orders-0"), change: remove, loses: true},

	{name: "recovery points flipped", where: points, change: flipAt(30)},
	{name: "recovery points header flipped", where: points, change: flipAt(3)},
	{name: "recovery points cut", where: points, change: cutBytes(10)},
	{name: "recovery points zeros behind", where: points, change: zeros(100)},
	{name: "recovery points missing", where: points, change: remove, unknown: true},

	{name: "identity flipped", where: identity, change: flipAt(80), start: refused},
	{name: "identity cut", where: identity, change: cut(70), start: refused},
	{name: "identity missing", where: identity, change: remove, start: refused},
	{name: "log directories flipped", where: roster, change: flipHalf(), start: refused},
	{name: "log directories cut", where: roster, change: cut(50), start: refused},
	{name: "log directories missing", where: roster, change: remove},

	{name: "vote flipped", where: quorum, change: flipAt(60), start: refused, byHand: true},
	{name: "vote cut", where: quorum, change: cut(50), start: refused, byHand: true},
	{name: "vote missing", where: quorum, change: remove, start: refused, says: "the metadata is missing", byHand: true},
	{name: "metadata flipped", where: raft, change: flipHalf(), start: refused, byHand: true},
	{name: "metadata cut", where: raft, change: cut(80), start: refused, byHand: true},
	{name: "metadata zeros behind", where: raft, change: zeros(1000), start: refused, byHand: true},
	{name: "metadata missing", where: raft, change: remove, start: refused, byHand: true},
	{name: "metadata directory missing", where: fixed("__cluster_metadata"), change: remove, start: refused, byHand: true},
}

// edited makes a change and cuts a fifth off the result: files of two partitions
// are rarely of one size.
func edited(c change) change {
	return func(t *testing.T, path string) {
		c(t, path)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b[:len(b)/5*4], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamageIsFoundAndNeverServed(t *testing.T) {
	clean := filled(t, false)
	if v := command(t, "verify", "--data-dir", clean, "--output", "json"); v.code != 0 || len(v.Findings) > 0 {
		t.Fatalf("before any damage: %v", v)
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			copyTree(t, clean, dir)
			file := r.where(t, dir)
			r.change(t, filepath.Join(dir, file))
			r.check(t, dir, file)
		})
	}
}

func (r row) check(t *testing.T, dir, file string) {
	found := command(t, "verify", "--data-dir", dir, "--output", "json")
	if r.unknown != (found.code == 0) || !r.unknown && !found.names(file) && !found.names(strings.TrimSuffix(file, filepath.Ext(file))+".log") && !found.names(file+"/partition.metadata") {
		t.Errorf("verify: %v", found)
	}
	// A start, on a copy: it may mend what repair is to find.
	started := filepath.Join(t.TempDir(), "started")
	copyTree(t, dir, started)
	r.serve(t, started, file)

	fixed := command(t, "repair", "--data-dir", dir, "--yes", "--output", "json")
	if r.byHand {
		if fixed.code != 1 {
			t.Errorf("repair: %v", fixed)
		}
		return
	}
	if fixed.code != 0 || len(found.Findings) > 0 && !fixed.Repaired {
		t.Errorf("repair: %v", fixed)
	}
	if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 0 || len(v.Findings) > 0 {
		t.Errorf("verify after the repair: %v\nbefore it: %v", v, found)
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for _, p := range parts {
		s := readAll(t, b.Addr(), p)
		for o := range int64(endOffset) {
			if s.got[o] {
				continue
			}
			if !r.hits(p) || !r.loses || !lostNamed(found, p, o) {
				t.Errorf("after the repair %v at %d is gone, and nothing said so", p, o)
				break
			}
		}
		if r.loses && p == o0 && len(s.got) == endOffset {
			t.Errorf("nothing of %v is lost: the row damages nothing", p)
		}
		for o, code := range s.codes {
			if !r.hits(p) || code != 1 { // OFFSET_OUT_OF_RANGE, where the beginning is gone
				t.Errorf("after the repair %v at %d is code %d", p, o, code)
			}
		}
		if at := append1(t, dial(t, b.Addr()), p, -1, 1, 0, -1); at < endOffset {
			t.Errorf("after the repair %v gives offset %d to another record", p, at)
		}
	}
}

func lostNamed(v verdict, p part, offset int64) bool {
	return slices.ContainsFunc(v.Findings, func(f finding) bool {
		return f.From <= offset && offset < f.To && strings.Contains(f.File, p.String())
	})
}

// serve starts a broker on the damaged directory and reads everything.
func (r row) serve(t *testing.T, dir, file string) {
	if r.start == refused {
		refuse(t, dir, cmp.Or(r.says, filepath.Base(file)))
		return
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	failed := 0
	for _, p := range parts {
		s := readAll(t, b.Addr(), p)
		for o, code := range s.codes {
			failed++
			switch {
			case code == 56 && r.start == offline, code == 2 && r.hits(p), code == 1 && r.hits(p): // storage, corrupt, out of range
			default:
				t.Errorf("%v at %d is code %d", p, o, code)
			}
		}
		if r.start == serves && !r.hits(p) && len(s.got) != endOffset {
			t.Errorf("%v is not damaged, and %d of %d records are served", p, len(s.got), endOffset)
		}
		if p == o0 && r.withheld && len(s.got) != endOffset-recordsEach {
			t.Errorf("%v: %d of %d records are served, want all but a batch", p, len(s.got), endOffset)
		}
		if r.hits(p) && r.start == serves && !r.loses && !r.withheld && len(s.got) != endOffset {
			t.Errorf("%v lost nothing, and %d of %d records are served", p, len(s.got), endOffset)
		}
		if p == o0 && r.start == serves && len(s.got) < endOffset/2 && !strings.Contains(r.name, "missing") {
			t.Errorf("%v: %d of %d records are served", p, len(s.got), endOffset)
		}
	}
	if r.start == offline && failed == 0 {
		t.Error("no partition is offline")
	}
	if err := b.Stop(); err != nil {
		t.Error(err)
	}
	said := b.Stderr()
	if !r.unknown && !strings.Contains(said, strings.TrimSuffix(filepath.Base(file), ".index")) && !strings.Contains(said, filepath.Dir(file)) {
		t.Errorf("the log does not name %s:\n%s", file, said)
	}
	if strings.Contains(said, "panic") {
		t.Error("it panicked")
	}
}
