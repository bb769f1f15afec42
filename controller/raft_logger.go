package controller

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger gives raft's log to slog. What raft calls Info is the diary of a
// library (every state it enters, every vote), so it is one level lower here.
type raftLogger struct {
	log  *slog.Logger
	name string
	args []any
}

var _ hclog.Logger = (*raftLogger)(nil)

func newRaftLogger(log *slog.Logger) *raftLogger {
	return &raftLogger{log: log.With("component", "raft")}
}

func slogLevel(l hclog.Level) slog.Level {
	switch l {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Info:
		return slog.LevelDebug
	}
	return slog.LevelDebug - 4
}

func (r *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	l := slogLevel(level)
	if !r.log.Enabled(context.Background(), l) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
	}
	r.log.Log(context.Background(), l, msg, args...)
}

func (r *raftLogger) Trace(msg string, args ...any) { r.Log(hclog.Trace, msg, args...) }
func (r *raftLogger) Debug(msg string, args ...any) { r.Log(hclog.Debug, msg, args...) }
func (r *raftLogger) Info(msg string, args ...any)  { r.Log(hclog.Info, msg, args...) }
func (r *raftLogger) Warn(msg string, args ...any)  { r.Log(hclog.Warn, msg, args...) }
func (r *raftLogger) Error(msg string, args ...any) { r.Log(hclog.Error, msg, args...) }

func (r *raftLogger) enabled(l hclog.Level) bool {
	return r.log.Enabled(context.Background(), slogLevel(l))
}

func (r *raftLogger) IsTrace() bool { return r.enabled(hclog.Trace) }
func (r *raftLogger) IsDebug() bool { return r.enabled(hclog.Debug) }
func (r *raftLogger) IsInfo() bool  { return r.enabled(hclog.Info) }
func (r *raftLogger) IsWarn() bool  { return r.enabled(hclog.Warn) }
func (r *raftLogger) IsError() bool { return r.enabled(hclog.Error) }

func (r *raftLogger) ImpliedArgs() []any { return r.args }
func (r *raftLogger) Name() string       { return r.name }

func (r *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{log: r.log.With(args...), name: r.name, args: append(r.args[:len(r.args):len(r.args)], args...)}
}

func (r *raftLogger) Named(name string) hclog.Logger {
	if r.name != "" {
		name = r.name + "." + name
	}
	return r.ResetNamed(name)
}

func (r *raftLogger) ResetNamed(name string) hclog.Logger {
	return &raftLogger{log: r.log, name: name, args: r.args}
}

func (r *raftLogger) SetLevel(hclog.Level) {} // the level is slog's

func (r *raftLogger) GetLevel() hclog.Level {
	for _, l := range []hclog.Level{hclog.Debug, hclog.Info, hclog.Warn} {
		if r.enabled(l) {
			return l
		}
	}
	return hclog.Error
}

func (r *raftLogger) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(r.StandardWriter(opts), "", 0)
}

func (r *raftLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineLogger{r} }

// lineLogger logs what a library writes to a standard logger, as warnings.
type lineLogger struct{ r *raftLogger }

func (w lineLogger) Write(b []byte) (int, error) {
	w.r.Warn(string(b))
	return len(b), nil
}
