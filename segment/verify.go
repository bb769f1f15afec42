package segment

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// Finding is something in a log directory that is not as it should be.
type Finding struct {
	File     string `json:"file"`
	Position int64  `json:"position"` // -1: the file as a whole
	Bytes    int64  `json:"bytes"`    // that cannot be used, 0 if that is not known
	// Offsets whose records are gone, To not included; -1 and -1 for none.
	From   int64  `json:"lost_from"`
	To     int64  `json:"lost_to"`
	Reason string `json:"reason"`
	// Repair is what Repair does about it, "" if only somebody with a copy can.
	Repair string `json:"repair"`
	// Harmless: what a crash leaves and the next start mends by itself.
	Harmless bool `json:"harmless"`
}

// Verifier reads a log directory that no broker uses, and can repair it. What
// Repair does is decided while reading, so that it can be said before.
type Verifier struct {
	fs      vfs.FS
	path    string
	lock    io.Closer
	ident   Ident
	clean   bool // the last broker stopped cleanly
	killed  bool // it did not, and the system has run on: nothing that was written is lost
	owed    bool // it did not, and a journal may hold bytes that the next start puts back
	points  map[pointKey]point
	starts  map[pointKey]point
	newest  map[pointKey]point
	cleaned map[pointKey]point

	// Progress is told of bytes that were read; it may be nil.
	Progress func(bytes int64)

	Findings []Finding
	Totals   Totals
	fixes    []func() error
}

// Totals is how much was read.
type Totals struct {
	Partitions int   `json:"partitions"`
	Segments   int   `json:"segments"`
	Batches    int64 `json:"batches"`
	Records    int64 `json:"records"`
	Bytes      int64 `json:"bytes"`
}

// OpenVerifier locks a log directory and reads what concerns all of it. One
// that is not ours or in use is refused with ErrForeign, ErrNewer or ErrLocked;
// nothing but the lock file is written.
func OpenVerifier(fsys vfs.FS, path string) (*Verifier, error) {
	exists, err := survey(fsys, path)
	if err != nil && !(errors.Is(err, ErrForeign) && ours(fsys, path)) {
		return nil, err
	}
	if !exists && err == nil {
		return nil, fmt.Errorf("%w: %s has no %s", ErrForeign, path, identityName)
	}
	v := &Verifier{fs: fsys, path: path, points: map[pointKey]point{}, starts: map[pointKey]point{}, cleaned: map[pointKey]point{}, newest: map[pointKey]point{}}
	if v.lock, err = fsys.Lock(filepath.Join(path, lockName)); errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: %s; stop the broker first", ErrLocked, path)
	} else if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := v.open(); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// ours tells a directory of ours that lost its identity from somebody else's.
func ours(fsys vfs.FS, path string) bool {
	for _, name := range []string{pointsName, startsName} {
		if b, err := vfs.ReadFile(fsys, filepath.Join(path, name)); err == nil && strings.HasPrefix(string(b), checkpointMagic) {
			return true
		}
	}
	return false
}

func (v *Verifier) open() (err error) {
	file := filepath.Join(v.path, identityName)
	b, err := vfs.ReadFile(v.fs, file)
	switch {
	case isNotExist(err):
		v.find(Finding{File: file, Position: -1, Reason: "the file is missing; restore it from a copy"})
	case err != nil:
		return fmt.Errorf("read identity: %w", err)
	default:
		if v.ident, err = decodeIdentity(file, b); errors.Is(err, ErrNewer) {
			return err
		} else if err != nil {
			v.find(Finding{File: file, Position: -1, Reason: strings.TrimPrefix(err.Error(), ErrCorrupt.Error()+": "+file+": ")})
		}
	}
	if v.clean, err = vfs.Exists(v.fs, filepath.Join(v.path, cleanName)); err != nil {
		return err
	}
	if !v.clean {
		v.killed = ofThisBoot(v.fs, v.path)
		es, err := v.fs.ReadDir(v.path)
		if err != nil {
			return err
		}
		v.owed = slices.ContainsFunc(es, func(e vfs.Entry) bool { return strings.HasPrefix(e.Name, journalPrefix) })
	}
	if err := v.checkpoint(pointsName, 1, v.points); err != nil {
		return err
	}
	if err := v.checkpoint(startsName, 2, v.starts); err != nil {
		return err
	}
	if err := v.checkpoint(cleanedName, 3, v.cleaned); err != nil {
		return err
	}
	if !v.clean && !v.killed {
		return nil // a start makes it anew (Dir.openNewest)
	}
	return v.checkpoint(newestName, 4, v.newest)
}

// checkpoint reads one of the checkpoint files.
func (v *Verifier) checkpoint(name string, kind uint16, points map[pointKey]point) error {
	path := filepath.Join(v.path, name)
	b, err := vfs.ReadFile(v.fs, path)
	if isNotExist(err) {
		return nil // made by the first entry
	}
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	rewrite := func() error {
		if err := v.setAside(path); err != nil {
			return err
		}
		return v.writeCheckpoint(name, kind, points)
	}
	_, err = parseCheckpoint(b, kind, func(at int, k pointKey, p point, ok bool) {
		switch {
		case !ok:
			v.fix(Finding{File: path, Position: int64(at), Bytes: int64(min(checkpointEntry, len(b)-at)),
				Reason: "an entry is damaged", Repair: "set the file aside and write the sound entries anew", Harmless: !v.clean && at+checkpointEntry > len(b)}, rewrite)
		case p.flags&pointRemoved != 0:
			delete(points, k)
		default:
			points[k] = p
		}
	})
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		v.fix(Finding{File: path, Position: 0, Bytes: int64(len(b)), Reason: err.Error(),
			Repair: "set the file aside; " + withoutCheckpoint(kind)}, rewrite)
	}
	return nil
}

// Close gives the directory free.
func (v *Verifier) Close() error { return v.lock.Close() }

// Path is the directory.
func (v *Verifier) Path() string { return v.path }

// Restore gives a directory whose identity is missing or damaged the one that
// other files say it has, and reports whether that is needed.
func (v *Verifier) Restore(id Ident) bool {
	file := filepath.Join(v.path, identityName)
	for i := range v.Findings {
		if f := &v.Findings[i]; f.File == file && f.Repair == "" {
			f.Repair = fmt.Sprintf("write it anew: cluster %s, node %d, directory %s, as the metadata says", id.ClusterID, id.NodeID, id.DirectoryID)
			v.ident = id
			v.fixes = append(v.fixes, func() error {
				return errors.Join(v.setAsideIfThere(file), vfs.WriteFile(v.fs, file, encodeIdentity(id), true))
			})
			return true
		}
	}
	return false
}

// SetAside takes a finding up that is mended by renaming its file.
func (v *Verifier) SetAside(f Finding) {
	file := f.File
	v.fix(f, func() error { return v.setAsideIfThere(file) })
}

// Mend takes a finding up that is mended by writing its file anew, after what is there was
// set aside.
func (v *Verifier) Mend(f Finding, b []byte) {
	v.fix(f, func() error { return errors.Join(v.setAsideIfThere(f.File), vfs.WriteFile(v.fs, f.File, b, true)) })
}

// Report takes a finding up that nothing here can mend.
func (v *Verifier) Report(f Finding) { v.find(f) }

// Ident is whose directory it is; zero if its file cannot be read.
func (v *Verifier) Ident() Ident { return v.ident }

// PartitionSize is a partition's directory and the bytes of its segments.
type PartitionSize struct {
	model.TopicPartition
	Bytes int64
}

// Partitions lists the partitions that have a directory.
func (v *Verifier) Partitions() ([]PartitionSize, error) {
	es, err := v.fs.ReadDir(v.path)
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	var out []PartitionSize
	for _, e := range es {
		tp, ok := model.ParseTopicPartition(e.Name)
		if !ok || !e.IsDir {
			continue
		}
		p := PartitionSize{TopicPartition: tp}
		files, err := v.fs.ReadDir(filepath.Join(v.path, e.Name))
		if err != nil {
			return nil, fmt.Errorf("read partition directory: %w", err)
		}
		for _, f := range files {
			if _, ok := parseOffsetName(f.Name, logSuffix); ok {
				if st, err := v.fs.Stat(filepath.Join(v.path, e.Name, f.Name)); err == nil {
					p.Bytes += st.Size
				}
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// find takes a finding up that nothing here can mend.
func (v *Verifier) find(f Finding) {
	if f.From == 0 && f.To == 0 {
		f.From, f.To = -1, -1
	}
	v.Findings = append(v.Findings, f)
}

// fix takes a finding up with what mends it; nil if another one's does.
func (v *Verifier) fix(f Finding, fn func() error) {
	v.find(f)
	if fn != nil {
		v.fixes = append(v.fixes, fn)
	}
}

// hold takes back what would be done about the findings from the i-th on, and the
// fixes from the k-th on, while a journal may hold what is missing.
func (v *Verifier) hold(i, k int) {
	if !v.owed {
		return
	}
	for n := range v.Findings[i:] {
		f := &v.Findings[i+n]
		if f.Repair != "" && !f.Harmless {
			f.Reason += "; the last broker did not stop cleanly, and its journal may hold what is missing: start and stop the broker before a repair"
		}
		f.Repair = ""
	}
	v.fixes = v.fixes[:k]
}

// Missing looks at a partition that the metadata knows and that has no
// directory in any log directory: it has none before it is first written.
func (v *Verifier) Missing(tp model.TopicPartition, topic model.TopicID) {
	defer v.hold(len(v.Findings), len(v.fixes))
	k := pointKey{topic, tp.Partition}
	start, to := v.starts[k].offset, v.points[k].offset
	if p, noted := v.newest[k]; noted && v.killed {
		to = max(to, p.offset)
	}
	if to > start {
		v.fix(Finding{File: filepath.Join(v.path, tp.String()), Position: -1, From: start, To: to,
			Reason: "the directory is missing", Repair: fmt.Sprintf("begin the log at offset %d", to)},
			func() error { return v.putStart(k, to) })
	}
}
