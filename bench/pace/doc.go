// Package pace says when a load generator sends, and wakes it up then.
//
// A Schedule is open loop: the times at which one worker means to send do not
// depend on how the broker does. Latency is counted from these times, so a
// broker that stalls pays for every request that it kept waiting.
//
// Now is the clock that everything in bench uses. It is CLOCK_MONOTONIC itself,
// so a stamp that one process wrote can be compared by another on the same host.
//
// A Timer waits for a time on that clock. It exists because Go's own timers
// wake an idle process up to a millisecond late (the runtime's poller waits in
// whole milliseconds); a timerfd in the poller is exact to some tens of
// microseconds.
//
// It sends nothing and knows nothing of Kafka. A Schedule and a Timer belong to
// one worker; nothing here is safe for concurrent use except Now.
//
// Start reading at schedule.go.
package pace
