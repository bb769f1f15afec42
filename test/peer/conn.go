package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrClosed says that the broker ended the connection in place of answering.
var ErrClosed = errors.New("the broker closed the connection")

// DefaultTimeout bounds the wait for an answer. It is long because the machine
// that runs the tests may be busy, not because any answer should take so long.
const DefaultTimeout = 30 * time.Second

// Conn is one connection to a broker.
type Conn struct {
	net.Conn
	ClientID string
	Timeout  time.Duration // for each answer

	correlation int32
}

// Dial connects to host:port.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, ClientID: "peer", Timeout: DefaultTimeout}, nil
}

// Frame encodes a request with its length, header and body as kmsg does, at the
// version set on it. The correlation id is the connection's next.
func (c *Conn) Frame(req kmsg.Request) []byte {
	c.correlation++
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.ClientID)).AppendRequest(nil, req, c.correlation)
}

// Correlation is the id of the frame that was made last.
func (c *Conn) Correlation() int32 { return c.correlation }

// Send writes bytes as they are.
func (c *Conn) Send(frame []byte) error {
	c.SetWriteDeadline(time.Now().Add(c.Timeout))
	if _, err := c.Write(frame); err != nil {
		return closedOr(err)
	}
	return nil
}

// Receive reads one answer: the bytes behind its length.
func (c *Conn) Receive() ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(c.Timeout))
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return nil, closedOr(err)
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < 4 || n > 256<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.Conn, b); err != nil {
		return nil, fmt.Errorf("inside an answer: %w", closedOr(err))
	}
	return b, nil
}

// Do sends a request at the version set on it and returns the answer. ErrClosed
// says that the broker hung up instead.
func (c *Conn) Do(req kmsg.Request) (kmsg.Response, error) {
	frame := c.Frame(req)
	if err := c.Send(frame); err != nil {
		return nil, err
	}
	b, err := c.Receive()
	if err != nil {
		return nil, err
	}
	return Decode(req, c.correlation, b)
}

// Decode reads an answer to req strictly: the correlation id is that of the
// request, and the body is exactly the bytes that its contents encode to.
func Decode(req kmsg.Request, correlation int32, answer []byte) (kmsg.Response, error) {
	if len(answer) < 4 {
		return nil, fmt.Errorf("an answer of %d bytes", len(answer))
	}
	if got := int32(binary.BigEndian.Uint32(answer)); got != correlation {
		return nil, fmt.Errorf("the answer is to request %d, not to %d", got, correlation)
	}
	body := answer[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.Key() == 18 {
		// A version that the broker does not know is answered in the form of
		// version 0, with the error in front.
		if len(body) >= 2 && binary.BigEndian.Uint16(body) == 35 {
			resp.SetVersion(0)
		}
	} else if resp.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("the answer's header has no empty tag section: % x", body[:min(len(body), 8)])
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("decoding %s v%d: %w", kmsg.NameForKey(resp.Key()), resp.GetVersion(), err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		at := 0
		for at < min(len(again), len(body)) && again[at] == body[at] {
			at++
		}
		return resp, fmt.Errorf("%s v%d: the %d bytes of the answer differ at byte %d from the %d that their contents encode to",
			kmsg.NameForKey(resp.Key()), resp.GetVersion(), len(body), at, len(again))
	}
	return resp, nil
}

// WaitClosed waits until the broker hangs up, discarding what it still sends, and
// returns how many bytes that were. An error says that it did not within d.
func (c *Conn) WaitClosed(d time.Duration) (int64, error) {
	c.SetReadDeadline(time.Now().Add(d))
	n, err := io.Copy(io.Discard, c.Conn)
	if err == nil || errors.Is(closedOr(err), ErrClosed) {
		return n, nil
	}
	return n, fmt.Errorf("the connection was not closed: %w", err)
}

func closedOr(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return ErrClosed
	}
	return err
}
