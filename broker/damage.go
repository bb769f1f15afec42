package broker

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"ringmain/metrics"
	"ringmain/model"
	"ringmain/segment"
)

// damageAgain is how long a place is not named again: a consumer asks for it
// over and over.
const damageAgain = time.Minute

// damagePlaces bounds how many places are remembered.
const damagePlaces = 1024

// damageLog names stored data that a read found damaged: each read counts, and
// each place is logged once a minute. Any goroutine.
type damageLog struct {
	log     *slog.Logger
	metrics *metrics.Set
	mu      sync.Mutex
	named   map[damagePlace]time.Time
}

type damagePlace struct {
	file     string
	position int64
}

func newDamageLog(log *slog.Logger, m *metrics.Set) *damageLog {
	return &damageLog{log: log, metrics: m, named: map[damagePlace]time.Time{}}
}

// report takes the error of a read at offset; what is no damage is left out.
func (d *damageLog) report(tp model.TopicPartition, offset int64, err error) {
	var damage *segment.DamageError
	switch {
	case d == nil: // a test's admin without a broker
		return
	case errors.As(err, &damage):
		d.metrics.CorruptReads.Inc()
	case errors.Is(err, segment.ErrStorage):
		damage = &segment.DamageError{File: tp.String(), Position: offset, Reason: err.Error()}
	default:
		return
	}
	if !d.first(damagePlace{damage.File, damage.Position}, time.Now()) {
		return
	}
	if errors.Is(err, segment.ErrStorage) {
		d.log.Error("a log cannot be read", "partition", tp.String(), "offset", offset, "error", err)
		return
	}
	if damage.Offset >= 0 {
		offset = damage.Offset
	}
	d.log.Error("stored data is damaged and is not sent; ringmain log verify checks everything, ringmain log repair gives up what is lost",
		"partition", tp.String(), "file", damage.File, "position", damage.Position, "offset", offset, "reason", damage.Reason)
}

// first tells whether a place was not named within the last minute.
func (d *damageLog) first(p damagePlace, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.named[p]; ok && now.Sub(at) < damageAgain {
		return false
	}
	if len(d.named) >= damagePlaces {
		clear(d.named)
	}
	d.named[p] = now
	return true
}
