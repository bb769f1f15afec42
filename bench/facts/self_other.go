//go:build !linux

package facts

// Self is unknown: there is no /proc to read.
func Self() Usage { return Nothing() }
