//go:build !(giouring && linux)

package uring

// Compiled reports whether this binary has the ring.
const Compiled = false
