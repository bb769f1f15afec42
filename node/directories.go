package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringmain/controller"
	"ringmain/internal/vfs"
	"ringmain/segment"
)

// errMetadataMissing: there is data and no metadata that says what it is.
var errMetadataMissing = errors.New("the metadata is missing")

// errLogDirLost: a log directory that this node had is not there any more.
var errLogDirLost = errors.New("a log directory is missing")

// openStorage opens the metadata log and the log directories.
//
// Everything is looked at before anything is written, so that a refused start
// leaves every directory as it was. The metadata is formatted first and the
// directories after it. A formatted directory without metadata therefore never
// comes from a start that was killed: the metadata was lost, and starting with
// an empty one would make a stray of every partition.
func (n *Node) openStorage() error {
	found, cluster, err := n.inspectDirs()
	if err != nil {
		return err
	}
	formatted, err := controller.Formatted(n.fs, n.metadataDir())
	if err != nil {
		return fmt.Errorf("look for metadata: %w", err)
	}
	if formatted {
		if err := n.checkCluster(found); err != nil {
			return err
		}
	}
	if err := n.checkRoster(found); err != nil {
		return err
	}
	if !formatted {
		if err := noData(found, n.metadataDir()); err != nil {
			return err
		}
	}
	n.controller, err = controller.Open(controller.Config{Dir: n.metadataDir(), NodeID: n.cfg.NodeID, ClusterID: cluster, FS: n.fs}, n.log)
	if errors.Is(err, vfs.ErrLocked) {
		return inUse(n.metadataDir())
	}
	if err != nil {
		return err
	}
	return n.openDirs(n.controller.ClusterID())
}

// inUse words the error of a second process in Inspect's place: the metadata is
// locked first, and its own words name a lock file.
func inUse(path string) error {
	return fmt.Errorf("%w: %s; stop the other process, or use another directory", segment.ErrLocked, path)
}

// foundDir is a directory as it was before this start.
type foundDir struct {
	path      string
	formatted bool
	id        segment.Ident
}

// inspectDirs looks at the log directories and at metadata.log.dir. All of them
// belong to one cluster: the first that knows which one says so.
func (n *Node) inspectDirs() (found []foundDir, cluster string, err error) {
	for _, path := range n.allDirs() {
		id, ok, err := segment.Inspect(n.fs, path, segment.Ident{NodeID: n.cfg.NodeID, ClusterID: cluster})
		if err != nil {
			return nil, "", err
		}
		if ok {
			cluster = id.ClusterID
		}
		found = append(found, foundDir{path, ok, id})
	}
	return found, cluster, nil
}

// checkCluster compares the directories with the metadata: an identity file of
// another cluster would otherwise look like a directory that is missing.
func (n *Node) checkCluster(found []foundDir) error {
	cluster, _, err := controller.Identity(n.fs, n.metadataDir())
	if err != nil {
		return fmt.Errorf("open metadata directory %s: %w", n.metadataDir(), err)
	}
	for _, f := range found {
		if f.formatted && cluster != "" && f.id.ClusterID != cluster {
			return fmt.Errorf("%w: %s is of cluster %s, the metadata in %s is of cluster %s; put the directories of one node together, or restore the file that was exchanged",
				segment.ErrIdentity, f.path, f.id.ClusterID, n.metadataDir(), cluster)
		}
	}
	return nil
}

// allDirs are the log directories and, if it is none of them, metadata.log.dir.
func (n *Node) allDirs() []string {
	if n.metadataApart() {
		return append(slices.Clone(n.cfg.LogDirs), n.cfg.MetadataDir)
	}
	return n.cfg.LogDirs
}

func (n *Node) metadataApart() bool {
	return !slices.ContainsFunc(n.cfg.LogDirs, func(path string) bool { return filepath.Clean(path) == filepath.Clean(n.cfg.MetadataDir) })
}

// metadataDir is the controller's own directory: below metadata.log.dir, which
// is the first log directory unless it is set.
func (n *Node) metadataDir() string {
	return filepath.Join(n.cfg.MetadataDir, segment.MetadataDirName)
}

// noData refuses directories that were in use.
func noData(found []foundDir, metadata string) error {
	var used []string
	for _, f := range found {
		if f.formatted {
			used = append(used, f.path)
		}
	}
	if len(used) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is not there, but %s was in use by a node whose metadata it was; check metadata.log.dir and the order of log.dirs, restore the directory from a copy, or start with empty directories",
		errMetadataMissing, metadata, strings.Join(used, " and "))
}

// openDirs locks the directories and formats those that are new.
func (n *Node) openDirs(cluster string) error {
	id := segment.Ident{NodeID: n.cfg.NodeID, ClusterID: cluster}
	n.files = segment.NewFileBudget(n.descriptors.logs - n.descriptors.logs/unsyncedShare)
	n.files.BoundUnsynced(n.descriptors.unsynced)
	for _, path := range n.cfg.LogDirs {
		d, err := segment.OpenDir(n.fs, path, id, n.log)
		if err != nil {
			return err
		}
		d.UseFileBudget(n.files)
		n.dirs = append(n.dirs, d)
	}
	if n.metadataApart() {
		d, err := segment.OpenDir(n.fs, n.cfg.MetadataDir, id, n.log)
		if err != nil {
			return err
		}
		n.metaDir = d
	}
	return nil
}

// checkRoster compares the log directories with those this node had. A volume
// that is not mounted looks like an empty directory, and its partitions would
// come back empty as if nothing had happened.
func (n *Node) checkRoster(found []foundDir) error {
	had, err := readRoster(n.fs, n.rosterPath())
	if err != nil {
		return err
	}
	for _, old := range had {
		if slices.ContainsFunc(found, func(f foundDir) bool { return f.formatted && f.id.DirectoryID == old.id }) {
			continue
		}
		if slices.Contains(n.cfg.LostLogDirs, old.id.String()) {
			n.log.Warn("a log directory is given up; partitions that were in it begin again, empty", "dir", old.path, "directory_id", old.id.String())
			n.gaveUp = true
			continue
		}
		return fmt.Errorf("%w: %s (directory id %s) held partitions of this node and is not among log.dirs, or is empty; mount or restore it, or give up what it held with ringmain.lost.log.dirs=%s",
			errLogDirLost, old.path, old.id, old.id)
	}
	return nil
}

// writeRoster notes the log directories for the next start. It comes before the first
// partition is made, so a list that is missing beside partitions was lost; without any, a
// start may have ended before it came here.
func (n *Node) writeRoster() error {
	var now []rosterDir
	used := false
	for _, d := range n.dirs {
		now = append(now, rosterDir{id: d.Ident().DirectoryID, path: d.Path()})
		ps, err := d.Partitions()
		if err != nil {
			return err
		}
		used = used || len(ps) > 0
	}
	old, err := readRoster(n.fs, n.rosterPath())
	if err != nil || slices.Equal(old, now) {
		return err
	}
	if len(old) == 0 && used {
		n.log.Warn("the list of log directories is missing and is made anew; that one of them is not there could not be noticed", "file", n.rosterPath())
	}
	if err := vfs.WriteFile(n.fs, n.rosterPath(), encodeRoster(now), true); err != nil {
		return fmt.Errorf("write the list of log directories: %w", err)
	}
	return nil
}

func (n *Node) rosterPath() string { return filepath.Join(n.cfg.MetadataDir, rosterName) }
