package controller

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// CanDump reports whether a file of this name is one that DumpFile prints.
func CanDump(path string) bool {
	name := filepath.Base(path)
	return name == quorumStateName || strings.HasSuffix(name, segmentSuffix) || strings.HasSuffix(name, checkpointSuffix)
}

// DumpFile prints a file of a metadata directory as text: a log file, a
// checkpoint, or quorum-state. It only reads, and a broker may be using the
// file. Damage is reported where it lies, and as the error.
func DumpFile(w io.Writer, path string) error {
	out := bufio.NewWriter(w)
	return errors.Join(dump(out, vfs.OS{}, path), out.Flush())
}

func dump(w *bufio.Writer, fsys vfs.FS, path string) error {
	name := filepath.Base(path)
	if strings.HasSuffix(name, checkpointSuffix) {
		return dumpCheckpoint(w, fsys, path)
	}
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return err
	}
	if name == quorumStateName {
		return dumpQuorumState(w, path, b)
	}
	first, err := parseSegmentHeader(b, path, math.MaxUint64)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "raft log, version %d, first entry %d, %d bytes\n", segmentVersion, first, len(b))
	return scanFrames(b, path, first, func(at int64, l *raft.Log) error {
		fmt.Fprintf(w, "entry %d term %d at %d: %s, %d bytes", l.Index, l.Term, at, entryKind(l.Type), len(l.Data))
		if !l.AppendedAt.IsZero() {
			fmt.Fprintf(w, ", appended %s", l.AppendedAt.UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		fmt.Fprintln(w)
		if l.Type != raft.LogCommand {
			return nil
		}
		records, err := metadata.Decode(l.Data)
		if err != nil {
			fmt.Fprintf(w, "  %v\n", err)
			return nil
		}
		for _, r := range records {
			fmt.Fprintf(w, "  %s\n", describe(r))
		}
		return nil
	}, func(at int64) bool {
		fmt.Fprintf(w, "torn write at %d: %d bytes, which the next start cuts\n", at, int64(len(b))-at)
		return true
	})
}

func entryKind(t raft.LogType) string {
	switch t {
	case raft.LogCommand:
		return "records"
	case raft.LogNoop:
		return "a leader begins"
	case raft.LogBarrier:
		return "barrier"
	case raft.LogConfiguration:
		return "configuration of the quorum"
	}
	return t.String()
}

// describe prints a record as its type and fields; optional values by content.
func describe(r metadata.Record) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", r), "metadata.")
	switch r := r.(type) {
	case metadata.ConfigRecord:
		value := "(removed)"
		if r.Value != nil {
			value = fmt.Sprintf("%q", *r.Value)
		}
		return fmt.Sprintf("%s %v %q %s = %s", name, r.Kind, r.Name, r.Key, value)
	case metadata.PartitionChangeRecord:
		leader := "unchanged"
		if r.Leader != nil {
			leader = fmt.Sprint(*r.Leader)
		}
		return fmt.Sprintf("%s {TopicID:%v Index:%d Leader:%s ISR:%v Replicas:%v Adding:%v Removing:%v}",
			name, r.TopicID, r.Index, leader, r.ISR, r.Replicas, r.Adding, r.Removing)
	}
	return fmt.Sprintf("%s %+v", name, r)
}

func dumpQuorumState(w *bufio.Writer, path string, b []byte) error {
	for n, at := range []int64{0, slotDistance} {
		if int64(len(b)) < at+slotSize {
			break
		}
		q, err := decodeSlot(b[at:at+slotSize], path, at)
		switch {
		case err != nil:
			fmt.Fprintf(w, "slot %d: %v\n", n, err)
		case q == nil:
			fmt.Fprintf(w, "slot %d: empty\n", n)
		default:
			fmt.Fprintf(w, "slot %d: sequence %d node %d cluster %s directory %v term %d voted in term %d for %q", n,
				q.sequence, q.nodeID, q.clusterID, q.directoryID, q.term, q.voteTerm, q.candidate)
			if q.clean {
				fmt.Fprintf(w, ", stopped cleanly after entry %d", q.tail.lastIndex)
			}
			fmt.Fprintln(w)
		}
	}
	q, err := decodeQuorumState(b, path)
	if err == nil && q.reached > 0 {
		fmt.Fprintf(w, "the log had reached entry %d\n", q.reached)
	}
	return err
}

func dumpCheckpoint(w *bufio.Writer, fsys vfs.FS, path string) error {
	s := checkpointStore{fs: fsys, dir: filepath.Dir(path)}
	meta, img, err := s.read(filepath.Base(path))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "checkpoint, version %d, of entry %d in term %d, image of %d bytes\n", checkpointVersion, meta.Index, meta.Term, meta.Size)
	for _, server := range meta.Configuration.Servers {
		fmt.Fprintf(w, "  %v %s\n", server.Suffrage, server.ID)
	}
	fmt.Fprintf(w, "cluster %s, features %v at %d, next producer id %d\n", img.ClusterID(), img.Features(), img.FeaturesEpoch(), img.NextProducerID())
	for _, b := range img.Brokers() {
		fmt.Fprintf(w, "broker %+v\n", *b)
	}
	for _, name := range img.TopicNames() {
		t := img.Topic(name)
		fmt.Fprintf(w, "topic %s %v\n", t.Name, t.ID)
		for p := range t.Partitions {
			fmt.Fprintf(w, "  %d: %+v\n", p, t.Partitions[p])
		}
	}
	for _, kind := range []metadata.ResourceKind{metadata.TopicResource, metadata.BrokerResource, metadata.ClientMetricsResource, metadata.GroupResource} {
		for _, name := range img.ConfigNames(kind) {
			fmt.Fprintf(w, "configuration of %v %q: %v\n", kind, name, img.Config(kind, name))
		}
	}
	return nil
}
