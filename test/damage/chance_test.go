package damage

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmain/record"
	"ringmain/test/harness"
)

var (
	chances = flag.Int("chances", 60, "how many random damages TestAnyFileIsDamaged makes")
	seed    = flag.Uint64("seed", 1, "of these damages; each one has its own, counted from here")
)

// A random file of a directory that has all kinds of them is damaged at a random place. The
// next start serves, or is refused with a sentence that names the file. What is served is
// what was acknowledged, at its offset; what is not is named in the log, and log verify has
// found the damage before.
func TestAnyFileIsDamaged(t *testing.T) {
	begin := time.Now()
	left := []assorted{fillAssorted(t, false), fillAssorted(t, true)}
	t.Logf("filled in %v", time.Since(begin))
	for i := range *chances {
		s := *seed + uint64(i)
		t.Run(fmt.Sprintf("seed %d", s), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(s, 3))
			a := left[rng.IntN(len(left))]
			dir := filepath.Join(t.TempDir(), "data")
			copyTree(t, a.dir, dir)
			h := strike(t, dir, rng)
			t.Logf("killed %v: %v", a.killed, h)
			h.judge(t, a, dir)
		})
	}
}

// hit is a damage that was done.
type hit struct {
	files  []string // one, or two that were swapped; paths in the directory
	change string
	same   bool // the files are as they were
}

func (h hit) String() string { return h.change + " " + strings.Join(h.files, " and ") }

// kind is what a file is for.
func kind(path string) string {
	name := filepath.Base(path)
	if strings.HasPrefix(path, "__cluster_metadata") {
		return "metadata " + filepath.Ext(name) + name[:1]
	}
	if i := strings.IndexByte(name, '.'); i == 20 {
		return name[i:]
	}
	return name
}

// strike damages a file: the kind first, so that the rare ones have their turn.
func strike(t *testing.T, dir string, rng *rand.Rand) hit {
	t.Helper()
	byKind := map[string][]string{}
	var kinds []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		k := kind(rel)
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	k := kinds[rng.IntN(len(kinds))]
	if rng.IntN(3) == 0 {
		k = ".log"
	}
	files := byKind[k]
	h := hit{files: []string{files[rng.IntN(len(files))]}}
	path := filepath.Join(dir, h.files[0])
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := string(b)
	at := 0
	if len(b) > 0 {
		at = rng.IntN(len(b))
	}
	switch n := rng.IntN(6); {
	case n == 0 && len(b) > 0:
		h.change = fmt.Sprintf("flip at %d of", at)
		b[at] ^= 1 << rng.IntN(8)
	case n == 1 && len(b) > 0:
		h.change = fmt.Sprintf("cut at %d", at)
		b = b[:at]
	case n == 2 && len(b) > 0:
		to := min(len(b), at+1+rng.IntN(4096))
		h.change = fmt.Sprintf("zero from %d to %d", at, to)
		clear(b[at:to])
	case n == 3:
		h.change = "remove"
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return h
	case n == 4 && len(files) > 1:
		other := files[rng.IntN(len(files))]
		h.files, h.change = append(h.files, other), "swap"
		theirs, err := os.ReadFile(filepath.Join(dir, other))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, other), b, 0o644); err != nil {
			t.Fatal(err)
		}
		b = theirs
	default:
		h.change = "append foreign bytes to"
		junk := make([]byte, 1+rng.IntN(5000))
		for i := range junk {
			junk[i] = byte(rng.Uint32())
		}
		b = append(b, junk...)
	}
	h.same = string(b) == before
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// named tells whether a text has the name of one of the files, or of their directory where a
// file is missing.
func (h hit) named(text string) bool {
	return slices.ContainsFunc(h.files, func(f string) bool {
		stem := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		return strings.Contains(text, f) || strings.Contains(text, filepath.Join(filepath.Dir(f), stem)) ||
			filepath.Dir(f) != "." && strings.Contains(text, filepath.Dir(f))
	})
}

// matters tells whether somebody has to know of it: not of what is made again without a
// loss, and what looks like another sound state.
func (h hit) matters() bool {
	k := kind(h.files[0])
	return !h.same && (k == ".log" || h.change != "remove" && slices.Contains([]string{".index", ".snapshot", "partition.metadata",
		"leader-epoch-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"}, k))
}

func (h hit) judge(t *testing.T, a assorted, dir string) {
	found := command(t, "verify", "--data-dir", dir, "--output", "json")
	seen := found.code == 1 && h.named(found.String())
	if h.matters() && !a.killed && !seen { // what a kill has left may be cut or old at its end
		t.Errorf("verify: %v", found)
	}
	b, err := harness.Launch(harness.Options{DataDir: dir, Overrides: assortedOverrides})
	if err != nil {
		if said := err.Error(); !h.named(said) || strings.Contains(said, "panic") || strings.Contains(said, "no ready line within") {
			t.Errorf("the refused start does not name the file: %v", err)
		}
		torn := a.killed && kind(h.files[0]) == "metadata .raft0" // cut, it may have been torn
		if !seen && !torn && kind(h.files[0]) != "ringmain.properties" && !strings.Contains(found.stderr, h.files[0]) {
			t.Errorf("the start is refused: %v\nverify: %v", err, found)
		}
		return
	}
	defer b.Close()
	partitions := make([]part, 0, len(a.acked))
	for p := range a.acked {
		partitions = append(partitions, p)
	}
	slices.SortFunc(partitions, func(p, q part) int { return strings.Compare(p.String(), q.String()) })
	missing := map[part][]int64{}
	for _, p := range partitions {
		got := readOn(t, b.Addr(), p, a.acked[p])
		missing[p] = slices.DeleteFunc(got.missing(a.acked[p]), func(o int64) bool { return p == compacted && !a.kept[o] })
		batch := record.NewBuilder().Add(time.Now().UnixMilli(), []byte("key"), []byte("value")).Build()
		if at, code := tryProduce(t, dial(t, b.Addr()), p, batch); code == 0 && at < a.acked[p] && !a.killed {
			t.Errorf("%v gives offset %d of %d again", p, at, a.acked[p])
		}
	}
	if err := b.Stop(); err != nil { // and everything is said
		t.Error(err)
	}
	said := b.Stderr()
	if strings.Contains(said, "panic") {
		t.Errorf("it panicked:\n%s", said)
	}
	for _, p := range partitions {
		lost := missing[p]
		if len(lost) == 0 {
			continue
		}
		if !seen && !a.killed {
			t.Errorf("%v: the records at %v are not served; verify: %v", p, lost, found)
		}
		if !h.named(said) {
			t.Errorf("%v: the records at %v are not served, and the log names nothing:\n%s", p, lost, said)
		}
		if a.killed && kind(h.files[0]) == "metadata .raft0" && strings.Contains(said, p.String()) {
			continue // cut, it may have been torn: what it does not know is set aside
		}
		if !slices.ContainsFunc(h.files, func(f string) bool { return strings.HasPrefix(f, p.String()+"/") || !strings.Contains(f, "/") }) {
			t.Errorf("%v is not damaged, and the records at %v are not served", p, lost)
		}
	}
}

// readOn reads a partition as a consumer does that steps over refused offsets.
func readOn(t *testing.T, addr string, p part, end int64) seen {
	t.Helper()
	c := dial(t, addr)
	s := seen{map[int64]bool{}, map[int64]int16{}}
	for offset := int64(0); offset < end; {
		got := fetch(t, c, p, offset)
		if got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
			s.codes[offset] = got.ErrorCode
			offset++
			continue
		}
		s.take(t, p, offset, got.RecordBatches)
		next := offset
		for bs := got.RecordBatches; len(bs) > 0; {
			b, err := record.First(bs)
			if err != nil {
				break // take has said so
			}
			if b.LastOffset() < next {
				t.Errorf("fetch %v at %d: a batch that ends at %d comes behind offset %d", p, offset, b.LastOffset(), next)
			}
			next, bs = b.LastOffset()+1, bs[b.Size():]
		}
		offset = max(next, offset+1)
	}
	return s
}

func (s seen) missing(end int64) (out []int64) {
	for o := range end {
		if !s.got[o] {
			out = append(out, o)
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
