package node

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"ringmain/controller"
	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/model"
	"ringmain/segment"
)

// Verification reads the directories of a node that does not run, and can
// repair them.
type Verification struct {
	fs       vfs.FS
	dirs     []*segment.Verifier
	metadata []metadataDirectory
	image    *metadata.Image // nil if it is not known
	locks    []io.Closer
	jobs     []verifyJob

	// Of the metadata directory.
	Files, Entries int
	MetadataBytes  int64
}

// metadataDirectory is __cluster_metadata in one of the directories.
type metadataDirectory struct {
	in   *segment.Verifier
	path string
	read *controller.Verified
}

// verifyJob is a partition to read.
type verifyJob struct {
	dir *segment.Verifier
	segment.PartitionSize
}

// OpenVerification locks the directories (log.dirs and, if it is apart,
// metadata.log.dir), reads what is small in them and lists the partitions for
// which want says yes; nil stands for all. It fails when a directory is in use,
// or is not one of ours.
func OpenVerification(fsys vfs.FS, paths []string, want func(model.TopicPartition) bool) (*Verification, error) {
	v := &Verification{fs: fsys}
	if err := v.open(paths, want); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (v *Verification) open(paths []string, want func(model.TopicPartition) bool) error {
	for _, path := range paths {
		d, err := segment.OpenVerifier(v.fs, path)
		if err != nil {
			return err
		}
		v.dirs = append(v.dirs, d)
	}
	if err := v.readMetadata(); err != nil {
		return err
	}
	if err := v.roster(); err != nil {
		return err
	}
	v.identities()
	return v.list(want)
}

// Close gives the directories free.
func (v *Verification) Close() error {
	var errs []error
	for _, l := range v.locks {
		errs = append(errs, l.Close())
	}
	for _, d := range v.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

func (v *Verification) readMetadata() error {
	for _, d := range v.dirs {
		path := filepath.Join(d.Path(), segment.MetadataDirName)
		if ok, err := vfs.Exists(v.fs, path); err != nil {
			return err
		} else if !ok {
			continue
		}
		lock, err := controller.Lock(v.fs, path)
		if errors.Is(err, vfs.ErrLocked) {
			return fmt.Errorf("%w: %s; stop the broker first", segment.ErrLocked, path)
		}
		if err != nil {
			return fmt.Errorf("lock metadata directory: %w", err)
		}
		v.locks = append(v.locks, lock)
		read, err := controller.Verify(v.fs, path)
		if err != nil {
			return err
		}
		v.metadata = append(v.metadata, metadataDirectory{d, path, read})
		v.Files, v.Entries, v.MetadataBytes = v.Files+read.Files, v.Entries+read.Entries, v.MetadataBytes+read.Bytes
		v.metadataProblems(d, path, read)
	}
	switch len(v.metadata) {
	case 0:
		d := v.dirs[0]
		d.Report(segment.Finding{File: filepath.Join(d.Path(), segment.MetadataDirName), Position: -1,
			Reason: "the metadata is missing; if metadata.log.dir is another directory, name it too, else restore it from a copy"})
	case 1:
		v.image = v.metadata[0].read.Image
	default:
		d := v.metadata[1]
		d.in.Report(segment.Finding{File: d.path, Position: -1, Reason: fmt.Sprintf("there is metadata in %s, too; only one of them is that of this node", v.metadata[0].path)})
	}
	return nil
}

func (v *Verification) metadataProblems(d *segment.Verifier, path string, read *controller.Verified) {
	for _, err := range read.Problems {
		f, damage := metadataFinding(path, err)
		if read.Spare != "" && (f.File == read.Spare || !damage && filepath.Dir(read.Spare) == path) {
			f.File = read.Spare
			f.Repair = "set it aside; the checkpoint before and the log after it hold the same"
			d.SetAside(f)
			continue
		}
		d.Report(f)
	}
	for _, err := range read.Stray {
		f, _ := metadataFinding(path, err)
		f.Harmless = true
		d.Report(f)
	}
}

// metadataFinding makes a finding of an error; damage says that it names a place in a file.
func metadataFinding(dir string, err error) (f segment.Finding, damage bool) {
	if d := (*controller.DamageError)(nil); errors.As(err, &d) {
		return segment.Finding{File: d.File, Position: d.Position, Reason: d.Reason}, true
	}
	return segment.Finding{File: dir, Position: -1, Reason: err.Error()}, false
}

// roster compares the directories with those that the node had.
func (v *Verification) roster() error {
	for _, m := range v.metadata {
		path := filepath.Join(m.in.Path(), rosterName)
		had, err := readRoster(v.fs, path)
		if errors.Is(err, segment.ErrCorrupt) {
			v.mendRoster(m.in, segment.Finding{File: path, Position: 0, Reason: err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		if had == nil {
			v.mendRoster(m.in, segment.Finding{File: path, Position: -1, Harmless: v.unused(),
				Reason: "the list of log directories is missing: that one of them is not there would not be noticed"})
		}
		var nameless []*segment.Verifier
		for _, d := range v.dirs {
			if d.Ident().DirectoryID.IsZero() {
				nameless = append(nameless, d)
			}
		}
		for _, old := range had {
			if slices.ContainsFunc(v.dirs, func(d *segment.Verifier) bool { return d.Ident().DirectoryID == old.id }) {
				continue
			}
			same := slices.IndexFunc(nameless, func(d *segment.Verifier) bool {
				return len(nameless) == 1 || filepath.Clean(d.Path()) == filepath.Clean(old.path)
			})
			if same >= 0 && m.read.ClusterID != "" && nameless[same].Restore(segment.Ident{ClusterID: m.read.ClusterID, NodeID: m.read.NodeID, DirectoryID: old.id}) {
				continue
			}
			m.in.Report(segment.Finding{File: old.path, Position: -1, Reason: fmt.Sprintf("a log directory of this node (directory id %s) is missing here; name it too, or mount or restore it", old.id)})
		}
	}
	return nil
}

// unused tells whether no directory has a partition: the list is written behind the first
// of them, and a kill may have come before that.
func (v *Verification) unused() bool {
	return !slices.ContainsFunc(v.dirs, func(d *segment.Verifier) bool {
		ps, err := d.Partitions()
		return err != nil || len(ps) > 0
	})
}

// mendRoster takes a finding about the list of directories up. It can be written anew if all
// that are given say who they are; metadata.log.dir may be among them, and the next start
// takes it out.
func (v *Verification) mendRoster(in *segment.Verifier, f segment.Finding) {
	var now []rosterDir
	for _, d := range v.dirs {
		id := d.Ident().DirectoryID
		if id.IsZero() {
			in.Report(f)
			return
		}
		now = append(now, rosterDir{id, d.Path()})
	}
	f.Repair = "set it aside, if it is there, and write it for the directories named here"
	in.Mend(f, encodeRoster(now))
}

// identities compares what the directories say of cluster and node.
func (v *Verification) identities() {
	cluster, node, from := "", int32(0), ""
	if len(v.metadata) > 0 && v.metadata[0].read.ClusterID != "" {
		cluster, node, from = v.metadata[0].read.ClusterID, v.metadata[0].read.NodeID, v.metadata[0].path
	}
	for _, d := range v.dirs {
		id := d.Ident()
		if id.ClusterID == "" {
			continue // and that was reported
		}
		if from == "" {
			cluster, node, from = id.ClusterID, id.NodeID, d.Path()
		}
		if id.ClusterID != cluster || id.NodeID != node {
			d.Report(segment.Finding{File: d.Path(), Position: -1, Reason: fmt.Sprintf("the directory is of cluster %s node %d, %s is of cluster %s node %d",
				id.ClusterID, id.NodeID, from, cluster, node)})
		}
	}
}

// list finds the partitions, and those that should have a directory.
func (v *Verification) list(want func(model.TopicPartition) bool) error {
	in := map[model.TopicPartition]string{}
	for _, d := range v.dirs {
		ps, err := d.Partitions()
		if err != nil {
			return err
		}
		for _, p := range ps {
			if other, twice := in[p.TopicPartition]; twice {
				d.Report(segment.Finding{File: filepath.Join(d.Path(), p.String()), Position: -1, Reason: "the partition is in " + other + ", too; move one of them away"})
			}
			in[p.TopicPartition] = d.Path()
			if want == nil || want(p.TopicPartition) {
				v.jobs = append(v.jobs, verifyJob{d, p})
			}
		}
	}
	if v.image == nil {
		return nil
	}
	for _, name := range v.image.TopicNames() {
		t := v.image.Topic(name)
		for i := range t.Partitions {
			tp := model.TopicPartition{Topic: name, Partition: int32(i)}
			if in[tp] != "" || want != nil && !want(tp) {
				continue
			}
			for _, d := range v.dirs {
				d.Missing(tp, t.ID)
			}
		}
	}
	return nil
}

// Partitions is how many partitions were found, and Bytes how much Run reads.
func (v *Verification) Partitions() int { return len(v.jobs) }

// Bytes is how much Run reads.
func (v *Verification) Bytes() (n int64) {
	for _, j := range v.jobs {
		n += j.Bytes
	}
	return n
}

// Run reads the partitions. progress is told of bytes; it may be nil.
func (v *Verification) Run(progress func(bytes int64)) error {
	for _, j := range v.jobs {
		j.dir.Progress = progress
		topic := model.TopicID{}
		if v.image != nil {
			if t := v.image.Topic(j.Topic); t != nil && t.Partition(j.Partition) != nil {
				topic = t.ID
			} else {
				j.dir.Report(segment.Finding{File: filepath.Join(j.dir.Path(), j.String()), Position: -1, Harmless: true,
					Reason: "the metadata knows no such partition; the next start sets the directory aside"})
			}
		}
		if err := j.dir.VerifyPartition(j.TopicPartition, topic); err != nil {
			return err
		}
	}
	return nil
}

// Findings are all that was found so far, by directory.
func (v *Verification) Findings() (out []segment.Finding) {
	for _, d := range v.dirs {
		out = append(out, d.Findings...)
	}
	return out
}

// Totals is how much was read.
func (v *Verification) Totals() (t segment.Totals) {
	for _, d := range v.dirs {
		t.Partitions += d.Totals.Partitions
		t.Segments += d.Totals.Segments
		t.Batches += d.Totals.Batches
		t.Records += d.Totals.Records
		t.Bytes += d.Totals.Bytes
	}
	return t
}

// Repair does what the findings say, in each directory as far as it goes.
func (v *Verification) Repair() error {
	var errs []error
	for _, d := range v.dirs {
		errs = append(errs, d.Repair())
	}
	return errors.Join(errs...)
}
