package groups

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// client is a connection to each of the brokers, with one request under way at most.
type client struct {
	name    string
	conns   [2]*peer.Conn
	asked   kmsg.Request // nil: nothing is under way
	member  *member      // whose request it is; nil: nobody's
	answers [2]*answer
}

// answer is what one broker says to a client.
type answer struct {
	c    *client
	side int
	resp kmsg.Response
	err  error
}

// answerTimeout is long: a JoinGroup waits for other members.
const answerTimeout = 10 * time.Minute

func (s *sequence) newClient(name string) *client {
	c := &client{name: name}
	for side, addr := range s.pair.addrs {
		conn, err := peer.Dial(addr)
		if err != nil {
			s.pair.t.Fatalf("connect to %s: %v", addr, err)
		}
		conn.ClientID, conn.Timeout = name, answerTimeout
		c.conns[side] = conn
	}
	s.clients = append(s.clients, c)
	return c
}

// ask sends a request to both brokers; the answers come to s.answers.
func (s *sequence) ask(c *client, req kmsg.Request) {
	c.asked, c.answers = req, [2]*answer{}
	for side, conn := range c.conns {
		own := s.translate(side, req)
		err := conn.Send(conn.Frame(own))
		go func() {
			a := &answer{c: c, side: side, err: err}
			var b []byte
			if err == nil {
				b, a.err = conn.Receive()
			}
			if a.err == nil {
				a.resp, a.err = peer.Decode(own, conn.Correlation(), b)
			}
			s.answers <- a
		}()
	}
}

// hangUp closes the connections; what is under way is answered to nobody.
func (s *sequence) hangUp(c *client) {
	for _, conn := range c.conns {
		conn.Close()
	}
	for i := range s.clients {
		if s.clients[i] == c {
			s.clients = append(s.clients[:i:i], s.clients[i+1:]...)
			return
		}
	}
}

// waits reports whether a request of the member is under way.
func (s *sequence) waits(m *member) bool {
	for _, c := range s.clients {
		if c.asked != nil && c.member == m {
			return true
		}
	}
	return false
}
