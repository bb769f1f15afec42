package franz

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// unanswered is what became of records whose answer did not come in time.
const unanswered = "timeout"

// nameOf is what an error is counted as: the protocol's name for it, or words for
// what is no answer. They are few, so that a result can list them: addresses and
// ports of a message are not among them.
func nameOf(err error) string {
	var answer *kerr.Error
	var timeout net.Error
	var loss *kgo.ErrDataLoss
	switch {
	case errors.As(err, &answer):
		return answer.Message
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, kgo.ErrRecordTimeout), errors.As(err, &timeout) && timeout.Timeout():
		return unanswered
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local port left"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection lost"
	case errors.Is(err, kgo.ErrRecordRetries):
		return "retried too often"
	case errors.Is(err, kgo.ErrClientClosed):
		return "client closed"
	case errors.As(err, &loss):
		return "data loss"
	case strings.Contains(err.Error(), "the broker connection has died"): // it has no name there
		return behindAnother
	}
	return "other: " + number.ReplaceAllString(err.Error()[:min(len(err.Error()), nameBytes)], "#")
}

// nameBytes bounds a name that is an error's own text, and number is what differs from
// one to the next in it.
const nameBytes = 120

var number = regexp.MustCompile(`[0-9]+`)

// behindAnother is what becomes of a request behind another one on a connection that
// ends: franz-go sends it again. Why the connection ended is the other one's error, or
// franz-go ended it itself, as it does when a reader is moved.
const behindAnother = "behind another on a lost connection"

// ended reports whether an error only says that somebody ended the work, or the
// connection that it was waiting on.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) || nameOf(err) == behindAnother
}
