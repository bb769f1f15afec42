//go:build !linux

package harness

// port is any free one: elsewhere a port that is bound cannot be kept for another.
type port struct{ addr string }

func reservePort() (*port, error) { return &port{"127.0.0.1:0"}, nil }

func (p *port) release() {}
