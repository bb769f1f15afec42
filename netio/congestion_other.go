//go:build !linux

package netio

func dontPace(int) {}
