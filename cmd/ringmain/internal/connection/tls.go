package connection

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// tlsConfig reads the ssl.* properties. Only PEM is read: the Java store
// formats would need a library for what one openssl or keytool command does.
func tlsConfig(props map[string]string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	roots, err := trust(props)
	if err != nil {
		return nil, err
	}
	cfg.RootCAs = roots
	if cfg.Certificates, err = identity(props); err != nil {
		return nil, err
	}
	if err := versions(props, cfg); err != nil {
		return nil, err
	}
	algorithm, set := props["ssl.endpoint.identification.algorithm"]
	switch {
	case !set, strings.EqualFold(algorithm, "https"):
	case algorithm == "" || strings.EqualFold(algorithm, "none"):
		verifyChainOnly(cfg)
	default:
		return nil, &PropertyError{"ssl.endpoint.identification.algorithm", algorithm, "must be https or empty"}
	}
	return cfg, nil
}

// verifyChainOnly drops the check of the host name and nothing else: the chain
// must still lead to a trusted authority. Go has no switch for that, hence the
// check by hand.
func verifyChainOnly(cfg *tls.Config) {
	cfg.InsecureSkipVerify = true
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the broker sent no certificate")
		}
		options := x509.VerifyOptions{Roots: cfg.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

func trust(props map[string]string) (*x509.CertPool, error) {
	data, key, err := pemProperty(props, "ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates")
	if err != nil || data == nil {
		return nil, err // nil: the system's authorities
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, &PropertyError{Key: key, Reason: "holds no certificate in PEM form"}
	}
	return pool, nil
}

func identity(props map[string]string) ([]tls.Certificate, error) {
	chain, key := []byte(props["ssl.keystore.certificate.chain"]), []byte(props["ssl.keystore.key"])
	name := "ssl.keystore.key"
	if len(chain) == 0 && len(key) == 0 {
		data, from, err := pemProperty(props, "ssl.keystore.type", "ssl.keystore.location", "")
		if err != nil || data == nil {
			return nil, err
		}
		chain, key, name = data, data, from
	}
	if block := encryptedKey(key); block != "" {
		return nil, &PropertyError{Key: name, Reason: "the private key is encrypted (" + block + "), which is not supported; decrypt it with 'openssl pkey' into a file only you can read"}
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, &PropertyError{Key: name, Reason: fmt.Sprintf("no usable certificate chain and private key in PEM form: %v", err)}
	}
	return []tls.Certificate{pair}, nil
}

func encryptedKey(data []byte) string {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return ""
		}
		if strings.HasPrefix(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return block.Type
		}
	}
}

// pemProperty returns the PEM text that is given inline or by a file, with the
// key it came from; nil when neither is set.
func pemProperty(props map[string]string, typeKey, fileKey, inlineKey string) ([]byte, string, error) {
	if t := props[typeKey]; t != "" && !strings.EqualFold(t, "PEM") {
		return nil, "", &PropertyError{typeKey, t, "only PEM is supported; convert the store, for example with 'keytool -importkeystore -deststoretype PKCS12' and 'openssl pkcs12 -nodes'"}
	}
	if inline := props[inlineKey]; inlineKey != "" && inline != "" {
		return []byte(inline), inlineKey, nil
	}
	path := props[fileKey]
	if path == "" {
		return nil, "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", &PropertyError{fileKey, path, fmt.Sprintf("cannot be read: %v", err)}
	}
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		return nil, "", &PropertyError{fileKey, path, "is not a PEM file; only PEM is supported (with " + typeKey + "=PEM)"}
	}
	return data, fileKey, nil
}

// versions narrows the TLS versions to ssl.enabled.protocols. ssl.protocol is
// how Java picks its implementation; it narrows nothing there either.
func versions(props map[string]string, cfg *tls.Config) error {
	list := props["ssl.enabled.protocols"]
	if list == "" {
		return nil
	}
	cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS13, tls.VersionTLS12
	for _, v := range strings.Split(list, ",") {
		switch strings.TrimSpace(v) {
		case "TLSv1.2":
			cfg.MinVersion = tls.VersionTLS12
		case "TLSv1.3":
			cfg.MaxVersion = tls.VersionTLS13
		default:
			return &PropertyError{"ssl.enabled.protocols", list, "must be TLSv1.2, TLSv1.3 or both"}
		}
	}
	return nil
}
