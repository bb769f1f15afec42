package damage

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"ringmain/test/harness"
)

// A disk that changes bytes while the broker runs: what comes from it is checked
// although this process wrote it.
func TestColdReadOfAChangedDisk(t *testing.T) {
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: overrides})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(context.Background(), 2, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	c := dial(t, b.Addr())
	for _, p := range parts[:2] {
		for i := range batchesEach {
			append1(t, c, p, int64(i*recordsEach), recordsEach, 1_700_000_000_000+int64(i)*10, -1)
		}
		if s := readAll(t, b.Addr(), p); len(s.got) != endOffset {
			t.Fatalf("%v: %d records", p, len(s.got))
		}
	}
	path := filepath.Join(b.DataDir(), "orders-0", "00000000000000000050.log")
	edit(func(b []byte) []byte { b[len(b)/2+1000] ^= 1; return b })(t, path) // in the sixth batch's records
	second := filepath.Join(b.DataDir(), "orders-0", "00000000000000000100.log")
	flipHalf()(t, second) // in the sixth batch's offset, which has no checksum
	evict(t, path)
	evict(t, second)
	s := readAll(t, b.Addr(), parts[0])
	if len(s.got) != endOffset-2*recordsEach || len(s.codes) != 2 || s.codes[75] != 2 || s.codes[125] != 2 {
		t.Errorf("%d of %d records are served, codes %v; want all but those of two batches, CORRUPT_MESSAGE at 75 and 125", len(s.got), endOffset, s.codes)
	}
	if s := readAll(t, b.Addr(), parts[1]); len(s.got) != endOffset {
		t.Errorf("of the other partition %d records are served", len(s.got))
	}
	if at := append1(t, c, parts[0], endOffset, 1, 1_700_000_000_000, -1); at != endOffset {
		t.Errorf("the next record is at %d", at)
	}
	said := b.Stderr()
	for _, piece := range []string{path, "position=25", "offset=75", "offset=125", "checksum is", "partition=orders-0", "level=ERROR"} {
		if !strings.Contains(said, piece) {
			t.Errorf("the log lacks %q:\n%s", piece, said)
		}
	}
	if n := strings.Count(said, "checksum is"); n != 1 {
		t.Errorf("the place is named %d times within a minute", n)
	}
	resp, err := http.Get("http://" + b.Ready("http") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || strings.Contains(string(text), "\nringmain_corrupt_reads_total 0\n") || !strings.Contains(string(text), "\nringmain_corrupt_reads_total ") {
		t.Error("the metrics do not count it")
	}
}

// evict takes a file out of the page cache. The kernel keeps pages that somebody is
// just writing back or looking at, so it is asked until none is left.
func evict(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		left := resident(t, f)
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d pages of %s stay in the page cache", left, path)
		}
	}
}

// resident is how many pages of a file are in the page cache.
func resident(t *testing.T, f *os.File) (pages int) {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_NONE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	in := make([]byte, (len(m)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, page := range in {
		pages += int(page & 1)
	}
	return pages
}
