package coordinator

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"ringmain/record"
)

// load is one reading of a partition's log into a machine, on a goroutine of its own.
type load[M Machine] struct {
	machine    M
	log        Log
	start, end int64
	abandoned  atomic.Bool
	records    int64
}

// load begins to read a partition, unless appends are under way. An empty one is there
// at once.
func (l *loop[M]) load(p *part[M]) {
	if p.under > 0 {
		return
	}
	begun := time.Now()
	ld := &load[M]{machine: l.rt.machine(p.number), log: p.log}
	ld.start, ld.end = p.log.Bounds()
	p.state, p.reading = loading, ld
	if ld.start == ld.end {
		l.loaded(p, ld, begun, nil)
		return
	}
	l.rt.loads.Add(1)
	go func() {
		defer l.rt.loads.Done()
		l.rt.readers <- struct{}{}
		err := ld.run(l.rt.cfg.ReadBytes)
		<-l.rt.readers
		l.box.post(func() { l.loaded(p, ld, begun, err) })
	}()
}

// loaded takes the machine over, unless it is not wanted any more.
func (l *loop[M]) loaded(p *part[M], ld *load[M], begun time.Time, err error) {
	if p.reading != ld {
		return
	}
	p.reading = nil
	if err != nil {
		l.rt.cfg.Observe.LoadFailed()
		l.retry(p, "a coordinator's partition could not be read; it is tried again", err)
		return
	}
	p.state, p.machine, p.writer = active, ld.machine, p.log.Writer()
	took := time.Since(begun)
	l.rt.cfg.Observe.Loaded(ld.records, took)
	if ld.records > 0 {
		l.rt.cfg.Log.Info("coordinator loaded", "partition", p.number, "records", ld.records, "took", took.String())
	}
	l.perform(p, func(m M, s *Step) { m.Loaded(s) })
}

// abandonLoad ends a load at the next piece of the log.
func (p *part[M]) abandonLoad() {
	if p.reading != nil {
		p.reading.abandoned.Store(true)
		p.reading = nil
	}
}

var errAbandoned = errors.New("coordinator: the load was abandoned")

// run replays every record from start to end.
func (ld *load[M]) run(most int) error {
	if err := ld.log.Secure(ld.end); err != nil { // what was read is never taken back
		return err
	}
	var buf []byte
	var reader record.Reader
	defer reader.Close()
	for offset := ld.start; offset < ld.end; {
		if ld.abandoned.Load() {
			return errAbandoned
		}
		var err error
		if buf, err = ld.log.Read(offset, ld.end, most, buf); err != nil {
			return err
		}
		if len(buf) == 0 {
			return nil
		}
		for rest := buf; len(rest) > 0; {
			b, err := record.First(rest)
			if err != nil {
				return fmt.Errorf("behind offset %d: %w", offset, err)
			}
			rest = rest[len(b):]
			offset = b.LastOffset() + 1
			if b.Control() {
				continue
			}
			if err := ld.batch(&reader, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch replays the records of one batch.
func (ld *load[M]) batch(reader *record.Reader, b record.Batch) error {
	if err := reader.Reset(b); err != nil {
		return fmt.Errorf("the batch at offset %d: %w", b.BaseOffset(), err)
	}
	for {
		r, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the batch at offset %d: %w", b.BaseOffset(), err)
		}
		if r.Offset < ld.start {
			continue
		}
		if err := ld.machine.Replay(r.Offset, r.Timestamp, r.Key, r.Value); err != nil {
			return err
		}
		ld.records++
	}
}
