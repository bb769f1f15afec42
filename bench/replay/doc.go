// Package replay carries loads out with requests that are encoded once, so that the
// generator costs next to nothing and the broker is what is measured.
//
// It is not a client for applications: it asks for one version of each request,
// speaks PLAINTEXT only, retries nothing and follows no partition that moves. A
// request that is refused is counted under the protocol's name for the error. It
// needs Linux (epoll, timerfd).
//
// A loop is one goroutine with an epoll of its own. It owns its links (connections),
// the roles that use them (producer, consumer, visitor) and a load.Worker; nobody
// else touches them while it runs. The engine tells it to stop through an eventfd.
//
// Invariants:
//   - a batch is changed (stamps, sequences) only while it is written: what the socket
//     does not take is copied before anything else happens;
//   - what is under way on a link is answered in order, and the correlation id of
//     each answer is checked;
//   - once warm, sending a request and taking its answer allocates nothing.
//
// Start reading at engine_linux.go, then loop_linux.go; pattern.go and request.go say
// what is sent.
package replay
