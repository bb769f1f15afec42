package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/model"
)

const lockName = ".lock"

// contents is what lies in the metadata directory.
type contents struct {
	state       bool
	segments    []uint64
	checkpoints []string
	leftovers   []string // of writes that a crash cut off
	foreign     []string
}

func readContents(fsys vfs.FS, dir string) (c contents, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		first, isSegment := parseSegmentName(e.Name)
		_, _, isCheckpoint := parseCheckpointName(e.Name)
		switch {
		case e.Name == lockName, e.Name == "lost+found":
		case e.IsDir:
			c.foreign = append(c.foreign, e.Name)
		case e.Name == quorumStateName:
			c.state = true
		case isSegment:
			c.segments = append(c.segments, first)
		case isCheckpoint:
			c.checkpoints = append(c.checkpoints, e.Name)
		case strings.HasSuffix(e.Name, checkpointSuffix+".tmp"), e.Name == quorumStateName+".tmp":
			c.leftovers = append(c.leftovers, e.Name)
		default:
			c.foreign = append(c.foreign, e.Name)
		}
	}
	return c, nil
}

// format makes a new directory ready: an identity, term 1 without a vote, and a
// log whose first two entries are the configuration of the quorum and the first
// metadata records. That is what raft's own bootstrap writes, with the records
// added: the first leader commits both, and the first start needs no round of
// its own for them.
//
// Several new nodes write the same two entries, byte for byte, so it does not
// matter whose are kept.
//
// The log is written first, quorum-state second and by rename. A start raises
// the term before it does anything else. So as long as quorum-state is missing,
// or is there as it was made here, no vote was given and nothing was served; a
// crash in between is mended by beginning again.
func format(cfg *Config, c contents) error {
	if len(c.checkpoints) > 0 || len(c.segments) > 1 || (len(c.segments) == 1 && c.segments[0] != 1) {
		return fmt.Errorf("%w: %s is missing, but the directory was in use: restore it, votes cannot be guessed",
			ErrDamaged, filepath.Join(cfg.Dir, quorumStateName))
	}
	if len(c.segments) == 1 {
		if err := checkUnused(cfg); err != nil {
			return err
		}
	}
	clusterID := cfg.ClusterID
	if clusterID == "" {
		clusterID = model.NewClusterID()
	}
	logs := []*raft.Log{
		{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(cfg.servers())},
		{Index: 2, Term: 1, Type: raft.LogCommand, Data: metadata.Encode(cfg.bootstrap(clusterID))},
	}
	frames := make([]byte, segmentHeaderSize)
	for _, l := range logs {
		frames = appendFrame(frames, l, 1)
	}
	seg, err := createSegment(cfg.FS, cfg.Dir, 1, frames)
	if err != nil {
		return fmt.Errorf("%w: format %s: %w", ErrStorage, cfg.Dir, err)
	}
	err = seg.file.SyncData()
	if cerr := seg.file.Close(); err == nil {
		err = cerr
	}
	path := filepath.Join(cfg.Dir, quorumStateName)
	if err == nil {
		err = writeQuorumState(cfg.FS, path+".tmp", &quorumRecord{
			sequence: 1, nodeID: cfg.NodeID, directoryID: model.NewTopicID(), clusterID: clusterID, term: 1,
		})
	}
	if err == nil {
		err = cfg.FS.Rename(path+".tmp", path)
	}
	if err == nil {
		err = cfg.FS.SyncDir(cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("%w: format %s: %w", ErrStorage, cfg.Dir, err)
	}
	return nil
}

// checkUnused makes sure that a log without quorum-state is what an interrupted
// format left, and not a log whose quorum-state was lost.
func checkUnused(cfg *Config) error {
	path := filepath.Join(cfg.Dir, segmentName(1))
	b, err := vfs.ReadFile(cfg.FS, path)
	if err != nil {
		return err
	}
	if h, ok := parseFrameHeader(b[min(len(b), segmentHeaderSize):]); !laterWrite(b, 1) && (!ok || h.term == 1) {
		return nil
	}
	return fmt.Errorf("%w: %s is missing, but %s was in use: restore it, votes cannot be guessed",
		ErrDamaged, filepath.Join(cfg.Dir, quorumStateName), path)
}

// makeDir makes the directory and those above it; the names of what was missing
// are durable.
func makeDir(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}

// inspect says whether the directory has to be formatted, without writing to
// it.
func inspect(cfg *Config, c contents) (fresh bool, err error) {
	if !c.state {
		if len(c.foreign) > 0 {
			return false, fmt.Errorf("%w: it holds %q and no %s; metadata needs a directory of its own", ErrForeign, c.foreign[0], quorumStateName)
		}
		return true, nil
	}
	path := filepath.Join(cfg.Dir, quorumStateName)
	b, err := vfs.ReadFile(cfg.FS, path)
	if err != nil {
		return false, err
	}
	if len(b) > 0 && b[0] == '{' { // Apache Kafka has a file of this name, in JSON
		return false, fmt.Errorf("%w: %s was written by Apache Kafka", ErrForeign, path)
	}
	q, err := decodeQuorumState(b, path)
	if err != nil {
		return false, err
	}
	return q.sequence == 1 && len(c.segments) == 0 && len(c.checkpoints) == 0, checkIdentity(cfg, *q)
}

// checkIdentity compares what is on the disk with what was asked for.
func checkIdentity(cfg *Config, q quorumRecord) error {
	if q.nodeID != cfg.NodeID {
		return fmt.Errorf("%w: %s was formatted for node %d, this node is %d: set node.id to %d, or use another directory",
			ErrIdentity, cfg.Dir, q.nodeID, cfg.NodeID, q.nodeID)
	}
	if cfg.ClusterID != "" && q.clusterID != cfg.ClusterID {
		return fmt.Errorf("%w: %s belongs to cluster %s, this node is to join %s: use another directory, or that cluster's id",
			ErrIdentity, cfg.Dir, q.clusterID, cfg.ClusterID)
	}
	return nil
}
