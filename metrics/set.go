package metrics

import (
	"sync/atomic"
	"time"
)

const (
	// maxKey bounds API keys: Kafka's go up to 93 in 4.4. Requests with
	// another key close the connection and are not counted here.
	maxKey = 127
	// Error codes are counted from minCode on; what lies outside is counted
	// as unknown (-1).
	minCode, maxCode = -1, 191
)

// Class tells records of clients from those the broker keeps for itself.
type Class int8

// The classes of topics.
const (
	User     Class = iota // topics of clients
	Internal              // topics whose name begins with two underscores
)

var classNames = [...]string{"user", "internal"}

// Set is everything that is counted. Make one with New.
type Set struct {
	recorders []*Recorder
	// errors has one array for each API, by code-minCode. Errors are rare, so
	// the recorders share them.
	errors [maxKey + 1]atomic.Pointer[[maxCode - minCode + 1]atomic.Uint64]

	// Logs.
	Syncs, SyncErrors Counter
	// SyncLatency is the time of one sync call of one file.
	SyncLatency Histogram
	// AppendLatency is the time of writing one round of batches.
	AppendLatency Histogram
	AppendErrors  Counter
	// Roll, retention and recovery.
	SegmentsRolled, SegmentsDeleted, RecoveredBytes, TruncatedBytes Counter
	// Compaction.
	CleanerRuns, CleanerFailures                               Counter
	CleanerReadBytes, CleanerWrittenBytes, CleanerRemovedBytes Counter
	// Coordinators.
	CoordinatorLoads, CoordinatorLoadFailures, CoordinatorAppendFailures Counter
	// CoordinatorLoadLatency is the time from the beginning of a load to the machine.
	CoordinatorLoadLatency Histogram
	// CorruptReads counts reads of stored bytes that were not what was written.
	CorruptReads Counter

	sources atomic.Pointer[Sources]
}

// Recorder is one loop's share of the counters of requests and appends. Any
// goroutine may use any recorder; it is fastest when few do.
type Recorder struct {
	set      *Set
	requests [maxKey + 1]atomic.Pointer[Histogram]

	appends, appendedRecords Counter
	appendedBytes            [2]Counter // by class
	fetchedBytes             [2]Counter // by class
}

// New makes a set with the given number of recorders, one at least: as many as
// there are loops that record.
func New(recorders int) *Set {
	s := &Set{}
	for range max(recorders, 1) {
		s.recorders = append(s.recorders, &Recorder{set: s})
	}
	return s
}

// Recorder returns the recorder of loop i; more loops than recorders share.
func (s *Set) Recorder(i int) *Recorder { return s.recorders[uint(i)%uint(len(s.recorders))] }

// Request counts one answered request of an API and the time from the last
// byte of the request read to the answer handed to the connection.
func (r *Recorder) Request(key int16, d time.Duration) {
	if uint16(key) > maxKey {
		return
	}
	h := r.requests[key].Load()
	if h == nil {
		h = r.first(key)
	}
	h.Observe(d)
}

// first makes the histogram of an API that was not asked for before.
func (r *Recorder) first(key int16) *Histogram {
	h := new(Histogram)
	if r.requests[key].CompareAndSwap(nil, h) {
		return h
	}
	return r.requests[key].Load()
}

// Error counts one error code in an answer of an API, whether of the whole
// request or of one topic or partition in it. Code 0 is none and not counted.
func (r *Recorder) Error(key, code int16) { r.set.Error(key, code) }

// Error does what Recorder.Error does.
func (s *Set) Error(key, code int16) {
	if code == 0 || uint16(key) > maxKey {
		return
	}
	if code < minCode || code > maxCode {
		code = minCode
	}
	codes := s.errors[key].Load()
	if codes == nil {
		codes = new([maxCode - minCode + 1]atomic.Uint64)
		if !s.errors[key].CompareAndSwap(nil, codes) {
			codes = s.errors[key].Load()
		}
	}
	codes[code-minCode].Add(1)
}

// Append counts one batch written to a log: its records and its bytes as stored.
func (r *Recorder) Append(class Class, records, bytes int) {
	r.appends.Inc()
	r.appendedRecords.Add(uint64(max(records, 0)))
	r.appendedBytes[class&1].Add(uint64(max(bytes, 0)))
}

// Fetch counts record bytes handed to a client.
func (r *Recorder) Fetch(class Class, bytes int) {
	r.fetchedBytes[class&1].Add(uint64(max(bytes, 0)))
}
