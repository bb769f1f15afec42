package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/netio"
	"ringmain/wire"
)

// Errors that close a connection.
var (
	errUnknownAPI      = errors.New("broker: unknown API key")
	errAPIVersion      = errors.New("broker: API version is not served")
	errAcksZero        = errors.New("broker: a produce without answer (acks=0) failed; closing is the client's only signal")
	errBodyDoesntParse = errors.New("broker: the request's body does not parse")
)

// request is one request between its arrival and its answer: what every
// handler that keeps a request around embeds.
type request struct {
	conn  *netio.Conn
	slot  netio.Slot
	h     wire.Header
	start time.Time
}

// Opened implements netio.Handler.
func (b *Broker) Opened(c *netio.Conn) { c.State = &client{} }

// Closed implements netio.Handler. Fetches that are parked would otherwise be
// kept until their max wait has passed. All else notices by itself: sending to a
// closed connection does nothing.
func (b *Broker) Closed(c *netio.Conn, _ error) { abandonParked(c) }

// Frame implements netio.Handler: it is called on the connection's loop with
// one request.
func (b *Broker) Frame(c *netio.Conn, f *netio.Frame) {
	frame := f.Bytes
	cl := clientOf(c)
	h, err := wire.ParseHeaderOf(frame, cl.id)
	if err != nil {
		c.Close(err)
		f.Release()
		return
	}
	cl.id = h.ClientID
	a := b.table[h.Key]
	if a == nil {
		c.Close(fmt.Errorf("%w %d", errUnknownAPI, h.Key))
		f.Release()
		return
	}
	r := request{conn: c, h: h, start: time.Now()}
	if h.Version < a.min || h.Version > a.max {
		if h.Key != keyApiVersions {
			c.Close(fmt.Errorf("%w: %s version %d, served are %d to %d", errAPIVersion, apiName(h.Key), h.Version, a.min, a.max))
			f.Release()
			return
		}
		r.slot = c.Reserve()
		resp := netio.NewResponse()
		resp.Buf = wire.AppendResponse(resp.Buf, h.Correlation, refuseApiVersions())
		b.answered(h.Key, kerr.UnsupportedVersion.Code, r.start)
		r.slot.Send(resp)
		f.Release()
		return
	}
	r.slot = c.Reserve()
	body := frame[h.Size:]
	switch h.Key {
	case keyProduce:
		b.produce(r, f, body)
	case keyFetch:
		b.fetch(r, f, body)
	default:
		if a.group != nil {
			b.serveGroup(a, r, f, body)
			return
		}
		b.serve(a, r, f, body)
	}
}

// quickBytes is the largest request that a quick API answers on the loop.
const quickBytes = 64 << 10

// largeBytes is the size from which requests are served one at a time.
const largeBytes = 1 << 20

// serve answers a request on the connection's loop where the API is quick, else
// on the pool, with the connection paused meanwhile. It is decoded there too:
// a decoded request can take many times the memory of its frame, and so only as
// many exist as the pool has workers, and of large ones only one.
func (b *Broker) serve(a *api, r request, f *netio.Frame, body []byte) {
	if a.quick && len(body) <= quickBytes {
		b.execute(a, r, f, body)
		return
	}
	r.conn.Pause()
	b.pool.run(func() {
		if len(body) > largeBytes {
			b.large.Lock()
			defer b.large.Unlock()
		}
		b.execute(a, r, f, body)
		r.conn.Resume()
	})
}

func (b *Broker) execute(a *api, r request, f *netio.Frame, body []byte) {
	req, err := wire.Decode(r.h.Key, r.h.Version, body)
	if err != nil {
		b.refuse(r, f, err)
		return
	}
	c := &call{header: r.h, listener: r.conn.Listener(), remoteIP: r.conn.RemoteIP()}
	resp := netio.NewResponse()
	out := a.serve(&b.admin, b.ctx, c, req)
	out.SetVersion(r.h.Version)
	resp.Buf = wire.AppendResponse(resp.Buf, r.h.Correlation, out)
	b.answered(r.h.Key, responseError(out), r.start)
	f.Release()
	r.slot.Send(resp)
}

// refuse closes the connection for a body that does not parse, as Kafka does.
func (b *Broker) refuse(r request, f *netio.Frame, err error) {
	r.slot.Skip()
	r.conn.Close(fmt.Errorf("%w: %s version %d: %w", errBodyDoesntParse, apiName(r.h.Key), r.h.Version, err))
	f.Release()
}

// answered counts a request.
func (b *Broker) answered(key, code int16, start time.Time) {
	b.metrics.Request(key, time.Since(start))
	b.metrics.Error(key, code)
}

var _ netio.Handler = (*Broker)(nil)
