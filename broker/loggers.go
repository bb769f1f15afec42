package broker

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
)

// rootLogger is Kafka's name for the logger that all others take their level
// from (KIP-412). It is the only one here: the broker has one log.
const rootLogger = "root"

// Levels of Kafka's that slog has no constant for. Nothing is logged at either:
// FATAL leaves a log empty, TRACE shows what DEBUG does.
const (
	traceLevel = slog.LevelDebug - 4
	fatalLevel = slog.LevelError + 4
)

// logLevels are Kafka's names for levels; they are upper case only.
var logLevels = map[string]slog.Level{
	"TRACE": traceLevel, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo,
	"WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": fatalLevel,
}

// loggers reads and changes the level of the broker's log. A change holds until
// the broker stops, as in Kafka: it is made to look into something.
type loggers struct{ level *slog.LevelVar }

// describe lists the loggers with their levels, as DescribeConfigs gives them:
// no type, no synonyms.
func (l loggers) describe() []config.Entry {
	at := l.level.Level()
	name, below := "TRACE", traceLevel
	for n, level := range logLevels { // the highest that is not above
		if level <= at && level > below {
			name, below = n, level
		}
	}
	return []config.Entry{{Name: rootLogger, Value: name, Source: config.SourceLogger}}
}

// alter makes all changes or none. The codes, and which goes first, are Kafka's.
func (l loggers) alter(edits []configEdit, validateOnly bool) *refusal {
	named := make(map[string]bool, len(edits))
	for _, e := range edits {
		if named[e.key] {
			return refuse(kerr.InvalidRequest, "logger %q is named more than once", e.key)
		}
		named[e.key] = true
	}
	next := l.level.Level()
	for _, e := range edits {
		if e.op != kmsg.IncrementalAlterConfigOpDelete && e.value == nil {
			return refuse(kerr.InvalidRequest, "the level of logger %q is null; name one", e.key)
		}
	}
	for _, e := range edits {
		switch set, remove := kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete; {
		case e.op != set && e.op != remove:
			return refuse(kerr.InvalidRequest, "operation %d is not for loggers: their levels can only be set", e.op)
		case e.key != rootLogger:
			return refuse(kerr.InvalidConfig, "there is no logger %q: the broker has one, %q", e.key, rootLogger)
		case e.op == remove:
			return refuse(kerr.InvalidRequest, "logger %q cannot do without a level; set another one", rootLogger)
		}
		level, ok := logLevels[*e.value]
		if !ok {
			return refuse(kerr.InvalidConfig, "%q is no level of a logger: it must be one of DEBUG, ERROR, FATAL, INFO, TRACE and WARN", *e.value)
		}
		next = level
	}
	if !validateOnly {
		l.level.Set(next)
	}
	return nil
}
