package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
)

// topicPrefix begins the names of topics that Run makes.
const topicPrefix = "ringmain-bench-"

// servePatience is how long new partitions may take until they are served.
const servePatience = time.Minute

// newRunNumber tells one run from others.
func newRunNumber() uint32 {
	var number [4]byte
	_, _ = rand.Read(number[:]) // never fails
	return binary.BigEndian.Uint32(number[:])
}

// topics makes the topics of the load, or finds the one that is there, and learns who
// leads their partitions.
func (r *run) topics(ctx context.Context) error {
	s := &r.Spec
	if s.Kind == workload.Idle {
		return nil
	}
	names := []string{s.Topic}
	if s.Topic == "" {
		names = names[:0]
		run := newRunNumber()
		for i := range s.Topics {
			name := fmt.Sprintf("%s%08x", topicPrefix, run)
			if s.Topics > 1 {
				name += "-" + strconv.Itoa(i)
			}
			names = append(names, name)
		}
		if err := r.makeTopics(ctx, names); err != nil {
			return err
		}
	} else if s.Kind.Produces() && !r.Existing {
		return fmt.Errorf("topic %q would be written to, and it may be somebody's: say that it is to be used, or name none to have one made", s.Topic)
	}
	for deadline := time.Now().Add(servePatience); ; {
		err := r.findPartitions(ctx, names)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if s.Topic != "" && errors.Is(err, kerr.UnknownTopicOrPartition) || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, askAgain); err != nil {
			return err
		}
	}
}

func (r *run) makeTopics(ctx context.Context, names []string) error {
	configs := map[string]*string{}
	for k, v := range r.Spec.TopicConfig {
		configs[k] = &v
	}
	// Noted first: what is interrupted may have been made.
	r.made = slices.Clone(names)
	answers, err := r.admin.CreateTopics(ctx, int32(r.Spec.Partitions), int16(r.Spec.ReplicationFactor), configs, names...)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	var failures []error
	for _, a := range answers.Sorted() {
		if a.Err != nil && !errors.Is(a.Err, kerr.RequestTimedOut) {
			// It was not made, or it is somebody's: nothing of ours is there to be removed.
			r.made = slices.DeleteFunc(r.made, func(name string) bool { return name == a.Topic })
		}
		if a.Err != nil {
			failures = append(failures, fmt.Errorf("create topic %q with replication factor %d: %w %s", a.Topic, r.Spec.ReplicationFactor, a.Err, a.ErrMessage))
		}
	}
	return first(failures)
}

// first is the first of the errors, if there is one: of a thousand topics that cannot
// be made, all say the same.
func first(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	return failures[0]
}

// findPartitions fills r.partitions in, if all of them are served.
func (r *run) findPartitions(ctx context.Context, names []string) error {
	meta, err := r.admin.Metadata(ctx, names...)
	if err != nil {
		return err
	}
	addresses := map[int32]string{}
	for _, b := range meta.Brokers {
		addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	r.partitions = r.partitions[:0]
	for _, name := range names {
		if err := leaders(meta, name); err != nil {
			return err
		}
		detail := meta.Topics[name]
		for p := range int32(len(detail.Partitions)) {
			d, ok := detail.Partitions[p]
			if !ok {
				return fmt.Errorf("topic %q: the brokers say nothing of partition %d", name, p)
			}
			r.partitions = append(r.partitions, load.Partition{Topic: name, TopicID: detail.ID, Index: p, Leader: addresses[d.Leader]})
		}
	}
	return r.findBounds(ctx, names)
}

// findBounds asks where the logs begin and end, which only those answer that serve
// them.
func (r *run) findBounds(ctx context.Context, names []string) error {
	starts, err := r.admin.ListStartOffsets(ctx, names...)
	if err == nil {
		err = starts.Error()
	}
	var ends kadm.ListedOffsets
	if err == nil {
		ends, err = r.admin.ListEndOffsets(ctx, names...)
	}
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the bounds of the partitions: %w", err)
	}
	for i := range r.partitions {
		p := &r.partitions[i]
		start, ok1 := starts.Lookup(p.Topic, p.Index)
		end, ok2 := ends.Lookup(p.Topic, p.Index)
		if !ok1 || !ok2 {
			return fmt.Errorf("topic %q: the brokers do not say where partition %d begins and ends", p.Topic, p.Index)
		}
		p.Start, p.End = start.Offset, end.Offset
	}
	return nil
}

// fill writes what is there to be fetched before the load begins, in a topic of
// ours.
func (r *run) fill(ctx context.Context) error {
	if !r.Spec.Fills() || r.Spec.Topic != "" {
		return nil
	}
	s := r.Spec
	s.Kind, s.Rate, s.Acks, s.Idempotent = workload.Produce, workload.Rate{}, 1, false
	s.Connections = max(min(fillConnections, len(r.partitions)), r.leaders(), 1)
	s.InFlight = fillInFlight
	meter := &load.Meter{}
	engine, err := newEngine(r.env(s, nil, meter))
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.Open(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- engine.Run(ctx, pace.Now(), stop) }()
	written := int64(0)
	for written < s.FillBytes {
		select {
		case err := <-ended:
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err == nil:
				err = errEnded
			}
			return fmt.Errorf("fill the topic: %w", err)
		case <-time.After(fillLook):
		}
		if ctx.Err() != nil {
			<-ended
			return context.Cause(ctx)
		}
		i := meter.Take()
		if i.Failures() > 0 {
			cancel()
			<-ended
			return fmt.Errorf("fill the topic: requests fail: %s", listed(i.Errors))
		}
		written += i.Sections[load.Produce].Bytes
		r.say("fill", min(1, float64(written)/float64(s.FillBytes)))
	}
	close(stop)
	switch err := <-ended; {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("fill the topic: %w", err)
	}
	var names []string
	for i := range r.partitions {
		if n := len(names); n == 0 || names[n-1] != r.partitions[i].Topic {
			names = append(names, r.partitions[i].Topic)
		}
	}
	return r.findBounds(ctx, names)
}

// leaders is how many brokers lead partitions of the load.
func (r *run) leaders() int {
	seen := map[string]bool{}
	for i := range r.partitions {
		seen[r.partitions[i].Leader] = true
	}
	return len(seen)
}

const (
	fillConnections = 8
	fillInFlight    = 5
	fillLook        = 20 * time.Millisecond
)

// cleanUp removes the topics that were made. Brokers that are being restarted have some
// time to come back.
func (r *run) cleanUp() error {
	if len(r.made) == 0 || r.Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.within.cleanUp)
	defer cancel()
	r.say("clean up", 0)
	for {
		answers, err := r.admin.DeleteTopics(ctx, r.made...)
		if err != nil {
			if pause(ctx, askAgain) != nil {
				return &LeftBehind{r.made, err}
			}
			continue
		}
		left := &LeftBehind{}
		for _, a := range answers.Sorted() {
			if a.Err != nil && !errors.Is(a.Err, kerr.UnknownTopicOrPartition) {
				left.Topics, left.Err = append(left.Topics, a.Topic), a.Err
			}
		}
		if left.Err != nil {
			return left
		}
		return nil
	}
}
