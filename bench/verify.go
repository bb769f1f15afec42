package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
)

// VerifyOptions say what Verify writes and where. Zero values of Topic to
// Replication are what most want.
type VerifyOptions struct {
	Client []kgo.Opt // how to reach the cluster: addresses, security

	// Topic: written to only if Existing says that it is there already and may
	// be. "": a topic of its own, under a new name.
	Topic       string
	Existing    bool
	Partitions  int32
	Replication int16
	TopicConfig map[string]*string

	ValueBytes int
	BatchBytes int32
	Codec      kgo.CompressionCodec
	Rate       float64 // records/s; 0: as fast as they are acknowledged

	// Writing ends after Records or Duration, whichever comes first; 0 is no
	// bound. Both 0: nothing is written, what is there already is checked.
	Records  int64
	Duration time.Duration

	// StatePath names the file with the account, so that the check can be
	// resumed. "": none, and the topic is deleted in the end.
	StatePath string
	Resume    bool // StatePath is there and goes on
	// Remove: after a check that found nothing wrong, the topic (if it is
	// Verify's own) and the state file go, although there is a state file.
	Remove bool

	// Patience is how long the brokers may be away before Verify gives up.
	Patience time.Duration
	Progress func(VerifyProgress) // may be nil; called from one goroutine at a time
	Log      *slog.Logger
}

// VerifyProgress is how far a Verify is.
type VerifyProgress struct {
	Phase        string // "write" or "read"
	Sent, Acked  int64
	Read, ToRead int64
	Elapsed      time.Duration
}

// VerifyReport is what a Verify found.
type VerifyReport struct {
	Topic      string        `json:"topic"`
	ClusterID  string        `json:"cluster_id"`
	Partitions int           `json:"partitions"`
	State      string        `json:"state,omitempty"`
	Kept       bool          `json:"kept"`     // the topic is still there
	Sessions   int           `json:"sessions"` // processes that wrote to it
	Written    int64         `json:"written"`  // acknowledged in this run
	WriteTime  time.Duration `json:"write_ns"`
	LongestGap time.Duration `json:"longest_gap_ns"` // without any acknowledgement
	Read       int64         `json:"read"`
	Unreadable []string      `json:"unreadable,omitempty"` // partitions that could not be read to their end
	OK         bool          `json:"ok"`
	Verdict    audit.Verdict `json:"verdict"`
}

// The limits of VerifyOptions.
const (
	maxVerifyPartitions = 10_000
	maxVerifyValueBytes = 64 << 20
	verifyCleanUpWithin = 10 * time.Second // for what must be done after the context has ended
)

// Check says what is wrong with the options, without asking a broker.
func (o *VerifyOptions) Check() error {
	switch {
	case o.ValueBytes < audit.StampBytes || o.ValueBytes > maxVerifyValueBytes:
		return fmt.Errorf("a value of %d bytes: it must have from %d (the stamp) to %d", o.ValueBytes, audit.StampBytes, maxVerifyValueBytes)
	case !o.Existing && !o.Resume && (o.Partitions < 1 || o.Partitions > maxVerifyPartitions):
		return fmt.Errorf("%d partitions: it must be from 1 to %d", o.Partitions, maxVerifyPartitions)
	case o.Records < 0 || o.Duration < 0 || o.Rate < 0:
		return errors.New("the number of records, the duration and the rate cannot be negative")
	case o.Patience <= 0:
		return fmt.Errorf("patience of %v: it must be more than 0", o.Patience)
	case o.Existing && o.Topic == "":
		return errors.New("an existing topic is to be used, and no topic is named")
	case o.Resume && o.StatePath == "":
		return errors.New("there is no state file to resume from")
	case o.Records == 0 && o.Duration == 0 && !o.Resume:
		return errors.New("nothing to write and nothing to resume: there is nothing to check")
	}
	return nil
}

// verification is one run of Verify. It belongs to the goroutine that runs it;
// the writer and the readers have goroutines of their own, which share the book.
type verification struct {
	VerifyOptions
	client *kgo.Client
	admin  *kadm.Client
	state  *audit.State
	book   *audit.Book
	report VerifyReport
}

// Verify writes records that can be told apart, with acks=all, then reads back
// all that was ever acknowledged, and returns what it found. Brokers may be
// killed and restarted meanwhile, and between a run and the one that resumes it.
// Records that are not as they were acknowledged are an *audit.FaultError; the
// report is then complete all the same, and the topic stays for a closer look.
func Verify(ctx context.Context, o VerifyOptions) (*VerifyReport, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	v := &verification{VerifyOptions: o}
	v.report.State = o.StatePath
	var err error
	if v.client, err = kgo.NewClient(o.Client...); err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	defer v.client.Close()
	v.admin = kadm.NewClient(v.client)
	if err := v.begin(ctx); err != nil {
		return nil, err
	}
	err = v.run(ctx)
	v.report.Kept = true
	if v.mayRemove(err) {
		if removing := v.remove(v.state.Topic); removing != nil {
			err = errors.Join(err, removing)
		} else {
			v.report.Kept = false
		}
	}
	v.report.OK = err == nil
	return &v.report, err
}

// begin finds or makes the topic and the account.
func (v *verification) begin(ctx context.Context) error {
	if v.Resume {
		if err := v.resumeTopic(ctx); err != nil {
			return err
		}
	} else if err := v.newTopic(ctx); err != nil {
		return err
	}
	v.report.Topic, v.report.ClusterID, v.report.Partitions = v.state.Topic, v.state.ClusterID, len(v.state.Start)
	return nil
}

func (v *verification) run(ctx context.Context) error {
	var failures []error
	if v.Records > 0 || v.Duration > 0 {
		if err := v.write(ctx); err != nil {
			if ctx.Err() != nil {
				return v.interrupted(err)
			}
			// What was acknowledged before is judged all the same.
			failures = append(failures, err)
		}
	} else {
		var err error
		if v.book, err = v.state.Book(); err != nil {
			return err
		}
	}
	v.report.Sessions = len(v.state.Sessions)
	if err := v.read(ctx); err != nil {
		if ctx.Err() != nil {
			return v.interrupted(err)
		}
		return errors.Join(append(failures, err)...)
	}
	v.report.Verdict = v.book.Verdict()
	if err := v.report.Verdict.Err(); err != nil {
		failures = append(failures, err)
	} else if len(v.report.Unreadable) > 0 {
		failures = append(failures, fmt.Errorf("%d partitions could not be read to their end: %s", len(v.report.Unreadable), v.report.Unreadable[0]))
	}
	return errors.Join(failures...)
}

// interrupted says how to go on after the context has ended.
func (v *verification) interrupted(err error) error {
	if v.StatePath == "" {
		return fmt.Errorf("nothing was checked: %w", err)
	}
	return fmt.Errorf("nothing was checked: %w; go on with --resume %s", err, v.StatePath)
}

// mayRemove decides about the topic: what found something wrong stays, and so
// does what can be resumed, unless its removal was asked for.
func (v *verification) mayRemove(err error) bool {
	var fault *audit.FaultError
	switch {
	case !v.state.Made, errors.As(err, &fault), len(v.report.Unreadable) > 0:
		return false
	case v.StatePath == "":
		return true
	}
	return v.Remove && err == nil
}

// remove deletes the topic and its account, also when the context has ended.
func (v *verification) remove(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), verifyCleanUpWithin)
	defer cancel()
	resp, err := v.admin.DeleteTopic(ctx, topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %q: %w", topic, err)
	}
	if v.StatePath == "" {
		return nil
	}
	if err := os.Remove(v.StatePath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the state file: %w", err)
	}
	return nil
}

func (v *verification) save() error {
	if v.StatePath == "" {
		return nil
	}
	return v.state.Save(v.StatePath)
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
