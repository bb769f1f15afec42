package serve

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// occupied returns an address that somebody else listens on.
func occupied(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// freePort returns a port that nobody has, below those that systems give to
// whoever asks for any: another test would get it in between.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 15000 + rand.IntN(15000)
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port found")
	return 0
}

// advertised asks a listener where clients shall connect to.
func advertised(t *testing.T, addr string) string {
	t.Helper()
	c, err := peer.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	brokers := resp.(*kmsg.MetadataResponse).Brokers
	if len(brokers) != 1 {
		t.Fatalf("%d brokers", len(brokers))
	}
	return net.JoinHostPort(brokers[0].Host, fmt.Sprint(brokers[0].Port))
}

func TestAllInterfacesAreAdvertisedByHostName(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	for _, listen := range []string{":0", "0.0.0.0:0"} {
		p := begin(t, "--listen", listen, "--http", "off")
		r := p.ready()
		_, port, err := net.SplitHostPort(r.kafka)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := advertised(t, "127.0.0.1:"+port), net.JoinHostPort(name, port); got != want {
			t.Errorf("--listen %s advertises %s, want %s", listen, got, want)
		}
		p.stop()
	}
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here")
	} else {
		l.Close()
	}
	p := begin(t, "--listen", "[::1]:0", "--http", "off")
	r := p.ready()
	if got := advertised(t, r.kafka); got != r.kafka || !strings.HasPrefix(got, "[::1]:") {
		t.Errorf("on %s it advertises %s", r.kafka, got)
	}
	p.stop()
}

func TestAdvertisedWildcardIsRefused(t *testing.T) {
	t.Parallel()
	refused(t, t.TempDir(), 2, []string{"advertised.listeners", "0.0.0.0"},
		local("--override", "advertised.listeners=PLAINTEXT://0.0.0.0:9092")...)
}

func TestClientsGetTheAddressOfTheListenerTheyCameInOn(t *testing.T) {
	t.Parallel()
	inside, outside := freePort(t), freePort(t)
	p := begin(t, "--http", "off",
		"--override", fmt.Sprintf("listeners=INSIDE://127.0.0.1:%d,OUTSIDE://127.0.0.1:%d", inside, outside),
		"--override", fmt.Sprintf("advertised.listeners=INSIDE://localhost:%d,OUTSIDE://broker.example.org:29092", inside),
		"--override", "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
		"--override", "inter.broker.listener.name=INSIDE")
	r := p.ready()
	if r.kafka != fmt.Sprintf("127.0.0.1:%d", inside) {
		t.Errorf("the ready line names %s, want the first listener", r.kafka)
	}
	for port, want := range map[int]string{inside: fmt.Sprintf("localhost:%d", inside), outside: "broker.example.org:29092"} {
		if got := advertised(t, fmt.Sprintf("127.0.0.1:%d", port)); got != want {
			t.Errorf("on port %d: %s is advertised, want %s", port, got, want)
		}
	}
	p.stop()
}

func TestPortInUseStopsTheStart(t *testing.T) {
	t.Parallel()
	addr := occupied(t)
	refused(t, t.TempDir(), 1, []string{addr, "PLAINTEXT", "in use"}, "--listen", addr, "--http", "off")
	_, port, _ := net.SplitHostPort(addr)
	refused(t, t.TempDir(), 1, []string{port, "in use"}, "--listen", ":"+port, "--http", "off")
}

// occupy listens on a port, which must be free.
func occupy(t *testing.T, port int) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Errorf("port %d: %v", port, err)
		return
	}
	l.Close()
}
