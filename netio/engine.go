package netio

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/pool/goroutine"
)

// newEngine makes gnet's event loops. gnet's "client" is what fits a server that
// accepts for itself: loops without listeners that are given connections.
func newEngine(s *Server) (*gnet.Client, error) {
	releaseWorkers()
	return gnet.NewClient(&events{srv: s},
		gnet.WithNumEventLoop(s.cfg.Loops),
		gnet.WithReadBufferCap(readBufferBytes),
		// Nothing is ever written through gnet; this only keeps it from planning to.
		gnet.WithWriteBufferCap(1),
		gnet.WithTCPNoDelay(gnet.TCPDelay), // package net has set it; gnet leaks the descriptor when setting it fails
		gnet.WithLogger(engineLog{s.log}),
	)
}

// releaseWorkers ends gnet's global worker pool, which ticks twice a second for as
// long as the process lives. Only ways of registering that are not used here run
// on it.
var releaseWorkers = sync.OnceFunc(func() { goroutine.DefaultWorkerPool.Release() })

// engineLog turns gnet's log lines into ours. Without it gnet writes to standard
// output. What gnet says below errors is about its own life and of no use to an
// operator.
type engineLog struct{ log *slog.Logger }

func (e engineLog) Debugf(format string, args ...any) { e.print(slog.LevelDebug, format, args) }
func (e engineLog) Infof(format string, args ...any)  { e.print(slog.LevelDebug, format, args) }
func (e engineLog) Warnf(format string, args ...any)  { e.print(slog.LevelDebug, format, args) }
func (e engineLog) Errorf(format string, args ...any) { e.print(slog.LevelError, format, args) }
func (e engineLog) Fatalf(format string, args ...any) { e.print(slog.LevelError, format, args) }

func (e engineLog) print(level slog.Level, format string, args []any) {
	if ctx := context.Background(); e.log.Enabled(ctx, level) {
		e.log.Log(ctx, level, "event loop: "+fmt.Sprintf(format, args...))
	}
}
