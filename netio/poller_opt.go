//go:build poll_opt

package netio

// gnet's build tag poll_opt puts pointers where setReading puts descriptors: the
// first stopped connection would have gnet follow a small number as a pointer.
// This does not compile on purpose.
var _ = netioCannotBeBuiltWithTheTagPollOpt
