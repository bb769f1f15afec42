package connection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refusal is an error code in a broker's answer, with what was asked.
type Refusal struct {
	What    string // what was asked, for example: create topic "orders"
	Code    int16  // Kafka's number
	Name    string // Kafka's name
	Message string // the broker's own words; may be empty
}

// Refused makes an error of an error code, or nil of code 0. message is the
// broker's own, and may be nil.
func Refused(what string, code int16, message *string) error {
	if code == 0 {
		return nil
	}
	r := &Refusal{What: what, Code: code, Name: "UNKNOWN_SERVER_ERROR"}
	var known *kerr.Error
	if errors.As(kerr.ErrorForCode(code), &known) {
		r.Name = known.Message
		r.Message = known.Description
	}
	if message != nil && *message != "" {
		r.Message = *message
	}
	return r
}

// RefusedErr is Refused for an error that kadm or kgo made of a code. Other
// errors are returned with what was asked in front.
func RefusedErr(what string, err error, message string) error {
	var code *kerr.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code):
		return Refused(what, code.Code, &message)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Error says what was asked, what the broker answered, and what to do about it
// where that is known.
func (r *Refusal) Error() string {
	var b strings.Builder
	if r.What != "" {
		b.WriteString(r.What + ": ")
	}
	fmt.Fprintf(&b, "%s (%d)", r.Name, r.Code)
	if m := strings.TrimRight(r.Message, ". \n"); m != "" {
		b.WriteString(": " + m)
	}
	if advice := advice[r.Code]; advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

// Is makes errors.Is(err, kerr.X) work.
func (r *Refusal) Is(target error) bool {
	k, ok := target.(*kerr.Error)
	return ok && k.Code == r.Code
}

// advice is for codes where the next step is known and not said by the code.
var advice = map[int16]string{
	kerr.UnknownTopicOrPartition.Code: "'ringmain topic list' shows what exists",
	kerr.MessageTooLarge.Code:         "see the topic's max.message.bytes ('ringmain config describe topic NAME max.message.bytes')",
	kerr.NotEnoughReplicas.Code:       "too few replicas are in sync for acks=all; see the topic's min.insync.replicas",
	kerr.InvalidConfig.Code:           "'ringmain config describe' with --all lists the known keys",
	kerr.UnsupportedVersion.Code:      "the broker does not offer what this command needs",
	kerr.KafkaStorageError.Code:       "the broker's log directory failed; see its log",
}
