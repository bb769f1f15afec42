package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Result is a batch that may be appended.
type Result struct {
	Batch        Batch // in the caller's bytes, or re-encoded in new memory
	MaxTimestamp int64 // of its records, ms; the batch's header says the same
	AppendTimeMs int64 // the stamp on a LogAppendTime topic, -1 on others
}

// Validator checks what clients produce. It keeps decoders and buffers between
// batches and belongs to one goroutine. The zero value is ready.
type Validator struct {
	walk walk
	dec  decoder
	enc  encoder

	// What refuse needs of the batch under way.
	rules      *Rules
	batch      Batch
	refused    []RecordError
	refusals   int // all of them, of which refused has the first
	badTime    bool
	stamped    string                   // why every record is refused, see refuseStamp
	refuseFunc func(int32, int64, bool) // refuse, bound once
}

// Validate does all checks of a client's batch that need nothing but its bytes,
// in Kafka's order, with one walk over the records. records is the field of
// that name of one partition in a Produce request; nil is one without a batch.
//
// Where the header's largest timestamp is not that of the records, and on
// LogAppendTime topics, timestamp fields and checksum are rewritten in place;
// where the topic has a compression.type of its own, the batch is re-encoded
// into new memory. Errors are *Error, and say in Kafka's terms what is wrong.
func (v *Validator) Validate(records []byte, rules *Rules, nowMs int64, produceVersion int16) (Result, error) {
	b, err := Only(records, produceVersion)
	if err != nil {
		return Result{}, err
	}
	if err := checkHeader(b, rules); err != nil {
		return Result{}, err
	}
	v.begin(b, rules, nowMs)
	source := b.Codec()
	target := rules.target(source)
	recoded := target != source
	if source == None && !recoded {
		n, f := v.walk.span(b[HeaderSize:])
		err = v.verdict(f, n == len(b)-HeaderSize)
	} else {
		b, err = v.recode(b, source, target)
	}
	v.batch, v.rules = nil, nil
	if err != nil {
		return Result{}, err
	}
	res := Result{Batch: b, MaxTimestamp: v.walk.maxTimestamp, AppendTimeMs: -1}
	if rules.LogAppendTime {
		res.MaxTimestamp, res.AppendTimeMs = nowMs, nowMs
	}
	if b.setTimes(rules.LogAppendTime, res.MaxTimestamp) || recoded {
		b.sign()
	}
	if len(b) > int(rules.SegmentBytes) {
		return Result{}, failf(ErrListTooLarge, "batch of %d bytes does not fit a segment of segment.bytes=%d", len(b), rules.SegmentBytes)
	}
	return res, nil
}

func tooLarge(n int, rules *Rules) *Error {
	return failf(ErrTooLarge, "batch of %d bytes is above max.message.bytes=%d", n, rules.MaxMessageBytes)
}

// Only frames the one batch that a Produce request may hold for a partition.
// A rest that is too short for another batch is dropped, as Kafka does. Errors are
// *Error, with Request set.
func Only(records []byte, produceVersion int16) (Batch, error) {
	b, err := only(records, produceVersion)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Request = true
		}
	}
	return b, err
}

func only(records []byte, version int16) (Batch, error) {
	size, err := frame(records)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, failf(ErrInvalid, "a produce request must have one whole record batch per partition")
	}
	if m := records[posMagic]; m != Magic {
		return nil, failf(ErrInvalid, "produce version %d takes record batches of magic %d only, not %d", version, Magic, m)
	}
	// Kafka would fail on the codec here; a size below that of a header is
	// found below, with the checksum.
	if version < 7 && size > posAttributes+1 && Batch(records).Codec() >= Zstd {
		return nil, failf(ErrUnsupportedCodec, "codec %s needs produce version 7 or later, this is version %d", Batch(records).Codec(), version)
	}
	another, err := frame(records[size:])
	if err != nil {
		return nil, err
	}
	if another != 0 {
		return nil, failf(ErrInvalid, "a produce request must have exactly one record batch per partition")
	}
	return Batch(records[:size:size]), nil
}

// BeginsTransactional tells whether the records of one partition in a Produce
// request begin with a whole batch that belongs to a transaction. The error is an
// *Error of kind ErrCorrupt: the bytes frame no batch of any format.
func BeginsTransactional(records []byte) (bool, error) {
	size, err := frame(records)
	return size > posAttributes+1 && records[posMagic] == Magic && Batch(records).Transactional(), err
}

// frame gives the size of the batch that b begins with, 0 if b ends before it
// does. Magic and a least length of any format are checked, as Kafka does.
func frame(b []byte) (int, error) {
	const leastLength = 14 // of magic 0
	if len(b) < Overhead {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < leastLength {
		return 0, failf(ErrCorrupt, "batch length %d is below the minimum of %d", length, leastLength)
	}
	if len(b) <= posMagic {
		return 0, nil
	}
	if m := int8(b[posMagic]); m < 0 || m > Magic {
		return 0, failf(ErrCorrupt, "batch magic %d does not exist", m)
	}
	if size := int64(length) + Overhead; size <= int64(len(b)) {
		return int(size), nil
	}
	return 0, nil
}

// checkHeader is what can be said of a client's batch before its records.
func checkHeader(b Batch, rules *Rules) error {
	if len(b) >= posLength && b.BaseOffset() != 0 {
		return failf(ErrInvalid, "base offset of a produced batch must be 0, not %d", b.BaseOffset())
	}
	if len(b) > int(rules.MaxMessageBytes) {
		return tooLarge(len(b), rules)
	}
	if len(b) < HeaderSize {
		return failf(ErrCorrupt, "batch of %d bytes is smaller than its header of %d", len(b), HeaderSize)
	}
	if !b.ChecksumOK() {
		return failf(ErrCorrupt, "stored checksum %#08x is not that of the bytes", b.CRC())
	}
	if !b.Codec().Known() {
		return failf(ErrUnsupportedCodec, "compression type %d does not exist", b.Codec())
	}
	count, last := b.Count(), b.LastOffsetDelta()
	if last < 0 || last == math.MaxInt32 {
		return failf(ErrInvalid, "last offset delta %d is no valid range", last)
	}
	if count <= 0 {
		return failf(ErrInvalid, "record count %d: a batch must have at least one record", count)
	}
	if count != last+1 {
		return failf(ErrInvalid, "record count %d does not agree with last offset delta %d", count, last)
	}
	if b.Control() {
		return failf(ErrInvalid, "clients may not write control records")
	}
	if b.ProducerID() >= 0 && b.BaseSequence() < 0 {
		return failf(ErrInvalid, "base sequence %d of producer %d is negative", b.BaseSequence(), b.ProducerID())
	}
	return nil
}

// begin sets the walk up for b.
func (v *Validator) begin(b Batch, rules *Rules, nowMs int64) {
	if v.refuseFunc == nil {
		v.refuseFunc = v.refuse
	}
	v.rules, v.batch = rules, b
	v.refused, v.refusals, v.badTime = nil, 0, false
	v.walk = walk{
		count:         b.Count(),
		baseTimestamp: b.BaseTimestamp(),
		consecutive:   true,
		needKey:       rules.Compacted,
		now:           nowMs,
		before:        math.MaxInt64,
		after:         math.MaxInt64,
		refuse:        v.refuseFunc,
		maxTimestamp:  NoTimestamp,
	}
	if !rules.LogAppendTime {
		v.walk.before, v.walk.after = rules.TimestampBeforeMaxMs, rules.TimestampAfterMaxMs
	}
	if v.stamped = v.refuseStamp(); v.stamped != "" {
		v.walk.before = math.MinInt64 // refuse is called for every record
	}
}

// refuseStamp says why a batch whose records all have the header's timestamp
// (LogAppendTime) is refused. A topic with CreateTime takes it if that is a
// timestamp within its limits, and stores it as CreateTime; so does Kafka.
func (v *Validator) refuseStamp() string {
	b, w := v.batch, &v.walk
	if !b.LogAppendTime() {
		return ""
	}
	ts := b.MaxTimestamp()
	if v.rules.LogAppendTime || ts == NoTimestamp {
		return "a producer may not set the timestamp type LogAppendTime"
	}
	if age := w.now - ts; age > w.before || -age > w.after {
		return v.outOfRange(ts)
	}
	return ""
}

func (v *Validator) outOfRange(ts int64) string {
	now, r := v.walk.now, v.rules
	return fmt.Sprintf("timestamp %d is not within %d and %d", ts, now-r.TimestampBeforeMaxMs, now+r.TimestampAfterMaxMs)
}

// refuse notes a record that the walk found suspicious.
func (v *Validator) refuse(index int32, ts int64, hasKey bool) {
	var message string
	switch {
	case v.rules.Compacted && !hasKey:
		message = "a compacted topic takes no record without a key"
	case v.stamped != "":
		message = v.stamped
		v.badTime = true
	case ts == NoTimestamp:
		return
	default:
		message = v.outOfRange(ts)
		v.badTime = true
	}
	v.refusals++
	if len(v.refused) < maxRecordErrors {
		v.refused = append(v.refused, RecordError{BatchIndex: index, Message: message})
	}
}

// verdict is the outcome of a walk. A structure that is wrong counts before
// records that are refused, wherever they are.
func (v *Validator) verdict(f fault, filled bool) error {
	if f != walked {
		return v.walk.describe(f)
	}
	if !filled {
		return v.walk.describe(leftOver)
	}
	if v.refusals == 0 {
		return nil
	}
	refused := v.refused
	v.refused = nil
	kind, what := ErrInvalid, "records"
	if v.badTime {
		kind, what = ErrTimestamp, "timestamps"
	}
	e := failf(kind, "%d of %d %s were refused, the first: record %d: %s",
		v.refusals, v.walk.count, what, refused[0].BatchIndex, refused[0].Message)
	e.Records = refused
	return e
}

// recode walks compressed records, and writes them in the codec target if that
// is another. The records' own bytes stay what they are: nothing in them
// depends on the codec.
func (v *Validator) recode(b Batch, source, target Codec) (Batch, error) {
	var out *room
	var enc sink
	if target != source {
		limit := max(int(v.rules.MaxMessageBytes), HeaderSize)
		out = &room{b: make([]byte, HeaderSize, max(HeaderSize, min(limit, len(b)+len(b)/4))), limit: limit}
		copy(out.b, b[:HeaderSize])
		var err error
		if enc, err = v.enc.open(out, target, v.rules.CompressionLevel); err != nil {
			return nil, fmt.Errorf("compress to %s: %w", target, err)
		}
		defer enc.Reset(nil) // lets go of out
	}
	if source == None {
		n, f := v.walk.span(b[HeaderSize:])
		if err := v.verdict(f, n == len(b)-HeaderSize); err != nil {
			return nil, err
		}
		enc.Write(b[HeaderSize:]) // room takes or drops everything
	} else {
		defer v.dec.close()
		f, err := v.dec.open(source, b[HeaderSize:])
		if err != nil {
			return nil, decodeError(source, err)
		}
		if enc != nil {
			f.tee = enc
		}
		fl, err := v.walk.stream(f)
		if err != nil {
			return nil, decodeError(source, err)
		}
		if err := v.verdict(fl, true); err != nil {
			return nil, err
		}
	}
	if enc == nil {
		return b, nil
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("compress to %s: %w", target, err)
	}
	if out.full {
		return nil, failf(ErrTooLarge, "batch of %d bytes is above max.message.bytes=%d when stored as %s", len(b), v.rules.MaxMessageBytes, target)
	}
	nb := Batch(out.b)
	binary.BigEndian.PutUint32(nb[posLength:], uint32(len(nb)-Overhead))
	nb[posAttributes], nb[posAttributes+1] = 0, nb[posAttributes+1]&(attrLogAppendTime|attrTransactional|attrControl)|byte(target)
	return nb, nil
}
