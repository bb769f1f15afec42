package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// keptSuffix marks a journal that was replayed and stays until the files it was
// replayed to are synced: what it holds may be nowhere else.
const keptSuffix = ".kept"

// replayJournals writes what the journals of the directory hold to the .log files, as
// far as these may lack it. It runs before any log is opened. unclean: the last process
// did not close its logs; otherwise there is nothing to replay. The files are synced and
// the journals removed behind the start, which need not wait for thousands of syncs; see
// settled.
func (d *Dir) replayJournals(unclean bool) error {
	es, err := d.fs.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	var kept, fresh []string
	for _, e := range es {
		switch {
		case e.IsDir || !strings.HasPrefix(e.Name, journalPrefix):
		case strings.HasSuffix(e.Name, keptSuffix):
			kept = append(kept, e.Name)
		default:
			fresh = append(fresh, e.Name)
		}
	}
	if len(kept)+len(fresh) == 0 {
		return nil
	}
	r := &replay{dir: d, homes: map[pointKey]bool{}, paths: map[segmentKey]string{}, files: map[string]vfs.File{}, walked: map[string]int64{}, strange: map[string]*DamageError{}}
	if unclean {
		for _, name := range append(kept, fresh...) { // the older ones first
			if err := r.journal(filepath.Join(d.path, name)); err != nil {
				r.close()
				return fmt.Errorf("replay journal %s: %w", filepath.Join(d.path, name), err)
			}
		}
	}
	d.strange = r.strange
	for _, name := range fresh { // the shards make new ones under these names
		to := name
		for n := 0; to == name || slices.Contains(kept, to); n++ {
			to = fmt.Sprintf("%s.%d%s", name, n, keptSuffix)
		}
		if err := d.fs.Rename(filepath.Join(d.path, name), filepath.Join(d.path, to)); err != nil {
			r.close()
			return fmt.Errorf("keep journal: %w", err)
		}
		kept = append(kept, to)
	}
	// Otherwise a new journal could take the old one's name after a power cut.
	if err := d.fs.SyncDir(d.path); err != nil {
		r.close()
		return fmt.Errorf("keep journals: %w", err)
	}
	d.settling = make(chan struct{})
	go func() {
		defer close(d.settling)
		d.settleErr = r.settle(kept)
		r.close()
		if d.settleErr != nil {
			d.log.Error("files written from a journal could not be synced; the journal stays for the next start", "error", d.settleErr)
		}
	}()
	return nil
}

// settled waits until no journal of an earlier process is there any more. Whoever takes
// bytes of a log back waits for it: a journal that came back after a crash would put
// them there again, over what was appended since.
func (d *Dir) settled() error {
	if d.settling == nil {
		return nil
	}
	<-d.settling
	return d.settleErr
}

// settle syncs what was written, many files at once, and removes the journals.
func (r *replay) settle(kept []string) error {
	work := make(chan string)
	errs := make(chan error, len(r.files))
	var workers sync.WaitGroup
	for range min(parallelSyncs, len(r.files)) {
		workers.Go(func() {
			for path := range work {
				if err := r.files[path].SyncData(); err != nil {
					errs <- fmt.Errorf("sync %s: %w", path, err)
				}
			}
		})
	}
	for path := range r.files {
		work <- path
	}
	close(work)
	workers.Wait()
	close(errs)
	var failed error
	for err := range errs {
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	d := r.dir
	for _, name := range kept {
		if err := d.fs.Remove(filepath.Join(d.path, name)); err != nil {
			return fmt.Errorf("remove journal: %w", err)
		}
	}
	if err := d.fs.SyncDir(d.path); err != nil {
		return fmt.Errorf("remove journals: %w", err)
	}
	if r.bytes > 0 {
		d.log.Info("journal replayed", "files", len(r.files), "bytes", r.bytes)
	}
	return nil
}

// journal writes the commits of one file to the .log files.
func (r *replay) journal(path string) error {
	d := r.dir
	f, err := d.fs.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	halves, err := readHalves(f)
	if errors.Is(err, errDamaged) && d.sameBoot && !hasJournalHead(f) {
		return nil // the process was killed while it made the file
	}
	if errors.Is(err, errDamaged) {
		// Its head is written last and synced before the first commit: there was none,
		// or the disk has lost it, and then recovery finds what the files hold.
		d.log.Warn("journal is damaged or was never finished, and is ignored; logs are checked without it", "file", path)
		return nil
	}
	if err != nil {
		return err
	}
	for _, h := range halves { // only to learn which is older
		at := h.at
		if _, _, err := h.next(); err != nil {
			return err
		}
		generation := h.generation
		h.rewind(at)
		h.generation = generation
	}
	if halves[0].generation > halves[1].generation {
		halves[0], halves[1] = halves[1], halves[0]
	}
	for _, h := range halves {
		for {
			c, ok, err := h.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			for i := range c.entries {
				if err := r.write(&c.entries[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// segmentKey names a segment of a partition.
type segmentKey struct {
	pointKey
	base int64
}

// replay writes entries to files.
type replay struct {
	dir   *Dir
	homes map[pointKey]bool // whether the partition's directory is that of the topic
	paths map[segmentKey]string
	files map[string]vfs.File
	// walked are the batches of files up to which their headers were read, so that they are
	// not read again for each entry.
	walked map[string]int64
	// strange are files that a process which was killed did not leave like this: they hold
	// another batch where an entry belongs.
	strange map[string]*DamageError
	bytes   int64
	buf     []byte
}

// write puts an entry where it belongs, unless it is known to be there, or its topic
// or segment is gone.
func (r *replay) write(e *entryRead) error {
	d := r.dir
	key := pointKey{e.topic, e.tp.Partition}
	p, ok := d.points.get(key)
	if ok {
		// What lies before the recovery point was synced in its own file, and may
		// have been cleaned since.
		if p.flags&pointRemoved != 0 || e.base < p.segBase || e.base == p.segBase && e.pos+int64(len(e.bytes)) <= p.pos {
			return nil
		}
	}
	cleaned, _ := d.cleaned.get(key)
	if e.base < cleaned.offset {
		return nil // nothing is cleaned that is not synced; the checkpoint's entry may be damaged
	}
	ours, known := r.homes[key]
	if !known {
		id, err := d.TopicIDOf(e.tp)
		ours = err == nil && id == e.topic
		r.homes[key] = ours
	}
	if !ours {
		return nil
	}
	path := r.paths[segmentKey{key, e.base}]
	if path == "" {
		path = offsetPath(filepath.Join(d.path, e.tp.String()), e.base, logSuffix)
		r.paths[segmentKey{key, e.base}] = path
	}
	f := r.files[path]
	if f == nil {
		var err error
		if f, err = d.fs.OpenFile(path, os.O_RDWR); isNotExist(err) {
			return nil // retention has taken it
		}
		if err != nil {
			return err
		}
		r.files[path] = f
		if d.sameBoot && ok && e.base == p.segBase {
			if err := r.begins(f, path, p.first); err != nil {
				return err
			}
		}
	}
	if d.sameBoot {
		if there, err := r.there(f, path, e); there || err != nil {
			return err
		}
	}
	r.bytes += int64(len(e.bytes))
	_, err := f.WriteAt(e.bytes, e.pos)
	return err
}

// begins compares the first batch of a file with what the checkpoint noted of it, 0 if
// nothing; see recovery.unmarked, which says so for files that no journal is written to.
func (r *replay) begins(f vfs.File, path string, noted uint16) error {
	size, err := f.Size()
	if err != nil || noted == 0 {
		return err
	}
	b, err := wholeAt(f, size, 0)
	if b != nil && mark(b.CRC()) != noted {
		r.strange[path] = markedOtherwise(path, b)
	}
	return err
}

// there reports, after a kill of the process only, whether an entry need not or must not be
// written to its file. The system has kept everything that was written there before the
// entry was, so a sound batch that is another one says that the file is another one, and
// nothing is written to it; unless a later entry is found there, which has taken the place of
// this one.
func (r *replay) there(f vfs.File, path string, e *entryRead) (bool, error) {
	r.buf = slices.Grow(r.buf[:0], len(e.bytes))[:len(e.bytes)]
	n, err := f.ReadAt(r.buf, e.pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	d := r.strange[path]
	if bytes.Equal(r.buf[:n], e.bytes) {
		if d != nil && e.pos <= d.Position && d.Position < e.pos+int64(n) {
			delete(r.strange, path)
		}
		return true, nil
	}
	if d != nil {
		return true, nil
	}
	at, b, err := r.soundAround(f, path, e.pos)
	if b == nil || err != nil || at == e.pos && sameBatch(b, e.bytes) {
		return false, err
	}
	r.strange[path] = &DamageError{File: path, Position: at, Offset: b.BaseOffset(),
		Reason: fmt.Sprintf("the file is not the one that was written: the batch here is sound and has checksum %#08x, the journal has another at byte %d; it may be another partition's", b.CRC(), e.pos)}
	return true, nil
}

// sameBatch reports whether bytes begin with a sound batch, but for what its checksum does
// not cover: that may be damaged.
func sameBatch(b record.Batch, bytes []byte) bool {
	return len(b) <= len(bytes) && b.CRC() == record.Batch(bytes).CRC() && record.Batch(bytes[:len(b)]).ChecksumOK()
}

// soundAround is the sound batch of a file that holds the byte at pos, and where it begins;
// nil if there is none, or if damage lies before it.
func (r *replay) soundAround(f vfs.File, path string, pos int64) (at int64, b record.Batch, err error) {
	size, err := f.Size()
	if err != nil || pos >= size {
		return 0, nil, err
	}
	if b, err = wholeAt(f, size, pos); b != nil || err != nil {
		return pos, b, err
	}
	if at = r.walked[path]; at > pos {
		at = 0 // an older half or journal had later entries
	}
	for from := at; ; {
		if at == from || at+record.HeaderSize > from+int64(len(r.buf)) {
			r.buf = slices.Grow(r.buf[:0], walkWindow)[:min(walkWindow, size-at)]
			if _, err := f.ReadAt(r.buf, at); err != nil {
				return 0, nil, err
			}
			from = at
		}
		n := batchSize(r.buf[at-from:], size-at)
		if n == 0 || at+n > pos {
			break
		}
		at += n
	}
	r.walked[path] = at
	if at == pos {
		return 0, nil, nil
	}
	b, err = wholeAt(f, size, at)
	return at, b, err
}

// batchSize is how long the batch is that b begins with, 0 if that is no batch of at most left
// bytes.
func batchSize(b record.Batch, left int64) int64 {
	if len(b) < record.HeaderSize || b.Magic() != 2 || int64(b.Size()) < record.HeaderSize || int64(b.Size()) > left {
		return 0
	}
	return int64(b.Size())
}

// wholeAt is the batch at a position of a file of so many bytes, with its records, nil if no
// checksum there is right. Unlike segment.soundAt it knows no log that the offsets could be of.
func wholeAt(f vfs.File, size, pos int64) (record.Batch, error) {
	if size-pos < record.HeaderSize {
		return nil, nil
	}
	b := make(record.Batch, record.HeaderSize)
	if _, err := f.ReadAt(b, pos); err != nil {
		return nil, err
	}
	n := batchSize(b, size-pos)
	if n == 0 {
		return nil, nil
	}
	b = make(record.Batch, n)
	if _, err := f.ReadAt(b, pos); err != nil || !b.ChecksumOK() {
		return nil, err
	}
	return b, nil
}

func (r *replay) close() {
	for _, f := range r.files {
		f.Close()
	}
}
