package connection

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// dialTimeout is for one TCP connect and TLS handshake. Two unreachable
	// seeds still fit into the time after which a command has to give up.
	dialTimeout = 4 * time.Second
	// reachTimeout bounds the first exchange with the cluster, all seeds
	// together: a command against a dead broker fails within 10 s.
	reachTimeout = 8 * time.Second
	// retryTimeout bounds the retries of one request.
	retryTimeout = 8 * time.Second
	// defaultPort is Kafka's, for a bootstrap address without a port.
	defaultPort = "9092"
)

// Options say where to go and as whom.
type Options struct {
	Bootstrap  []string          // host:port, at least one
	From       string            // what gives Bootstrap its value, as in "--bootstrap"; "": nothing that a user sets
	Properties map[string]string // Kafka client properties; may be nil
	Software   string            // version reported to the broker (KIP-511)
	// Patience bounds each administrative request, including its retries;
	// 0 means 30 s.
	Patience time.Duration
	Extra    []kgo.Opt // appended last
}

// Conn is a client that has reached at least one broker once.
type Conn struct {
	*kgo.Client
	Admin     *kadm.Client
	bootstrap []string
	from      string
	patience  time.Duration
	watch     *dialWatch
}

// ParseBootstrap reads a comma-separated list of host:port.
func ParseBootstrap(s string) ([]string, error) {
	var seeds []string
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if strings.Contains(part, "://") {
			return nil, fmt.Errorf("bootstrap address %q must be HOST:PORT without a protocol; the protocol is security.protocol in the file of --command-config", part)
		}
		host, port, err := net.SplitHostPort(part)
		if err != nil {
			host, port = strings.Trim(part, "[]"), defaultPort
			if strings.Count(part, ":") == 1 {
				return nil, fmt.Errorf("bootstrap address %q is not HOST:PORT", part)
			}
		}
		if host == "" {
			host = "127.0.0.1"
		}
		if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
			return nil, fmt.Errorf("bootstrap address %q: port %q is not a number from 1 to 65535", part, port)
		}
		seeds = append(seeds, net.JoinHostPort(host, port))
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("no bootstrap address in %q: give HOST:PORT", s)
	}
	return seeds, nil
}

// Open makes a client and reaches the cluster with it, or says in one sentence
// why that did not work.
func Open(ctx context.Context, o Options) (*Conn, error) {
	security, err := clientOptions(o.Properties)
	if err != nil {
		return nil, err
	}
	c := &Conn{bootstrap: o.Bootstrap, from: o.From, patience: o.Patience, watch: newDialWatch()}
	if c.patience <= 0 {
		c.patience = 30 * time.Second
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap...),
		kgo.ClientID("ringmain"),
		kgo.SoftwareNameAndVersion("ringmain", softwareVersion(o.Software)),
		kgo.DisableClientMetrics(), // a command is too short-lived to push metrics
		kgo.DialTimeout(dialTimeout),
		kgo.RetryTimeout(retryTimeout),
		kgo.WithHooks(c.watch),
	}
	opts = append(opts, security...)
	opts = append(opts, o.Extra...)
	if c.Client, err = kgo.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	c.Admin = kadm.NewClient(c.Client)
	c.Admin.SetTimeoutMillis(int32(min(c.patience, 15*time.Second).Milliseconds()))
	reach, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := c.Ping(reach); err != nil {
		err = c.Explain(err)
		c.Client.Close()
		return nil, err
	}
	return c, nil
}

// Request bounds ctx by the command's patience.
func (c *Conn) Request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.patience)
}

// TimeoutMs is what administrative requests carry as their own timeout.
func (c *Conn) TimeoutMs() int32 { return int32(min(c.patience, 15*time.Second).Milliseconds()) }

// Bootstrap is the list of addresses as a person gave it.
func (c *Conn) Bootstrap() string { return strings.Join(c.bootstrap, ",") }

// softwareVersion keeps to what KIP-511 allows: letters, digits, dots and
// dashes, beginning and ending with a letter or a digit.
func softwareVersion(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-') {
			return r
		}
		return '-'
	}, s)
	if clean = strings.Trim(clean, ".-"); clean == "" {
		return "development"
	}
	return clean
}
