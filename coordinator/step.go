package coordinator

import "ringmain/metadata"

// Record is one record of a coordinator's topic. A nil Value is a tombstone. The
// bytes belong to the record: nobody changes them.
type Record struct{ Key, Value []byte }

// recordOverhead is what a record takes at most beside its key and value.
const recordOverhead = 24

// Size is how many bytes the record takes in a batch, at most.
func (r *Record) Size() int { return len(r.Key) + len(r.Value) + recordOverhead }

// Step is one step of a machine: the circumstances it happens in, and what comes out.
type Step struct {
	// NowMs counts the milliseconds of a clock that never jumps; deadlines are in it.
	NowMs int64
	// WallMs is the time of day in milliseconds since 1970; records bear it.
	WallMs int64
	// RetentionWallMs is what tells how old a record is, by its time of day: WallMs, unless
	// the clock was set forward while the process ran.
	RetentionWallMs int64
	// Image is the metadata as this broker has it.
	Image *metadata.Image
	// MaxRecordBytes is the largest Size of a record that the topic is to have. What a
	// client could make larger the machine refuses.
	MaxRecordBytes int

	// Records are to be appended to the partition, all or none, in this order. They are
	// one batch, so what can be done in several steps is, when it is more than 1 MiB.
	Records []Record
	// Answers are called, in order, when the records of this step and of all steps
	// before are durable (err nil), or when that is not going to happen (err says
	// why; it is one of this package's). Each is called once.
	Answers []func(err error)
}

// Append adds a record.
func (s *Step) Append(r Record) { s.Records = append(s.Records, r) }

// Answer lets reply have response when all that was written so far is durable, or
// an error if that fails; response counts for nothing then. response may not be
// changed any more.
func Answer[R any](s *Step, reply func(R, error), response R) {
	s.Answers = append(s.Answers, func(err error) { reply(response, err) })
}
