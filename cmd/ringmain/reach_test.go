package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// closedPort is an address where nothing listens, and where nothing will: it is bound,
// or another process that asks for a free port might get it.
func closedPort(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

// giveUp is the longest a command may try to reach a broker, on a busy machine: it
// gives itself 8 s for that, and 30 for an answer.
const giveUp = 20 * time.Second

func TestDeadBroker(t *testing.T) {
	addr := closedPort(t)
	s := shell{t: t, bootstrap: addr}
	for _, args := range [][]string{{"topic", "list"}, {"produce", "orders"}, {"consume", "orders"}, {"cluster", "describe"}, {"config", "describe", "topic", "orders"}} {
		start := time.Now()
		s.fails(exitFailure, args, "cannot reach a Kafka broker at "+addr, "nothing listens there", "--bootstrap")
		if took := time.Since(start); took > giveUp {
			t.Errorf("%q gave up after %v", args, took)
		}
	}
}

func TestSomethingElseListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			c.Close()
		}
	}()
	s := shell{t: t, bootstrap: l.Addr().String()}
	s.fails(exitFailure, []string{"topic", "list"}, l.Addr().String(), "Kafka")
}

// TestDeadAdvertisedAddress: the first address answers, and names one that does
// not. That is the classic of advertised.listeners, and the sentence says so.
func TestDeadAdvertisedAddress(t *testing.T) {
	c := fakeCluster(t, kfake.SeedTopics(1, "orders"))
	dead := closedPort(t)
	host, port, err := net.SplitHostPort(dead)
	if err != nil {
		t.Fatal(err)
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 0, host, int32(number)
		resp.Brokers, resp.ControllerID = append(resp.Brokers, b), 0
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = kmsg.StringPtr("orders")
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = 0, 0, []int32{0}, []int32{0}
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	s := newShell(t, c)
	start := time.Now()
	s.fails(exitFailure, []string{"topic", "create", "new"}, "reached "+s.bootstrap, "broker 0", dead, "advertised.listeners")
	if took := time.Since(start); took > giveUp {
		t.Errorf("gave up after %v", took)
	}
}

// properties writes a file for --command-config.
func properties(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSASL(t *testing.T) {
	c := fakeCluster(t, kfake.EnableSASL(),
		kfake.Superuser("PLAIN", "alice", "secret"), kfake.Superuser("SCRAM-SHA-256", "alice", "secret"), kfake.Superuser("SCRAM-SHA-512", "alice", "secret"))
	s := newShell(t, c)
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		head := "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=" + mechanism + "\nsasl.jaas.config=module required username=\"alice\" password="
		s.ok("", "topic", "list", "--command-config", properties(t, head+"\"secret\";\n"))
		s.fails(exitFailure, []string{"topic", "list", "--command-config", properties(t, head+"\"wrong\";\n")}, "password")
	}
	code, _, errOut := s.run("", "topic", "list", "--command-config", properties(t, "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=secret\nretries=5\n"))
	if code != 0 || !strings.Contains(errOut, "warning") || !strings.Contains(errOut, "retries") {
		t.Errorf("exit code %d, standard error %q; want a warning about retries", code, errOut)
	}
	s.fails(exitUsage, []string{"topic", "list", "--command-config", properties(t, "security.protocol=SASL_PLAINTEXT\n")}, "sasl.jaas.config")
}

func TestTLS(t *testing.T) {
	cert, authority := selfSigned(t)
	c := fakeCluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	s := newShell(t, c)
	store := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(store, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	trusting := "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=" + store + "\n"
	s.ok("", "topic", "list", "--command-config", properties(t, trusting))
	s.fails(exitFailure, []string{"topic", "list", "--command-config", properties(t, "security.protocol=SSL\n")}, "ssl.truststore.location")
	s.fails(exitFailure, []string{"topic", "list"}, "security.protocol")

	// The certificate is for the address and not for the name.
	_, port, _ := net.SplitHostPort(s.bootstrap)
	s.bootstrap = "localhost:" + port
	s.fails(exitFailure, []string{"topic", "list", "--command-config", properties(t, trusting)}, "ssl.endpoint.identification.algorithm")
	s.ok("", "topic", "list", "--command-config", properties(t, trusting+"ssl.endpoint.identification.algorithm=\n"))
	// Without the check of the name the chain still counts.
	s.fails(exitFailure, []string{"topic", "list", "--command-config", properties(t, "security.protocol=SSL\nssl.endpoint.identification.algorithm=\n")}, "ssl.truststore.location")
}

// selfSigned is a certificate for 127.0.0.1, and itself in PEM form.
func selfSigned(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
