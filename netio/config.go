package netio

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
)

// Config is what a Server is built from. A zero value in a field with a default
// means the default.
type Config struct {
	// Loops is the number of event loops (ringmain.event.loops); default one for
	// each processor.
	Loops int
	// MaxFrameBytes is the largest accepted frame without its length prefix
	// (socket.request.max.bytes); default 104857600.
	MaxFrameBytes int32
	// IdleTimeout closes a connection on which nothing is in flight for so long, or
	// whose current frame is not complete after so long, or which takes no byte of
	// its answers for so long (connections.max.idle.ms); default 10 minutes.
	// Negative: never.
	IdleTimeout time.Duration
	// Limits can be changed while the server runs, with SetLimits.
	Limits
	// ConnInFlightBytes bounds frames held plus responses queued of one connection:
	// at the bound its reading stops, at half of it it goes on. One frame may
	// overshoot. Default 8 MiB.
	ConnInFlightBytes int64
	// TotalInFlightBytes bounds the same over all connections, for all but one
	// request of each; default 256 MiB.
	TotalInFlightBytes int64
	// SendBudget is how many bytes one connection may send before the others of its
	// loop have their turn, and what all that send much may send together before other
	// events of the loop have theirs; default 256 KiB.
	SendBudget int
	// BulkShare is the least share of a loop's time, in percent, that large answers get
	// while requests in a hurry come and processors are short; default 10. 100: they
	// never give way.
	BulkShare int
	// DescriptorBudget is how many descriptors connections may use; it lowers
	// MaxConnections. Default: what RLIMIT_NOFILE leaves after a reserve.
	DescriptorBudget int
	// SocketSendBuffer and SocketReceiveBuffer set SO_SNDBUF and SO_RCVBUF in bytes
	// (socket.send.buffer.bytes, socket.receive.buffer.bytes); 0 or less leaves them
	// to the system.
	SocketSendBuffer, SocketReceiveBuffer int
}

// Limits bound the accepting of connections. Zero means no limit, in each field.
type Limits struct {
	// MaxConnections (max.connections): further connections wait until others close.
	MaxConnections int
	// MaxConnectionsPerIP (max.connections.per.ip): further ones are closed at once.
	MaxConnectionsPerIP int
	// PerIPOverrides (max.connections.per.ip.overrides) by textual address; 0 shuts
	// an address out.
	PerIPOverrides map[string]int
	// MaxConnectionsPerSec (max.connection.creation.rate): accepting waits.
	MaxConnectionsPerSec int
}

// Listener names an address to accept connections on.
type Listener struct {
	// Name is Kafka's listener name, unique in a server.
	Name string
	// Host is a name or address; empty means all interfaces.
	Host string
	// Port 0 lets the system pick one; Server.Addr tells which.
	Port int
}

const (
	defaultMaxFrameBytes = 100 << 20
	defaultIdleTimeout   = 10 * time.Minute
	defaultConnInFlight  = 8 << 20
	defaultTotalInFlight = 256 << 20
	defaultSendBudget    = 256 << 10
	defaultBulkShare     = 10

	// readBufferBytes is what gnet reads at once, into a buffer of the loop: a small
	// frame whole, of a large one the beginning. All of it is copied once more, so more
	// of it costs large frames; less makes two calls of one for those in between.
	readBufferBytes = 16 << 10
)

func (c Config) withDefaults() Config {
	if c.Loops == 0 {
		c.Loops = runtime.GOMAXPROCS(0)
	}
	if c.MaxFrameBytes == 0 {
		c.MaxFrameBytes = defaultMaxFrameBytes
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.ConnInFlightBytes == 0 {
		c.ConnInFlightBytes = defaultConnInFlight
	}
	if c.TotalInFlightBytes == 0 {
		c.TotalInFlightBytes = defaultTotalInFlight
	}
	if c.SendBudget == 0 {
		c.SendBudget = defaultSendBudget
	}
	if c.BulkShare == 0 {
		c.BulkShare = defaultBulkShare
	}
	if c.DescriptorBudget == 0 {
		c.DescriptorBudget = spareDescriptors()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Loops < 0:
		return fmt.Errorf("netio: %d event loops: give 1 or more", c.Loops)
	case c.MaxFrameBytes < 1:
		return fmt.Errorf("netio: largest frame of %d bytes: give 1 or more", c.MaxFrameBytes)
	case c.ConnInFlightBytes < 1 || c.TotalInFlightBytes < 1:
		return fmt.Errorf("netio: bytes in flight per connection %d, in total %d: give 1 or more", c.ConnInFlightBytes, c.TotalInFlightBytes)
	case c.SendBudget < 1:
		return fmt.Errorf("netio: send budget of %d bytes: give 1 or more", c.SendBudget)
	case c.BulkShare < 1 || c.BulkShare > 100:
		return fmt.Errorf("netio: large answers get %d percent of a loop's time at least: give 1 to 100", c.BulkShare)
	case c.DescriptorBudget < 1:
		return fmt.Errorf("netio: %d descriptors for connections: raise the limit on open files", c.DescriptorBudget)
	}
	return c.Limits.validate()
}

func (l Limits) validate() error {
	if l.MaxConnections < 0 || l.MaxConnectionsPerIP < 0 || l.MaxConnectionsPerSec < 0 {
		return errors.New("netio: a connection limit is negative: give 0 for none")
	}
	for ip, n := range l.PerIPOverrides {
		if n < 0 {
			return fmt.Errorf("netio: connection limit %d for %q is negative", n, ip)
		}
	}
	return nil
}

// orUnlimited makes comparing with "no limit" a plain comparison.
func orUnlimited(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}
