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
	"ringmain/model"
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
	r := &replay{dir: d, homes: map[model.TopicPartition]model.TopicID{}, files: map[string]vfs.File{}, strange: map[string]*DamageError{}}
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

// replay writes entries to files.
type replay struct {
	dir *Dir
	// homes are the topics whose directories they are, zero where there is none. A journal
	// may hold several topics that had the name one after the other.
	homes map[model.TopicPartition]model.TopicID
	files map[string]vfs.File
	// strange are files that a process which was killed did not leave like this: they hold
	// another batch where an entry belongs.
	strange map[string]*DamageError
	bytes   int64
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
	home, known := r.homes[e.tp]
	if !known {
		if id, err := d.TopicIDOf(e.tp); err == nil {
			home = id
		}
		r.homes[e.tp] = home
	}
	if home != e.topic {
		return nil
	}
	path := offsetPath(filepath.Join(d.path, e.tp.String()), e.base, logSuffix)
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
		if cleaned, _ := d.cleaned.get(key); d.sameBoot && ok && e.base == p.segBase && e.base >= cleaned.offset {
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
	_, b, err := soundAround(f, 0)
	if err == nil && noted != 0 && b != nil && mark(b.CRC()) != noted {
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
	got := make([]byte, len(e.bytes))
	n, err := f.ReadAt(got, e.pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	d := r.strange[path]
	if bytes.Equal(got[:n], e.bytes) {
		if d != nil && e.pos <= d.Position && d.Position < e.pos+int64(n) {
			delete(r.strange, path)
		}
		return true, nil
	}
	if d != nil {
		return true, nil
	}
	at, b, err := soundAround(f, e.pos)
	if b == nil || err != nil || at == e.pos && bytes.HasPrefix(e.bytes, b) {
		return false, err
	}
	r.strange[path] = &DamageError{File: path, Position: at, Offset: b.BaseOffset(),
		Reason: fmt.Sprintf("the file is not the one that was written: the batch here is sound and has checksum %#08x, the journal has another at byte %d; it may be another partition's", b.CRC(), e.pos)}
	return true, nil
}

// soundAround is the sound batch of a file that holds the byte at pos, and where it begins;
// nil if there is none.
func soundAround(f vfs.File, pos int64) (at int64, b record.Batch, err error) {
	size, err := f.Size()
	if err != nil {
		return 0, nil, err
	}
	head := make(record.Batch, record.HeaderSize)
	for _, from := range []int64{0, pos} { // the way there may be damaged
		for at := from; at <= pos && size-at >= record.HeaderSize; {
			if _, err := f.ReadAt(head, at); err != nil {
				return 0, nil, err
			}
			n := int64(head.Size())
			if head.Magic() != 2 || n < record.HeaderSize || n > size-at {
				break
			}
			if at+n <= pos {
				at += n
				continue
			}
			b := make(record.Batch, n)
			if _, err := f.ReadAt(b, at); err != nil {
				return 0, nil, err
			}
			if b.ChecksumOK() {
				return at, b, nil
			}
			break
		}
	}
	return 0, nil, nil
}

func (r *replay) close() {
	for _, f := range r.files {
		f.Close()
	}
}
