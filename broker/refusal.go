package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/controller"
)

// refusal is why one item of an administrative request was not done: the code
// that Kafka gives for it, and a sentence for people. The nil refusal means
// that nothing is wrong.
type refusal struct {
	code    int16
	message string // "" stands for null on the wire
}

// refuse makes a refusal.
func refuse(e *kerr.Error, format string, args ...any) *refusal {
	return &refusal{e.Code, fmt.Sprintf(format, args...)}
}

// bare makes a refusal that Kafka gives without a message.
func bare(e *kerr.Error) *refusal { return &refusal{code: e.Code} }

// wire gives the two fields that answers carry. Both are zero for nil.
func (r *refusal) wire() (code int16, message *string) {
	if r == nil {
		return 0, nil
	}
	if r.message == "" {
		return r.code, nil
	}
	return r.code, &r.message
}

// maxTold is how many entries of a request are told in words why the whole of it is
// refused: a million times the same sentence is 100 MB.
const maxTold = 1000

// told is what the i-th entry of a request that is refused as a whole is answered.
func (r *refusal) told(i int) (code int16, message *string) {
	if i >= maxTold {
		return r.code, nil
	}
	return r.wire()
}

// Error lets a whole change be refused from inside Metadata.Change.
func (r *refusal) Error() string { return r.message }

// adminRefusal turns an error of a change of the metadata into what the items
// of the request are answered. Where the outcome is unknown it is the retriable
// REQUEST_TIMED_OUT, as in Kafka. NOT_CONTROLLER, on which clients look for
// another broker, says that nothing was done.
func adminRefusal(err error) *refusal {
	var r *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &r):
		return r
	case errors.Is(err, context.DeadlineExceeded):
		return bare(kerr.RequestTimedOut)
	case errors.Is(err, controller.ErrOutcomeUnknown), errors.Is(err, context.Canceled):
		return refuse(kerr.RequestTimedOut, "it is not known whether the change was made; look, and ask again")
	case errors.Is(err, controller.ErrNotLeader), errors.Is(err, controller.ErrClosed):
		return refuse(kerr.NotController, "this broker cannot change the metadata: %v", err)
	case errors.Is(err, controller.ErrStorage):
		return refuse(kerr.KafkaStorageError, "the metadata could not be stored: %v", err)
	case errors.Is(err, controller.ErrTooLarge):
		return refuse(kerr.PolicyViolation, "the request is too large to be done at once: %v", err)
	}
	return refuse(kerr.UnknownServerError, "the metadata could not be changed: %v", err)
}
