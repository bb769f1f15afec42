package segment

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// A round larger than any table or ring: hundreds of files, one of them with
// more buffers than one system call takes.
func TestLargeRounds(t *testing.T) {
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			const files, many = 300, 2500
			d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
			defer d.Close()
			io := be.make()
			defer io.Close()
			var logs []*Log
			want := make([][]byte, files)
			for i := range files {
				l, _, err := d.OpenLog(model.TopicPartition{Topic: "round", Partition: int32(i)}, testTopic, DefaultConfig())
				if err != nil {
					t.Fatal(err)
				}
				logs = append(logs, l)
				n := 1 + i%3
				if i == 7 {
					n = many
				}
				for k := range n {
					b := batchOf(t0, 1, (i+k)%50)
					if _, err := l.Stage(b, 0, t0, t0); err != nil {
						t.Fatal(err)
					}
					want[i] = append(want[i], b...)
				}
			}
			if errs := Flush(io, logs); errs != nil {
				t.Fatal(errs)
			}
			var fs []Dirty
			for _, l := range logs {
				fs, _ = l.BeginSync(fs)
			}
			if errs := io.Sync(filesOf(nil, fs)); errs != nil || len(fs) != files {
				t.Fatal(len(fs), errs)
			}
			for i, l := range logs {
				l.EndSync(l.EndOffset(), false, nil)
				got, err := os.ReadFile(l.Path() + "/" + offsetName(0, logSuffix))
				if err != nil || !bytes.Equal(got, want[i]) {
					t.Fatalf("file %d: %d bytes, want %d, %v", i, len(got), len(want[i]), err)
				}
				if l.SyncedOffset() != l.EndOffset() {
					t.Errorf("file %d: synced %d of %d", i, l.SyncedOffset(), l.EndOffset())
				}
				l.Close()
			}
		})
	})
}

func BenchmarkGroupSync(b *testing.B) {
	for _, be := range backends {
		for _, n := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/files=%d", be.name, n), func(b *testing.B) {
				d := openDir(b, vfs.OS{}, b.TempDir()+"/data")
				defer d.Close()
				io := be.make()
				defer io.Close()
				var logs []*Log
				for i := range n {
					l, _, err := d.OpenLog(model.TopicPartition{Topic: "sync", Partition: int32(i)}, testTopic, DefaultConfig())
					if err != nil {
						b.Fatal(err)
					}
					logs = append(logs, l)
				}
				batch := batchOf(t0, 1, 16<<10)
				var fs []Dirty
				for b.Loop() {
					for _, l := range logs {
						l.Stage(batch, 0, t0, t0)
					}
					if errs := Flush(io, logs); errs != nil {
						b.Fatal(errs)
					}
					fs = fs[:0]
					for _, l := range logs {
						fs, _ = l.BeginSync(fs)
					}
					if errs := io.Sync(filesOf(nil, fs)); errs != nil {
						b.Fatal(errs)
					}
					for _, l := range logs {
						l.EndSync(l.EndOffset(), false, nil)
					}
				}
			})
		}
	}
}

// onceFailing is a file whose write-back error is told to the first sync that ends, as the
// system tells it once for each descriptor.
type onceFailing struct {
	vfs.File
	begun chan struct{}
	gate  chan struct{}
	told  *atomic.Bool
}

func (f onceFailing) SyncData() error {
	f.begun <- struct{}{}
	<-f.gate
	if f.told.CompareAndSwap(false, true) {
		return syscall.EIO
	}
	return nil
}

// TestAFailedSyncIsToldToEverySync of the file: to one that was asked for meanwhile, from another
// backend, and to those that come later.
func TestAFailedSyncIsToldToEverySync(t *testing.T) {
	h := &home{fs: vfs.OS{}, budget: NewFileBudget(16), path: t.TempDir()}
	f := newFile(h, 0, logSuffix)
	if err := f.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	good := f.f
	defer func() { f.f = good }()
	bad := onceFailing{good, make(chan struct{}, 2), make(chan struct{}), &atomic.Bool{}}
	f.f = bad
	results := make(chan []error, 2)
	for range 2 {
		go func() {
			io := testIO()
			defer io.Close()
			results <- io.Sync([]*File{f})
		}()
	}
	<-bad.begun
	close(bad.gate)
	for range 2 {
		if errs := <-results; len(errs) != 1 || !errors.Is(errs[0], syscall.EIO) {
			t.Errorf("one of two syncs at once says %v, want EIO from both", errs)
		}
	}
	if err := f.syncData(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a later sync says %v, want EIO for ever", err)
	}
}
