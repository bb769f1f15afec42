package connection

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// PropertyError is a client property that cannot be honoured. It is wrong
// usage: nothing was sent.
type PropertyError struct {
	Key, Value, Reason string
}

func (e *PropertyError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("client property %s: %s", e.Key, e.Reason)
	}
	return fmt.Sprintf("client property %s=%s: %s", e.Key, e.Value, e.Reason)
}

// ExitCode is that of wrong usage.
func (e *PropertyError) ExitCode() int { return 2 }

// honoured are the properties that are read here or by the commands. Keys that
// protect the connection and are not in this list are refused: a connection
// must never be less safe than the file says.
var honoured = []string{
	"bootstrap.servers", "client.id", "security.protocol",
	"sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password",
	"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates",
	"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain",
	"ssl.endpoint.identification.algorithm", "ssl.enabled.protocols", "ssl.protocol",
}

// Ignored lists the properties that have no effect here, sorted: tuning of
// other clients. Commands name them in a warning.
func Ignored(props map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if !slices.Contains(honoured, k) {
			out = append(out, k)
		}
	}
	return out
}

// clientOptions turns Kafka client properties into franz-go options.
func clientOptions(props map[string]string) ([]kgo.Opt, error) {
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if (strings.HasPrefix(k, "ssl.") || strings.HasPrefix(k, "sasl.") || strings.HasPrefix(k, "security.")) && !slices.Contains(honoured, k) {
			return nil, &PropertyError{Key: k, Reason: "not supported by this client, and it protects the connection; known are " + strings.Join(honoured[2:], ", ")}
		}
	}
	var opts []kgo.Opt
	if id := props["client.id"]; id != "" {
		opts = append(opts, kgo.ClientID(id))
	}
	protocol := strings.ToUpper(props["security.protocol"])
	switch protocol {
	case "", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return nil, &PropertyError{"security.protocol", props["security.protocol"], "must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"}
	}
	if strings.HasSuffix(protocol, "SSL") {
		cfg, err := tlsConfig(props)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(cfg))
	}
	if strings.HasPrefix(protocol, "SASL_") {
		mechanism, err := saslMechanism(props)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func saslMechanism(props map[string]string) (sasl.Mechanism, error) {
	user, password, err := credentials(props)
	if err != nil {
		return nil, err
	}
	switch m := strings.ToUpper(props["sasl.mechanism"]); m {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	default:
		return nil, &PropertyError{"sasl.mechanism", m, "must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"}
	}
}

// jaasOption finds name="value" pairs in a JAAS login module line; the value
// may be quoted with either quote, with backslash escapes, or bare.
var jaasOption = regexp.MustCompile(`([A-Za-z_.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))`)

var jaasEscape = regexp.MustCompile(`\\(.)`)

// credentials takes user and password from sasl.jaas.config, as Java clients
// have them, or from sasl.username and sasl.password, as librdkafka does.
func credentials(props map[string]string) (user, password string, err error) {
	user, password = props["sasl.username"], props["sasl.password"]
	if jaas := props["sasl.jaas.config"]; jaas != "" {
		for _, m := range jaasOption.FindAllStringSubmatch(jaas, -1) {
			value := jaasEscape.ReplaceAllString(m[2]+m[3]+m[4], "$1")
			switch m[1] {
			case "username":
				user = value
			case "password":
				password = value
			}
		}
	}
	if user == "" || password == "" {
		// The value is not shown: it may hold a password.
		return "", "", &PropertyError{Key: "sasl.jaas.config", Reason: `must hold username="..." and password="..."`}
	}
	return user, password, nil
}
