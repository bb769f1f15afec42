package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"ringmain/metrics"
)

// httpServer serves metrics and health on a port of its own.
type httpServer struct {
	addr   string
	server *http.Server
	ready  atomic.Bool
}

// headerTimeout bounds how long a client may take to send a request's header.
const headerTimeout = 10 * time.Second

func (n *Node) startHTTP() error {
	if n.cfg.HTTPListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", n.cfg.HTTPListen)
	if err != nil {
		return fmt.Errorf("the HTTP port cannot be opened (ringmain.http.listen, --http): %w", err)
	}
	h := &httpServer{addr: l.Addr().String()}
	n.observe(&h.ready)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(metrics.NewRegistry(n.metrics, metrics.Build{Version: n.build.Version, Commit: n.build.Commit})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "not serving", http.StatusServiceUnavailable)
			return
		}
		if err := n.controller.Err(); err != nil {
			http.Error(w, "the metadata takes no change: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ready\n"))
	})
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	n.http = h
	go func() {
		if err := h.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("the HTTP port failed", "addr", h.addr, "error", err)
		}
	}()
	return nil
}

// stop comes last: until then /readyz tells load balancers to look elsewhere.
func (h *httpServer) stop(ctx context.Context) error { return h.server.Shutdown(ctx) }

// observe tells the metrics where to look when they are scraped.
func (n *Node) observe(ready *atomic.Bool) {
	n.metrics.Observe(metrics.Sources{
		Network:    n.networkState,
		Storage:    n.broker.Storage,
		Partitions: n.broker.PartitionStates,
		Groups:     n.broker.GroupStates,
		MaxSeries:  n.cfg.MetricsMaxSeries,
		Ready:      ready.Load,
	})
}

func (n *Node) networkState() metrics.Network {
	s := n.server.Stats()
	out := metrics.Network{
		Connections:   map[string]int64{},
		Accepted:      uint64(s.Accepted),
		Rejected:      uint64(s.Refused),
		Closed:        map[string]uint64{},
		BytesIn:       uint64(s.BytesIn),
		BytesOut:      uint64(s.BytesOut),
		InFlightBytes: s.InFlightBytes,
	}
	for name, c := range s.OpenByListener {
		out.Connections[name] = int64(c)
	}
	for reason, c := range s.Closed {
		out.Closed[reason] = uint64(c)
	}
	return out
}
