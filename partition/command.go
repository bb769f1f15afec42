package partition

import "ringmain/segment"

// Adopt gives r to the shard's loop; call it before r is published.
func (s *Shard) Adopt(r *Replica) error {
	r.shard = s
	return s.Post(&adopt{r})
}

type adopt struct{ r *Replica }

func (c *adopt) run(s *Shard) {
	r := c.r
	s.replicas[r] = struct{}{}
	if r.log.SyncedOffset() < r.log.EndOffset() { // written before a kill, and by now as old as can be
		r.noteUnsynced()
		s.watch(r)
	}
}

// task runs a function on the loop after everything staged before it is
// written.
type task struct {
	fn   func(s *Shard) error
	done chan error // capacity 1
}

func (c *task) run(s *Shard) {
	s.flush()
	c.done <- c.fn(s)
}

// do runs fn on r's loop and waits for its error. Not for the loop itself.
func (r *Replica) do(fn func(s *Shard) error) error {
	c := &task{fn: fn, done: make(chan error, 1)}
	if err := r.shard.Post(c); err != nil {
		return err
	}
	select {
	case err := <-c.done:
		return err
	case <-r.shard.done:
		return ErrClosed
	}
}

// Reconfigure puts new settings into force.
func (r *Replica) Reconfigure(set *Settings) error {
	return r.do(func(*Shard) error {
		r.settings.Store(set)
		r.log.SetConfig(set.Log)
		return nil
	})
}

// SetRole applies what the metadata says of the partition now. Those who wait
// for it look again when the leader epoch has changed.
func (r *Replica) SetRole(role Role) error {
	return r.do(func(*Shard) error {
		old := r.role.Swap(&role)
		r.log.StartEpoch(role.LeaderEpoch)
		if old.LeaderEpoch != role.LeaderEpoch || old.Local != role.Local {
			r.fireAll()
		}
		return nil
	})
}

// DeleteRecords raises the log start offset to offset, -1 meaning the high
// watermark, and gives the new log start offset. It is durable on return.
func (r *Replica) DeleteRecords(offset int64) (lowWatermark int64, err error) {
	err = r.do(func(*Shard) error {
		if err := r.CheckLeader(-1); err != nil {
			return err
		}
		hw := r.hw.Load()
		if offset == -1 {
			offset = hw
		}
		if offset < 0 || offset > hw {
			return segment.ErrOffsetOutOfRange
		}
		if offset > r.log.StartOffset() {
			if err := r.log.AdvanceStart(offset); err != nil {
				return err
			}
			r.fireAll()
		}
		lowWatermark = r.log.StartOffset()
		return nil
	})
	return lowWatermark, err
}

// Retain runs retention once: it rolls and deletes what is due and forgets
// producers that have been silent for too long.
func (r *Replica) Retain() (deleted int, err error) {
	err = r.do(func(s *Shard) error {
		if r.deleted.Load() {
			return nil
		}
		r.log.ExpireProducers(s.nowMs)
		deleted, err = r.log.Retain(s.clock.retentionMs())
		if s.nowMs-s.forgotMs >= forgetEveryMs {
			s.forgotMs = s.nowMs
			s.syncer.forget() // what went before: files are removed some time later
		}
		return err
	})
	return deleted, err
}

// forgetEveryMs is how long a shard's journals are not asked again to let go of files:
// a pass of retention runs every replica, and the asking looks at all files they have open.
const forgetEveryMs = 1000

// Replace puts a cleaned segment in the place of old ones (segment.Log.Replace).
func (r *Replica) Replace(with *segment.Replacement) error {
	return r.do(func(*Shard) error { return r.log.Replace(with) })
}

// SyncFiles makes the log durable in its own files, where a journal has it so far,
// on the caller's goroutine.
func (r *Replica) SyncFiles() error {
	var files *segment.FileSync
	err := r.do(func(*Shard) (err error) {
		files, err = r.log.BeginFileSync()
		return err
	})
	if err != nil {
		return err
	}
	return files.Run()
}

// RollOverdue closes the active segment if a record in it has waited for
// max.compaction.lag.ms, and syncs it, so that it can be compacted.
func (r *Replica) RollOverdue() error {
	return r.do(func(s *Shard) error {
		if r.deleted.Load() {
			return nil
		}
		if err := r.log.RollOverdue(s.nowMs); err != nil {
			return err
		}
		if !r.syncing && r.log.SyncedOffset() < r.log.EndOffset() {
			s.beginSync(r)
			s.startSyncs()
		}
		return nil
	})
}

// Delete takes the replica out of service and removes its files. Whoever
// waits for it is answered; readers that hold ranges finish.
func (r *Replica) Delete() error {
	r.deleted.Store(true)
	return r.do(func(s *Shard) error {
		delete(s.replicas, r)
		r.failed(s, ErrDeleted)
		s.answer()
		err := r.log.Delete()
		s.syncer.forget()
		return err
	})
}
