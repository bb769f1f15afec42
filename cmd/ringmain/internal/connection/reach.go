package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// dialWatch remembers for every broker address whether the last attempt to
// connect failed. franz-go retries quietly; when a command gives up, this says
// what it was waiting for.
type dialWatch struct {
	mu      sync.Mutex
	failing map[string]dialFailure
}

type dialFailure struct {
	nodeID int32
	err    error
	since  time.Time
}

func newDialWatch() *dialWatch { return &dialWatch{failing: map[string]dialFailure{}} }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (w *dialWatch) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	addr := net.JoinHostPort(meta.Host, fmt.Sprint(meta.Port))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.failing, addr)
		return
	}
	f, known := w.failing[addr]
	if !known {
		f.since = time.Now()
	}
	f.nodeID, f.err = meta.NodeID, err
	w.failing[addr] = f
}

// worst is the address that has been failing for the longest time.
func (w *dialWatch) worst() (addr string, f dialFailure, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a, g := range w.failing {
		if !ok || g.since.Before(f.since) {
			addr, f, ok = a, g, true
		}
	}
	return addr, f, ok
}

// Unreachable reports, while a client is retrying on its own, which broker it
// has been unable to connect to and since when.
func (c *Conn) Unreachable() (sentence string, since time.Time, ok bool) {
	addr, f, ok := c.watch.worst()
	if !ok {
		return "", time.Time{}, false
	}
	return c.unreachable(addr, f).Error(), f.since, true
}

// Explain puts an error of the client into a sentence that says what is wrong
// and what to check. Errors that already do are returned as they are.
func (c *Conn) Explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %w", err)
	}
	if security := explainSecurity(err); security != nil {
		return security
	}
	if addr, f, ok := c.watch.worst(); ok && (isDial(err) || errors.Is(err, context.DeadlineExceeded) || kgo.IsRetryableBrokerErr(err)) {
		if security := explainSecurity(f.err); security != nil {
			return security
		}
		return c.unreachable(addr, f)
	}
	var first *kgo.ErrFirstReadEOF
	switch {
	case errors.As(err, &first), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("the broker at %s closed the connection without an answer: check that this is a Kafka listener, and that security.protocol in the file of --command-config is the listener's protocol (%w)", c.Bootstrap(), err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s in time: check that this is a Kafka listener and that the broker is healthy (%w)", c.Bootstrap(), err)
	case strings.Contains(err.Error(), "large response size"):
		return fmt.Errorf("what listens at %s does not speak Kafka's protocol: check the port, and that security.protocol in the file of --command-config is the listener's protocol (%w)", c.Bootstrap(), err)
	case isDial(err):
		return fmt.Errorf("cannot reach a Kafka broker at %s (%w)", c.Bootstrap(), err)
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return Refused("", code.Code, nil)
	}
	return err
}

func (c *Conn) unreachable(addr string, f dialFailure) error {
	reason := dialReason(f.err)
	if slices.Contains(c.bootstrap, addr) || f.nodeID < 0 {
		check := "check that the broker runs"
		if c.from != "" {
			check += " and that " + c.from + " names its listener"
		}
		return fmt.Errorf("cannot reach a Kafka broker at %s: %s; %s (%w)", addr, reason, check, f.err)
	}
	return fmt.Errorf("reached %s, but not broker %d at the address it advertises, %s: %s; check advertised.listeners of that broker and the way there (%w)", c.Bootstrap(), f.nodeID, addr, reason, f.err)
}

// dialReason is the short reason; the full error follows by wrapping.
func dialReason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.As(err, &dns):
		return "the name " + dns.Name + " does not resolve"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer in time"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "it closes connections (is it a Kafka listener, is security.protocol its protocol, and are user name and password right?)"
	}
	return "the connection failed"
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// explainSecurity recognises what goes wrong with TLS and SASL.
func explainSecurity(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var expired x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("the broker's certificate is not signed by an authority known here; set ssl.truststore.location (PEM) in the file of --command-config (%w)", err)
	case errors.As(err, &name):
		return fmt.Errorf("the broker's certificate is not for the name that was dialled; use a name in the certificate, or set ssl.endpoint.identification.algorithm to nothing (%w)", err)
	case errors.As(err, &expired):
		return fmt.Errorf("the broker's certificate is not valid (%w)", err)
	case errors.As(err, &record):
		return fmt.Errorf("the broker does not speak TLS on this port; set security.protocol in the file of --command-config to the listener's protocol (%w)", err)
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Errorf("the broker refused the user name or password; check sasl.jaas.config and sasl.mechanism in the file of --command-config (%w)", err)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Errorf("the broker does not offer this SASL mechanism; check sasl.mechanism in the file of --command-config (%w)", err)
	case err != nil && strings.Contains(err.Error(), "remote error: tls:"):
		return fmt.Errorf("the broker ended the TLS handshake; it may ask for a client certificate (ssl.keystore.location, PEM) (%w)", err)
	}
	return nil
}
