package node

import (
	"math"
	"net"
	"strconv"
	"time"

	"ringmain/config"
	"ringmain/netio"
)

// listeners gives the addresses to bind, from listeners.
func (n *Node) listeners() []netio.Listener {
	var ls []netio.Listener
	for _, l := range n.cfg.Listeners {
		ls = append(ls, netio.Listener{Name: l.Name, Host: l.Host, Port: l.Port})
	}
	return ls
}

// boundPort is the port that a listener got, for an advertised port of 0.
func (n *Node) boundPort(listener string) int {
	_, port, err := net.SplitHostPort(n.server.Addr(listener))
	if err != nil {
		return 0
	}
	p, _ := strconv.Atoi(port)
	return p
}

func (n *Node) network() netio.Config {
	loops := n.cfg.EventLoops
	if loops == 0 {
		loops = eventLoops(processors())
	}
	leaveRoom(loops)
	c := netio.Config{
		Loops:               loops,
		MaxFrameBytes:       n.cfg.RequestMaxBytes,
		IdleTimeout:         time.Duration(n.cfg.IdleMs) * time.Millisecond,
		Limits:              limits(config.Layers{Server: n.cfg}.Resolve()),
		ConnInFlightBytes:   n.cfg.ConnInFlightBytes,
		TotalInFlightBytes:  n.cfg.TotalInFlightBytes,
		BulkShare:           n.cfg.BulkShare,
		DescriptorBudget:    n.descriptors.connections,
		SocketSendBuffer:    n.socketBuffer("socket.send.buffer.bytes", n.cfg.SendBufferBytes),
		SocketReceiveBuffer: n.socketBuffer("socket.receive.buffer.bytes", n.cfg.ReceiveBufferBytes),
	}
	if n.cfg.IdleMs < 0 {
		c.IdleTimeout = -1
	}
	return c
}

// socketBuffer gives a size that was asked for. Kafka's default of 100 KiB is not
// imposed on sockets: it switches the system's own tuning off, which does better
// with batches of 64 KiB and more.
func (n *Node) socketBuffer(key string, size int) int {
	if _, set := n.cfg.Values()[key]; !set {
		return -1
	}
	return size
}

// limits gives the limits on connections. Kafka's defaults, the largest
// numbers there are, stand for none.
func limits(b config.Broker) netio.Limits {
	number := func(n int) int {
		if n >= math.MaxInt32 {
			return 0
		}
		return n
	}
	return netio.Limits{
		MaxConnections:       number(b.MaxConnections),
		MaxConnectionsPerIP:  number(b.MaxConnectionsPerIP),
		MaxConnectionsPerSec: number(b.MaxConnectionCreationRate),
		PerIPOverrides:       b.PerIPOverrides,
	}
}
