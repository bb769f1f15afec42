package connection

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestParseBootstrap(t *testing.T) {
	cases := map[string][]string{
		"127.0.0.1:9092":     {"127.0.0.1:9092"},
		"a:1, b:2,":          {"a:1", "b:2"},
		"broker":             {"broker:9092"},
		"[::1]:9093":         {"[::1]:9093"},
		"::1":                {"[::1]:9092"},
		"[::1]":              {"[::1]:9092"},
		":9094":              {"127.0.0.1:9094"},
		"b-1.example.org:65": {"b-1.example.org:65"},
	}
	for in, want := range cases {
		got, err := ParseBootstrap(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseBootstrap(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", ",", "PLAINTEXT://a:1", "a:port", "a:0", "a:70000", "a:"} {
		if got, err := ParseBootstrap(in); err == nil {
			t.Errorf("ParseBootstrap(%q) = %q; want an error", in, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	const module = "org.apache.kafka.common.security.scram.ScramLoginModule required "
	cases := map[string][2]string{
		module + `username="alice" password="secret";`:        {"alice", "secret"},
		module + `username='alice' password='a;b c="d"';`:     {"alice", `a;b c="d"`},
		module + `password="say \"hi\" \\o/" username=alice;`: {"alice", `say "hi" \o/`},
		"username=\"a\"\n  password=\"b\"\n;":                 {"a", "b"},
	}
	for jaas, want := range cases {
		user, password, err := credentials(map[string]string{"sasl.jaas.config": jaas})
		if err != nil || user != want[0] || password != want[1] {
			t.Errorf("%q: %q, %q, %v; want %q", jaas, user, password, err, want)
		}
	}
	user, password, err := credentials(map[string]string{"sasl.username": "u", "sasl.password": "p"})
	if err != nil || user != "u" || password != "p" {
		t.Errorf("%q, %q, %v", user, password, err)
	}
	_, _, err = credentials(map[string]string{"sasl.jaas.config": module + `username="alice" passw0rd="secret";`})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v; want an error without the secret", err)
	}
}

func TestClientOptionsRefuse(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "store.jks")
	if err := os.WriteFile(binary, []byte{0xfe, 0xed, 0xfe, 0xed}, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		props map[string]string
		key   string
	}{
		{map[string]string{"security.protocol": "TLS"}, "security.protocol"},
		{map[string]string{"security.protocol": "SASL_PLAINTEXT"}, "sasl.jaas.config"},
		{map[string]string{"security.protocol": "SASL_SSL", "sasl.username": "u", "sasl.password": "p", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism"},
		{map[string]string{"ssl.provider": "x"}, "ssl.provider"},
		{map[string]string{"sasl.login.class": "x"}, "sasl.login.class"},
		{map[string]string{"security.protocol": "SSL", "ssl.truststore.type": "JKS"}, "ssl.truststore.type"},
		{map[string]string{"security.protocol": "SSL", "ssl.truststore.location": binary}, "ssl.truststore.location"},
		{map[string]string{"security.protocol": "SSL", "ssl.truststore.location": "/no/such/file"}, "ssl.truststore.location"},
		{map[string]string{"security.protocol": "SSL", "ssl.truststore.certificates": "-----BEGIN nothing"}, "ssl.truststore.certificates"},
		{map[string]string{"security.protocol": "SSL", "ssl.keystore.key": "k", "ssl.keystore.certificate.chain": "c"}, "ssl.keystore.key"},
		{map[string]string{"security.protocol": "SSL", "ssl.keystore.certificate.chain": "c", "ssl.keystore.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"}, "ssl.keystore.key"},
		{map[string]string{"security.protocol": "SSL", "ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols"},
		{map[string]string{"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "LDAPS"}, "ssl.endpoint.identification.algorithm"},
	}
	for _, c := range cases {
		_, err := clientOptions(c.props)
		var property *PropertyError
		if !errors.As(err, &property) || property.Key != c.key || property.ExitCode() != 2 {
			t.Errorf("%v: %v; want a refusal of %s", c.props, err, c.key)
		}
	}
}

func TestIgnoredProperties(t *testing.T) {
	got := Ignored(map[string]string{"retries": "5", "acks": "all", "security.protocol": "SSL", "bootstrap.servers": "a"})
	if !slices.Equal(got, []string{"acks", "retries"}) {
		t.Errorf("got %q", got)
	}
}

func TestTLSVersions(t *testing.T) {
	cfg, err := tlsConfig(map[string]string{"ssl.enabled.protocols": "TLSv1.2,TLSv1.3"})
	if err != nil || cfg.MinVersion != 0x0303 || cfg.MaxVersion != 0x0304 {
		t.Errorf("got %#x to %#x, %v", cfg.MinVersion, cfg.MaxVersion, err)
	}
	cfg, err = tlsConfig(map[string]string{"ssl.enabled.protocols": "TLSv1.2"})
	if err != nil || cfg.MinVersion != 0x0303 || cfg.MaxVersion != 0x0303 {
		t.Errorf("got %#x to %#x, %v", cfg.MinVersion, cfg.MaxVersion, err)
	}
}

func TestRefused(t *testing.T) {
	if err := Refused("x", 0, nil); err != nil {
		t.Errorf("code 0 became %v", err)
	}
	message := "Topic 'orders' already exists."
	err := Refused(`create topic "orders"`, 36, &message)
	if got, want := err.Error(), `create topic "orders": TOPIC_ALREADY_EXISTS (36): Topic 'orders' already exists`; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if !errors.Is(err, kerr.TopicAlreadyExists) || errors.Is(err, kerr.InvalidConfig) {
		t.Error("errors.Is does not know the code")
	}
	if err := Refused("x", 3, nil); !strings.Contains(err.Error(), "ringmain topic list") {
		t.Errorf("no advice in %q", err)
	}
	if err := Refused("x", 12345, nil); !strings.Contains(err.Error(), "(12345)") {
		t.Errorf("an unknown code became %q", err)
	}
	plain := errors.New("boom")
	if err := RefusedErr("x", plain, ""); !errors.Is(err, plain) {
		t.Errorf("lost the cause: %v", err)
	}
}

func TestSoftwareVersion(t *testing.T) {
	for in, want := range map[string]string{"1.2.3": "1.2.3", "v1.0+dirty": "v1.0-dirty", "": "development", "--": "development", "-1_2.": "1-2"} {
		if got := softwareVersion(in); got != want {
			t.Errorf("softwareVersion(%q) = %q; want %q", in, got, want)
		}
	}
}
