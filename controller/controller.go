package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"ringmain/metadata"
)

// Controller is this node's part of the metadata quorum. Its methods may be
// called from any goroutine.
type Controller struct {
	cfg    Config
	log    *slog.Logger
	fault  *fault
	lock   io.Closer
	state  *stateStore
	logs   *logStore
	checks *checkpointStore
	fsm    *imageFSM
	trans  *transport
	raft   *raft.Raft // nil until Start

	// shutdown ends raft: the first call's future is the only one that waits for
	// its goroutines.
	shutdown func() raft.Future

	// lastCommand is the last entry with records that was in the log when it was
	// opened: a single voter has committed it, so an image without it is old.
	lastCommand uint64

	changes    chan *change
	stop       chan struct{} // closed by Close: no more changes
	background sync.WaitGroup
	closing    sync.Mutex
	closed     bool
	producers  producerIDs

	// provenTerm is the term in which this node, as the leader of several, has
	// seen everything that was committed before it. Owned by the proposer.
	provenTerm uint64

	// checkpointing is set while a checkpoint is written; checkpointAt is what
	// had been appended to the log when the last one began.
	checkpointing   atomic.Bool
	checkpointAt    int64
	checkpointIndex uint64
}

// leadTimeout bounds how long a single voter may take to lead and to apply its
// log: thousands of times what it takes.
const leadTimeout = 30 * time.Second

// Open locks, formats or verifies cfg.Dir and reads the newest checkpoint. The
// error is a sentence that names the file and the byte when a file is not as it
// was written; then nothing was changed.
func Open(cfg Config, log *slog.Logger) (*Controller, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Controller{
		cfg: cfg, log: log, fault: newFault(),
		changes: make(chan *change, changeQueue), stop: make(chan struct{}),
	}
	if err := c.open(); err != nil {
		c.closeFiles()
		return nil, fmt.Errorf("open metadata directory %s: %w", cfg.Dir, err)
	}
	return c, nil
}

func (c *Controller) open() (err error) {
	fsys, dir := c.cfg.FS, c.cfg.Dir
	if err = makeDir(fsys, dir); err != nil {
		return err
	}
	found, err := readContents(fsys, dir)
	if err != nil {
		return err
	}
	fresh, err := inspect(&c.cfg, found) // before a lock file is put beside somebody's files
	if err != nil {
		return err
	}
	if c.lock, err = fsys.Lock(filepath.Join(dir, lockName)); err != nil {
		return err
	}
	for _, name := range found.leftovers {
		if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if fresh {
		if err := format(&c.cfg, found); err != nil {
			return err
		}
	}
	if c.state, err = openStateStore(fsys, dir, c.fault); err != nil {
		return err
	}
	return c.openLog()
}

// openLog verifies checkpoints and log, and that they and the quorum state
// belong together.
func (c *Controller) openLog() (err error) {
	fsys, dir := c.cfg.FS, c.cfg.Dir
	if c.checks, err = openCheckpointStore(fsys, dir, c.log, c.fault); err != nil {
		return err
	}
	meta, img, err := c.checks.newest()
	if err != nil {
		return err
	}
	q := c.state.record()
	v := logVerifier{term: q.term}
	if meta != nil {
		v.covered = meta.Index
		c.checkpointIndex = meta.Index
		if meta.Term > v.term {
			return damaged(c.state.path, 40, "the term is %d, a checkpoint has term %d: the file is older than the rest of the directory", v.term, meta.Term)
		}
	}
	if c.logs, err = openLogStore(fsys, dir, c.log, c.fault, openMode{covered: v.covered, strict: q.clean, reached: q.reached}, v.visit); err != nil {
		return err
	}
	c.logs.beforeAppend = c.state.markDirty
	c.logs.noteReached = c.state.noteReached
	c.logs.keepAfter = c.checks.keepAfter
	first, _ := c.logs.FirstIndex()
	switch {
	case first == 0 && meta == nil:
		return damaged(filepath.Join(dir, segmentName(1)), 0, "the log is missing")
	case first != 0 && first > v.covered+1:
		return damaged(filepath.Join(dir, segmentName(first)), 0, "the log begins with entry %d, entries %d to %d are missing", first, v.covered+1, first-1)
	}
	if q.clean && q.tail != c.logs.tail() {
		t := c.logs.tail()
		return damaged(filepath.Join(dir, segmentName(t.segment)), int64(t.size),
			"the log ends with entry %d, but at the last clean stop it ended with entry %d at byte %d of %s",
			t.lastIndex, q.tail.lastIndex, q.tail.size, segmentName(q.tail.segment))
	}
	c.lastCommand = v.lastCommand
	c.fsm = newImageFSM(img, uint64(img.Offset()), c.logs.applied, c.fault)
	return nil
}

// logVerifier checks each entry of the log before raft sees any: raft panics on
// what it cannot decode.
type logVerifier struct {
	covered     uint64 // entries up to here are in the checkpoint
	term        uint64 // of the quorum state
	lastTerm    uint64
	lastCommand uint64
}

func (v *logVerifier) visit(path string, at int64, l *raft.Log) (err error) {
	if l.Term < v.lastTerm {
		return damaged(path, at, "entry %d has term %d, the one before has term %d", l.Index, l.Term, v.lastTerm)
	}
	if l.Term > v.term {
		return damaged(path, at, "entry %d has term %d, %s knows terms up to %d: it is older than the log", l.Index, l.Term, quorumStateName, v.term)
	}
	v.lastTerm = l.Term
	if l.Index <= v.covered {
		return nil
	}
	switch l.Type {
	case raft.LogCommand:
		v.lastCommand = l.Index
		if _, err := metadata.Decode(l.Data); err != nil {
			return fmt.Errorf("%s: entry %d at byte %d: %w", path, l.Index, at, err)
		}
	case raft.LogConfiguration:
		defer func() {
			if p := recover(); p != nil { // DecodeConfiguration has no other way to say it
				err = damaged(path, at, "entry %d is no configuration: %v", l.Index, p)
			}
		}()
		raft.DecodeConfiguration(l.Data)
	case raft.LogNoop, raft.LogBarrier:
	default:
		return fmt.Errorf("%w: %s at byte %d: entry %d has type %d", ErrNewer, path, at, l.Index, l.Type)
	}
	return nil
}

// Start joins the quorum. A single voter leads when it returns. Image() then
// includes every change that was ever answered.
func (c *Controller) Start(ctx context.Context) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return ErrClosed
	}
	if c.raft != nil {
		return fmt.Errorf("the controller was started already")
	}
	conf := raft.DefaultConfig()
	conf.LocalID = serverID(c.cfg.NodeID)
	conf.Logger = newRaftLogger(c.log)
	conf.NoSnapshotRestoreOnStart = true         // Open has read the checkpoint
	conf.SnapshotThreshold = math.MaxUint64      // checkpoints are begun by maybeCheckpoint
	conf.SnapshotInterval = 365 * 24 * time.Hour // so raft has nothing to look for
	conf.TrailingLogs = trailingEntries
	conf.NoLegacyTelemetry = true
	c.trans = newTransport(c.cfg.network)
	r, err := raft.NewRaft(conf, c.fsm, c.logs, c.state, c.checks, c.trans)
	if err != nil {
		c.trans.Close()
		return fmt.Errorf("start the metadata quorum: %w", err)
	}
	c.raft = r
	c.shutdown = sync.OnceValue(r.Shutdown)
	c.background.Add(2)
	go c.propose()
	go c.watchFault()
	if err := c.lead(ctx); err != nil {
		return fmt.Errorf("start the metadata quorum: %w", err)
	}
	if err := c.catchUp(ctx); err != nil {
		return fmt.Errorf("read the metadata log: %w", err)
	}
	return nil
}

// singleVoter reports whether no other node has a vote.
func (c *Controller) singleVoter() bool {
	voters := 0
	for _, s := range c.raft.GetConfiguration().Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters++
			if s.ID != serverID(c.cfg.NodeID) {
				return false
			}
		}
	}
	return voters == 1
}

// lead makes a single voter the leader without an election timeout. With other
// voters it does nothing.
func (c *Controller) lead(ctx context.Context) error {
	if c.raft.State() == raft.Leader || !c.singleVoter() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	for c.raft.State() != raft.Leader {
		if err := c.logs.Reserve(0); err != nil { // it would lead, fail to write that down, and stop leading
			return err
		}
		c.logs.forgetFailure()
		select { // what changed before is no answer to this attempt
		case <-c.raft.LeaderCh():
		default:
		}
		if err := c.trans.standForElection(ctx, serverID(c.cfg.NodeID)); err != nil {
			return err
		}
		select {
		case <-c.raft.LeaderCh(): // says that it changed, not to what
		case <-c.fault.hit:
			return c.fault.check()
		case <-c.stop:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := errors.Join(c.fault.check(), c.logs.lastFailure()); err != nil {
			return err
		}
	}
	return nil
}

// catchUp waits until the image includes what is committed.
func (c *Controller) catchUp(ctx context.Context) error {
	if c.singleVoter() {
		ctx, cancel := context.WithTimeout(ctx, leadTimeout)
		defer cancel()
		err := c.fsm.wait(ctx, c.lastCommand, c.logs.failed)
		if failure := c.logs.lastFailure(); err != nil && failure != nil {
			return failure
		}
		return err
	}
	// Among several, what is committed is known when a leader has committed an
	// entry of its own term.
	const look = 5 * time.Millisecond
	for {
		_, leader := c.raft.LeaderWithID()
		commit := c.raft.CommitIndex()
		if leader != "" && commit > 0 && c.raft.AppliedIndex() >= commit && c.committedInTerm(commit) {
			return nil
		}
		select {
		case <-time.After(look):
		case <-c.fault.hit:
			return c.fault.check()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Controller) committedInTerm(index uint64) bool {
	var l raft.Log
	err := c.logs.GetLog(index, &l)
	return errors.Is(err, raft.ErrLogNotFound) || err == nil && l.Term == c.raft.CurrentTerm() // not found: a checkpoint has it
}

// watchFault ends raft when storage has failed for good: it would go on
// electing itself and failing to write, for ever. Image() stays.
func (c *Controller) watchFault() {
	defer c.background.Done()
	select {
	case <-c.fault.hit:
		c.log.Error("metadata can be read but not changed any more", "error", c.fault.check())
		c.shutdown()
	case <-c.stop:
	}
}

// Image returns the newest image: all that is committed and known here.
func (c *Controller) Image() *metadata.Image { return c.fsm.image.Load() }

// ClusterID returns the id of the cluster that the directory belongs to.
func (c *Controller) ClusterID() string { return c.state.record().clusterID }

// Err returns the failure after which no change is taken any more, or nil. It
// is for health checks.
func (c *Controller) Err() error { return c.fault.check() }

// Close ends this node's part in the quorum. Changes that were not answered get
// ErrClosed or ErrOutcomeUnknown. A clean stop is recorded, so that the next
// Open notices when files were replaced in between.
func (c *Controller) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	close(c.stop)
	var err error
	if c.raft != nil {
		c.background.Wait()
		if c.fault.check() == nil && c.sinceCheckpoint() > trailingEntries {
			c.checkpoint() // a few milliseconds now for a faster start later
		}
		err = c.shutdown().Error()
	}
	c.fsm.stopWatchers()
	if c.raft != nil && err == nil && c.fault.check() == nil {
		err = c.state.markClean(c.logs.tail())
	}
	return errors.Join(err, c.closeFiles())
}

func (c *Controller) closeFiles() error {
	var errs []error
	if c.logs != nil {
		errs = append(errs, c.logs.close())
	}
	if c.state != nil {
		errs = append(errs, c.state.close())
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	return errors.Join(errs...)
}
