package broker

import (
	"time"

	"ringmain/segment"
)

// checkpointEvery is how often the recovery points are written: what a restart
// after a kill has to check is at most what was written since.
const checkpointEvery = 5 * time.Second

// retention runs what is due from time to time: retention of every log, and
// the checkpoints of the log directories. One goroutine; each log's work is
// done by its shard.
type retention struct {
	b       *Broker
	started bool
	quit    chan struct{}
	done    chan struct{}
}

func newRetention(b *Broker) *retention {
	return &retention{b: b, quit: make(chan struct{}), done: make(chan struct{})}
}

func (r *retention) start() {
	r.started = true
	go r.loop()
}

// stop ends the goroutine, if a start that failed has come that far.
func (r *retention) stop() {
	close(r.quit)
	if r.started {
		<-r.done
	}
}

func (r *retention) loop() {
	defer close(r.done)
	check := time.NewTicker(r.b.settings.RetentionCheck)
	checkpoint := time.NewTicker(checkpointEvery)
	defer check.Stop()
	defer checkpoint.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-check.C:
			r.retain()
		case <-checkpoint.C:
			for _, d := range r.b.dirs {
				r.checkpoint(d)
			}
		}
	}
}

func (r *retention) checkpoint(d *segment.Dir) {
	if err := d.Checkpoint(); err != nil {
		r.b.log.Error("the recovery points could not be written", "dir", d.Path(), "error", err)
	}
}

// retain lets every log delete what its topic's retention no longer covers.
func (r *retention) retain() {
	for _, p := range r.b.replicas.all() {
		select {
		case <-r.quit:
			return
		default:
		}
		n, err := p.Retain()
		if err != nil {
			r.b.log.Error("retention failed", "partition", p.TP.String(), "error", err)
		} else if n > 0 {
			r.b.log.Info("retention deleted segments", "partition", p.TP.String(), "segments", n, "log_start", p.Log().StartOffset())
		}
	}
}
