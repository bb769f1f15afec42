package controller

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// checkpointsKept is how many checkpoints stay. The log keeps all entries after
// the older one, so that when the newest turns out to be damaged, it can be
// taken away without losing anything.
const checkpointsKept = 2

// checkpointStore is raft's snapshot store.
type checkpointStore struct {
	fs    vfs.FS
	dir   string
	log   *slog.Logger
	fault *fault

	// oldest is the index of the oldest checkpoint that is kept, 0 for none.
	oldest atomic.Uint64
}

var _ raft.SnapshotStore = (*checkpointStore)(nil)

func openCheckpointStore(fsys vfs.FS, dir string, log *slog.Logger, f *fault) (*checkpointStore, error) {
	s := &checkpointStore{fs: fsys, dir: dir, log: log, fault: f}
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	s.noteOldest(names)
	return s, nil
}

// noteOldest remembers what keepAfter tells the log. With one checkpoint only,
// the log is kept whole: there is nothing to fall back to yet.
func (s *checkpointStore) noteOldest(names []string) {
	if len(names) < checkpointsKept {
		s.oldest.Store(0)
		return
	}
	index, _, _ := parseCheckpointName(names[checkpointsKept-1])
	s.oldest.Store(index)
}

// keepAfter is the index up to which the log may forget its entries.
func (s *checkpointStore) keepAfter() uint64 { return s.oldest.Load() }

// names lists the checkpoints, newest first.
func (s *checkpointStore) names() ([]string, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, _, ok := parseCheckpointName(e.Name); ok && !e.IsDir {
			names = append(names, e.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { // terms may have more digits than are padded
		ai, at, _ := parseCheckpointName(a)
		bi, bt, _ := parseCheckpointName(b)
		if ai != bi {
			return compare(bi, ai)
		}
		return compare(bt, at)
	})
	return names, nil
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// List returns the newest checkpoint. raft uses no other.
func (s *checkpointStore) List() ([]*raft.SnapshotMeta, error) {
	names, err := s.names()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	f, m, _, _, err := s.openFile(names[0])
	if err != nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{m}, f.Close()
}

func (s *checkpointStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	f, m, at, crc, err := s.openFile(id)
	if err != nil {
		return nil, nil, err
	}
	return m, &checkpointBody{file: f, path: filepath.Join(s.dir, id), at: at, left: m.Size, want: crc}, nil
}

func (s *checkpointStore) openFile(name string) (f vfs.File, m *raft.SnapshotMeta, bodyAt int64, crc uint32, err error) {
	path := filepath.Join(s.dir, name)
	if f, err = s.fs.OpenFile(path, os.O_RDONLY); err != nil {
		return nil, nil, 0, 0, err
	}
	if m, bodyAt, crc, err = readCheckpointMeta(f, path, name); err != nil {
		f.Close()
		return nil, nil, 0, 0, err
	}
	return f, m, bodyAt, crc, nil
}

// newest reads the newest checkpoint, verified to its last byte. Without one,
// meta is nil and the image empty.
func (s *checkpointStore) newest() (meta *raft.SnapshotMeta, img *metadata.Image, err error) {
	names, err := s.names()
	if err != nil || len(names) == 0 {
		return nil, metadata.Empty(), err
	}
	path := filepath.Join(s.dir, names[0])
	meta, img, err = s.read(names[0])
	if err != nil && len(names) > 1 {
		return nil, nil, fmt.Errorf("%w (the checkpoint before, %s, and the log after it hold the same: move the damaged file away to use them)",
			err, filepath.Join(s.dir, names[1]))
	}
	if err != nil {
		return nil, nil, err
	}
	if img.Offset() > int64(meta.Index) {
		return nil, nil, damaged(path, 0, "the image includes entry %d, the checkpoint ends at %d", img.Offset(), meta.Index)
	}
	return meta, img, nil
}

func (s *checkpointStore) read(name string) (*raft.SnapshotMeta, *metadata.Image, error) {
	path := filepath.Join(s.dir, name)
	meta, body, err := s.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	in := bufio.NewReaderSize(body, 64<<10)
	img, err := metadata.ReadSnapshot(in)
	if errors.Is(err, ErrNewer) {
		return nil, nil, fmt.Errorf("the image in %s: %w", path, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the image in %s: %w", ErrDamaged, path, err)
	}
	if n, err := io.Copy(io.Discard, in); err != nil || n > 0 { // reaching the end compares the checksum
		if err == nil {
			err = damaged(path, meta.Size-n, "%d bytes follow the image", n)
		}
		return nil, nil, err
	}
	return meta, img, nil
}

func (s *checkpointStore) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("raft asks for a snapshot of version %d, version 1 is what we write", version)
	}
	if err := s.fault.check(); err != nil {
		return nil, err
	}
	name := checkpointName(index, term)
	tmp := filepath.Join(s.dir, name+".tmp")
	f, err := s.fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("%w: begin a checkpoint: %w", ErrStorage, err)
	}
	sink := &checkpointSink{store: s, file: f, name: name, tmp: tmp}
	sink.out = bufio.NewWriterSize(&fileAppender{file: f, at: &sink.at}, 64<<10)
	sink.out.Write(encodeCheckpointHeader(&raft.SnapshotMeta{Index: index, Term: term, Configuration: conf, ConfigurationIndex: confIndex}))
	return sink, nil
}

// fileAppender writes one piece after the other.
type fileAppender struct {
	file vfs.File
	at   *int64
}

func (a *fileAppender) Write(b []byte) (int, error) {
	n, err := a.file.WriteAt(b, *a.at)
	*a.at += int64(n)
	return n, err
}

// checkpointSink is a checkpoint that is being written.
type checkpointSink struct {
	store *checkpointStore
	file  vfs.File
	name  string
	tmp   string
	out   *bufio.Writer
	at    int64
	size  uint64
	crc   uint32
	done  bool
	err   error
}

func (k *checkpointSink) ID() string { return k.name }

func (k *checkpointSink) Write(b []byte) (int, error) {
	n, err := k.out.Write(b)
	k.crc = crc32.Update(k.crc, castagnoli, b[:n])
	k.size += uint64(n)
	return n, err
}

// Close makes the checkpoint durable and gives it its name. raft calls it a
// second time, which repeats the answer.
func (k *checkpointSink) Close() error {
	if k.done {
		return k.err
	}
	k.done = true
	trailer := binary.BigEndian.AppendUint64(nil, k.size)
	trailer = binary.BigEndian.AppendUint32(trailer, k.crc)
	trailer = binary.BigEndian.AppendUint32(trailer, crc32.Checksum(trailer, castagnoli))
	k.out.Write(trailer)
	k.err = k.out.Flush()
	if k.err == nil {
		k.err = k.file.SyncData()
	}
	if err := k.file.Close(); k.err == nil {
		k.err = err
	}
	s := k.store
	if k.err == nil {
		k.err = s.fs.Rename(k.tmp, filepath.Join(s.dir, k.name))
	}
	if k.err != nil {
		s.fs.Remove(k.tmp)
		k.err = fmt.Errorf("%w: write checkpoint %s: %w", ErrStorage, k.name, k.err)
		return k.err
	}
	if err := s.fs.SyncDir(s.dir); err != nil {
		k.err = s.fault.set("sync "+s.dir, err)
		return k.err
	}
	s.prune()
	return nil
}

func (k *checkpointSink) Cancel() error {
	if k.done {
		return k.err
	}
	k.done = true
	k.err = fmt.Errorf("checkpoint %s was given up", k.name)
	k.file.Close()
	return k.store.fs.Remove(k.tmp)
}

// prune removes the checkpoints that are not kept.
func (s *checkpointStore) prune() {
	names, err := s.names()
	if err != nil {
		s.log.Warn("list metadata checkpoints", "error", err)
		return
	}
	for _, name := range names[min(len(names), checkpointsKept):] {
		if err := s.fs.Remove(filepath.Join(s.dir, name)); err != nil {
			s.log.Warn("remove an old metadata checkpoint", "file", name, "error", err)
		}
	}
	s.noteOldest(names)
}
