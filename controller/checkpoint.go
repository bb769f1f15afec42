package controller

import (
	"errors"

	"github.com/hashicorp/raft"
)

// sinceCheckpoint returns how many entries a start would read again.
func (c *Controller) sinceCheckpoint() uint64 {
	last := c.raft.LastIndex()
	return last - min(last, c.checkpointIndex)
}

// maybeCheckpoint begins a checkpoint when the log has grown enough since the
// last one, and does not wait for it. Called by the proposer only.
func (c *Controller) maybeCheckpoint() {
	if c.sinceCheckpoint() < c.cfg.limits.checkpointEntries && c.logs.appended()-c.checkpointAt < c.cfg.limits.checkpointBytes {
		return
	}
	if !c.checkpointing.CompareAndSwap(false, true) {
		return
	}
	// Also after a failure the next attempt waits for as much log again: a full
	// disk is not helped by trying with every change.
	c.checkpointAt, c.checkpointIndex = c.logs.appended(), c.raft.LastIndex()
	c.background.Add(1)
	go func() {
		defer c.background.Done()
		defer c.checkpointing.Store(false)
		c.checkpoint()
	}()
}

func (c *Controller) checkpoint() {
	err := c.raft.Snapshot().Error()
	if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
		c.log.Warn("write a metadata checkpoint; the log is kept until the next one", "error", err)
	}
}
