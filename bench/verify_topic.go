package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/bench/audit"
)

// verifyTopicPrefix begins the names of topics that Verify makes.
const verifyTopicPrefix = "ringmain-verify-"

// askAgain is the pause between two questions of the same kind.
const askAgain = 100 * time.Millisecond

// newTopic makes the topic, or takes the existing one, and opens the account.
func (v *verification) newTopic(ctx context.Context) error {
	if v.StatePath != "" {
		if _, err := os.Lstat(v.StatePath); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("state file %s is there already; resume from it, or name another one", v.StatePath)
		}
	}
	var number [4]byte
	_, _ = rand.Read(number[:]) // never fails
	run := binary.BigEndian.Uint32(number[:])
	name := v.Topic
	if name == "" {
		name = fmt.Sprintf("%s%08x", verifyTopicPrefix, run)
	}
	start := make([]int64, v.Partitions)
	if !v.Existing {
		resp, err := v.admin.CreateTopic(ctx, v.Partitions, v.Replication, v.TopicConfig, name)
		switch {
		case errors.Is(resp.Err, kerr.TopicAlreadyExists), errors.Is(err, kerr.TopicAlreadyExists):
			return fmt.Errorf("topic %q is there already, and it may be somebody's; say with --existing that it is to be used, or name another one", name)
		case resp.Err != nil:
			return fmt.Errorf("create topic %q with replication factor %d: %w %s", name, v.Replication, resp.Err, resp.ErrMessage)
		case err != nil:
			// It may have been made all the same. A name that was drawn by lot is
			// nobody else's; with another one that is not known.
			err = fmt.Errorf("create topic %q: %w", name, err)
			if v.Topic == "" {
				return errors.Join(err, v.remove(name))
			}
			return err
		}
	}
	v.state = audit.NewState(run, name, start, v.ValueBytes)
	v.state.Made = !v.Existing
	err := v.lookUp(ctx)
	if err == nil {
		// Where this file cannot be written, nothing can be resumed.
		err = v.save()
	}
	if err != nil && v.state.Made {
		return errors.Join(err, v.remove(v.state.Topic))
	}
	return err
}

// lookUp waits until the topic is served, and notes what identifies it.
func (v *verification) lookUp(ctx context.Context) error {
	meta, err := v.served(ctx)
	if err != nil {
		return err
	}
	detail := meta.Topics[v.state.Topic]
	v.state.ClusterID, v.state.TopicID = meta.Cluster, detail.ID.String()
	if !v.Existing {
		return nil
	}
	ends, err := v.admin.ListEndOffsets(ctx, v.state.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the end of topic %q: %w", v.state.Topic, err)
	}
	v.state.Start = make([]int64, len(detail.Partitions))
	for p := range v.state.Start {
		end, ok := ends.Lookup(v.state.Topic, int32(p))
		if !ok {
			return fmt.Errorf("topic %q: the brokers do not say where partition %d ends", v.state.Topic, p)
		}
		v.state.Start[p] = end.Offset
	}
	return nil
}

// served returns the metadata once every partition has a leader. Brokers may be
// starting meanwhile.
func (v *verification) served(ctx context.Context) (kadm.Metadata, error) {
	for deadline := time.Now().Add(v.Patience); ; {
		meta, err := v.admin.Metadata(ctx, v.state.Topic)
		if err == nil {
			if err = leaders(meta, v.state.Topic); err == nil {
				return meta, nil
			}
		}
		if v.Existing && errors.Is(err, kerr.UnknownTopicOrPartition) {
			return meta, err
		}
		if ctx.Err() != nil {
			return meta, context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return meta, fmt.Errorf("after %v: %w", v.Patience, err)
		}
		if err := pause(ctx, askAgain); err != nil {
			return meta, err
		}
	}
}

// leaders is nil if every partition of the topic has one.
func leaders(meta kadm.Metadata, topic string) error {
	detail, ok := meta.Topics[topic]
	switch {
	case !ok:
		return fmt.Errorf("the brokers say nothing about topic %q", topic)
	case detail.Err != nil:
		return fmt.Errorf("topic %q: %w", topic, detail.Err)
	case len(detail.Partitions) == 0:
		return fmt.Errorf("topic %q has no partitions", topic)
	}
	for p, d := range detail.Partitions {
		if d.Err != nil {
			return fmt.Errorf("topic %q, partition %d: %w", topic, p, d.Err)
		}
		if d.Leader < 0 {
			return fmt.Errorf("topic %q, partition %d has no leader", topic, p)
		}
	}
	return nil
}

// resumeTopic loads the account and finds its topic again. A topic that is gone
// or that was made anew is not an account to go on with: nothing in it is what
// was acknowledged.
func (v *verification) resumeTopic(ctx context.Context) error {
	state, err := audit.LoadState(v.StatePath)
	if err != nil {
		return err
	}
	v.state, v.ValueBytes = state, state.ValueBytes
	meta, err := v.served(ctx)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%w: all that was acknowledged in it is lost", err)
	}
	if err != nil {
		return err
	}
	detail := meta.Topics[state.Topic]
	switch {
	case state.ClusterID != meta.Cluster:
		return fmt.Errorf("this is cluster %q; the account in %s is of cluster %q", meta.Cluster, v.StatePath, state.ClusterID)
	case state.TopicID != detail.ID.String():
		return fmt.Errorf("topic %q was made anew (its id is %s, was %s): all that was acknowledged in it is lost", state.Topic, detail.ID, state.TopicID)
	case len(detail.Partitions) < len(state.Start):
		return fmt.Errorf("topic %q has %d partitions, had %d: what was acknowledged in the others is lost", state.Topic, len(detail.Partitions), len(state.Start))
	}
	return nil
}
