// Package latency records how long operations took: HdrHistograms of
// microseconds with three significant digits, from 1 microsecond to a minute.
//
// Every operation is recorded twice. Corrected counts from the time at which it
// was intended to be sent, which is what somebody would see whose requests come
// at that rate whatever the broker does. Uncorrected counts from the time at
// which it was sent, which is what most load generators show; the two differ
// when sends were kept back by a broker that was slow (coordinated omission), or
// by the generator itself. How many sends were late is counted, and so is what
// did not fit into the range.
//
// A Recorder belongs to one worker, which records without locks; others read it
// through its Snapshot. A Snapshot is immutable once made.
//
// It neither measures time nor decides what counts. Start reading at recorder.go.
package latency
