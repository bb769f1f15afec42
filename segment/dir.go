package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// defaultFileBudget is what a directory takes when nobody says otherwise
// (UseFileBudget).
const defaultFileBudget = 4096

// Dir is one log directory (an entry of log.dirs), locked and open. Any
// goroutine, unless said otherwise.
type Dir struct {
	fs    vfs.FS
	path  string
	ident Ident
	clean bool
	// sameBoot: the last process was killed and the system went on, so that what it wrote
	// is there, synced or not, but for the end of its last writes.
	sameBoot bool
	log      *slog.Logger
	lock     io.Closer
	budget   *FileBudget
	points   *checkpoint
	starts   *checkpoint
	cleaned  *checkpoint // how far compaction has come
	newest   *checkpoint // which segment is the newest; never synced while logs are open
	reaper   *reaper
	// settling ends when what journals of the last process held is synced in its
	// files; nil if there were none. settleErr is valid then.
	settling  chan struct{}
	settleErr error
	strange   map[string]*DamageError // .log files by path that the last process did not leave like this, see replay
	asides    atomic.Int64            // names of what was moved aside
	appends   atomic.Int64            // to any of its logs: who works in the background holds back while they go on

	// saving is held while a recovery point or a cleaned offset is taken and written, so
	// that an older one never follows a newer, and none a log's removal.
	saving sync.Mutex

	mu   sync.Mutex
	logs map[model.TopicPartition]*Log
}

// OpenDir locks and opens a log directory. An empty or missing one is
// formatted; one that is not ours, newer, damaged, of another cluster or node,
// or in use is refused with ErrForeign, ErrNewer, ErrCorrupt, ErrIdentity or
// ErrLocked, and nothing in it is changed.
func OpenDir(fsys vfs.FS, path string, id Ident, log *slog.Logger) (*Dir, error) {
	exists, err := survey(fsys, path)
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := makeDir(fsys, path); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
	}
	lock, err := fsys.Lock(filepath.Join(path, lockName))
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: %s; stop the other process, or use another directory", ErrLocked, path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	d := &Dir{
		fs: fsys, path: path, log: log, lock: lock,
		budget: NewFileBudget(defaultFileBudget),
		logs:   make(map[model.TopicPartition]*Log),
	}
	if err := d.open(id); err != nil {
		lock.Close()
		return nil, err
	}
	return d, nil
}

// makeDir makes path and makes its name durable.
func makeDir(fsys vfs.FS, path string) error {
	if ok, err := vfs.Exists(fsys, path); ok || err != nil {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(path); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}

func (d *Dir) open(id Ident) error {
	exists, err := survey(d.fs, d.path) // again: another process may have formatted it before we had the lock
	if err != nil {
		return err
	}
	if d.ident, err = adoptIdentity(d.fs, d.path, exists, id); err != nil {
		return err
	}
	if d.points, err = openCheckpoint(d.fs, filepath.Join(d.path, pointsName), 1, d.log); err != nil {
		return err
	}
	if d.starts, err = openCheckpoint(d.fs, filepath.Join(d.path, startsName), 2, d.log); err != nil {
		return err
	}
	if d.cleaned, err = openCheckpoint(d.fs, filepath.Join(d.path, cleanedName), 3, d.log); err != nil {
		return err
	}
	d.clean = true
	if exists {
		marker := filepath.Join(d.path, cleanName)
		if d.clean, err = vfs.Exists(d.fs, marker); err != nil {
			return fmt.Errorf("look for clean shutdown: %w", err)
		}
		if d.clean { // gone for good before anything is written
			if err := d.fs.Remove(marker); err != nil {
				return fmt.Errorf("remove clean shutdown marker: %w", err)
			}
			if err := d.fs.SyncDir(d.path); err != nil {
				return fmt.Errorf("remove clean shutdown marker: %w", err)
			}
		}
	}
	if d.clean {
		d.noteBoot()
	} else {
		d.sameBoot = ofThisBoot(d.fs, d.path)
	}
	if err := d.openNewest(); err != nil {
		return err
	}
	if err := d.replayJournals(!d.clean); err != nil {
		return err
	}
	d.reaper = newReaper(d)
	return d.removeLeftovers()
}

// UseFileBudget shares a descriptor budget among directories. Call it before
// the first OpenLog.
func (d *Dir) UseFileBudget(b *FileBudget) { d.budget = b }

// FileBudget is the budget in use.
func (d *Dir) FileBudget() *FileBudget { return d.budget }

// Ident is the identity on disk.
func (d *Dir) Ident() Ident { return d.ident }

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Space gives the volume's size and usable free bytes.
func (d *Dir) Space() (total, usable int64, err error) { return d.fs.Space(d.path) }

// WasClean reports whether the last process closed the directory with
// MarkClean; true for one that was just formatted.
func (d *Dir) WasClean() bool { return d.clean }

// Partitions lists the partitions that have a directory, sorted by name.
// Partitions that were never written have none.
func (d *Dir) Partitions() ([]model.TopicPartition, error) {
	es, err := d.fs.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	var out []model.TopicPartition
	for _, e := range es {
		if tp, ok := model.ParseTopicPartition(e.Name); ok && e.IsDir {
			out = append(out, tp)
		}
	}
	return out, nil
}

// TopicIDOf reads which topic a partition's directory belongs to.
func (d *Dir) TopicIDOf(tp model.TopicPartition) (model.TopicID, error) {
	id, _, err := readMetadata(d.fs, filepath.Join(d.path, tp.String()))
	return id, err
}

// Discard removes a partition's directory that is not open: one whose topic
// is gone or was created again. SIGKILL-safe when it returns; the bytes go in
// the background.
func (d *Dir) Discard(tp model.TopicPartition) error {
	d.mu.Lock()
	open := d.logs[tp] != nil
	d.mu.Unlock()
	if open {
		return fmt.Errorf("discard %s: the log is open", tp)
	}
	id, partition, err := readMetadata(d.fs, filepath.Join(d.path, tp.String()))
	if err := d.moveAside(tp); err != nil {
		return err
	}
	if err != nil {
		return nil // whose entries they are is not known
	}
	return d.forget(pointKey{id, partition})
}

// forget takes a partition that is gone out of the checkpoints. Its log is closed: whoever
// saves something of one asks for that while it holds the lock.
func (d *Dir) forget(k pointKey) (err error) {
	d.saving.Lock()
	defer d.saving.Unlock()
	for _, c := range []*checkpoint{d.points, d.starts, d.cleaned, d.newest} {
		if _, there := c.get(k); there {
			err = errors.Join(err, c.put([]pointKey{k}, []point{{flags: pointRemoved}}))
		}
	}
	return err
}

// moveAside renames a partition's directory, if there is one, so that it is
// no partition any more, and removes it in the background. The rename is not
// synced: after a power cut the directory may be back, under its old topic id.
func (d *Dir) moveAside(tp model.TopicPartition) error {
	from := filepath.Join(d.path, tp.String())
	to, err := d.doomedPath()
	if err != nil {
		return err
	}
	err = d.fs.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete partition: %w", err)
	}
	d.reaper.removeDoomed(to, d.budget.openOf(from, -1))
	return nil
}

// Checkpoint makes the recovery points and log starts of all open logs
// durable, as far as they moved since the last time.
func (d *Dir) Checkpoint() error {
	d.mu.Lock()
	logs := make([]*Log, 0, len(d.logs))
	for _, l := range d.logs {
		logs = append(logs, l)
	}
	d.mu.Unlock()
	d.saving.Lock()
	defer d.saving.Unlock()
	var keys []pointKey
	var points []point
	for _, l := range logs {
		if p, ok := l.newPoint(); ok {
			keys, points = append(keys, l.key()), append(points, p)
		}
	}
	if len(keys) > 0 {
		if err := d.points.put(keys, points); err != nil {
			for _, l := range logs {
				l.unsave()
			}
			return err
		}
	}
	if err := d.points.sync(); err != nil {
		return err
	}
	return errors.Join(d.starts.sync(), d.newest.shrink())
}

// MarkRecovered says that every log was opened: what a power cut had torn is cut, and if
// this process is killed there will be nothing else torn.
func (d *Dir) MarkRecovered() {
	if !d.clean && !d.sameBoot {
		d.noteBoot()
	}
}

// ofThisBoot tells whether the system has run on since all that a directory has was whole.
func ofThisBoot(fsys vfs.FS, path string) bool {
	boot := fsys.BootID()
	stored, err := vfs.ReadFile(fsys, filepath.Join(path, bootName))
	return boot != "" && err == nil && string(stored) == boot+"\n"
}

// powerCut tells that the last run of the system ended while a broker ran, or may have: what
// was not synced may be gone, or of any time.
func (d *Dir) powerCut() bool { return !d.clean && !d.sameBoot }

// noteBoot writes which run of the system the files are from. Nothing is synced: after a
// power cut it is another run's anyway.
func (d *Dir) noteBoot() {
	boot := d.fs.BootID()
	if boot == "" {
		return
	}
	if err := vfs.WriteFile(d.fs, filepath.Join(d.path, bootName), []byte(boot+"\n"), false); err != nil {
		d.log.Warn("cannot note the system's boot id; after a kill, damage in what was written last is taken for torn writes", "directory", d.path, "error", err)
	}
}

// MarkClean says that every log was closed: the next WasClean is true. The
// caller has stopped all shards.
func (d *Dir) MarkClean() error {
	if err := d.Checkpoint(); err != nil {
		return err
	}
	return vfs.WriteFile(d.fs, filepath.Join(d.path, cleanName), []byte("1\n"), true)
}

// Close gives the directory free for other processes. Logs must be closed.
func (d *Dir) Close() error {
	d.reaper.close()
	_ = d.settled() // said in the log, and the journal stays
	return errors.Join(d.points.close(), d.starts.close(), d.cleaned.close(), d.newest.close(), d.lock.Close())
}
