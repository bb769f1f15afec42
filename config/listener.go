package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const plaintext = "PLAINTEXT"

var protocols = []string{plaintext, "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// parseEndpoint reads NAME://host:port.
func parseEndpoint(text string) (Listener, error) {
	name, address, ok := strings.Cut(strings.TrimSpace(text), "://")
	if !ok {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://host:port", text)
	}
	if !nameOK(name) {
		return Listener{}, fmt.Errorf("listener name %q may only have letters, digits, dots, _ and -", name)
	}
	host, port, err := hostPort(address)
	if err != nil {
		return Listener{}, fmt.Errorf("%q: %w", text, err)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: port}, nil
}

func nameOK(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-.", c) >= 0) {
			return false
		}
	}
	return name != ""
}

func hostPort(address string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("address %q is not of the form host:port (an IPv6 address needs brackets)", address)
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("port %q is not a number from 0 to 65535", digits)
	}
	if strings.ContainsAny(host, " \t/@\\\"'") {
		return "", 0, fmt.Errorf("host %q has characters no host has", host)
	}
	return host, port, nil
}

// wildcard tells hosts that stand for all interfaces.
func wildcard(host string) bool {
	if host == "" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsUnspecified()
}

func parseEndpoints(key string, items []string) ([]Listener, error) {
	usage := func(problem string) error {
		return &UsageError{Key: key, Value: strings.Join(items, ","), Problem: problem}
	}
	var ls []Listener
	for _, item := range items {
		l, err := parseEndpoint(item)
		if err != nil {
			return nil, usage(err.Error())
		}
		if i := slices.IndexFunc(ls, func(o Listener) bool { return o.Name == l.Name }); i >= 0 {
			return nil, usage("each listener needs a name of its own, " + l.Name + " is there twice")
		}
		ls = append(ls, l)
	}
	return ls, nil
}

// distinctPorts refuses two listeners on one port, except for an IPv4 and an
// IPv6 address (KIP-797).
func distinctPorts(key, value string, ls []Listener) error {
	for i, a := range ls {
		for _, b := range ls[:i] {
			if a.Port != 0 && a.Port == b.Port && !addressPair(a.Host, b.Host) {
				return &UsageError{Key: key, Value: value,
					Problem: fmt.Sprintf("listeners %s and %s both have port %d, each needs a port of its own (or one an IPv4 and the other an IPv6 address)", b.Name, a.Name, a.Port)}
			}
		}
	}
	return nil
}

func addressPair(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err1 == nil && err2 == nil && x.Is4() != y.Is4()
}

// protocolMap reads listener.security.protocol.map.
func protocolMap(items []string) (map[string]string, error) {
	const key = "listener.security.protocol.map"
	m := map[string]string{}
	for _, item := range items {
		name, protocol, ok := strings.Cut(item, ":")
		name, protocol = strings.ToUpper(strings.TrimSpace(name)), strings.ToUpper(strings.TrimSpace(protocol))
		problem := ""
		switch {
		case !ok || !nameOK(name):
			problem = fmt.Sprintf("%q is not of the form NAME:PROTOCOL", item)
		case !slices.Contains(protocols, protocol):
			problem = fmt.Sprintf("%q is not a security protocol; they are %s", protocol, strings.Join(protocols, ", "))
		case m[name] != "":
			problem = "listener " + name + " is there twice"
		}
		if problem != "" {
			return nil, &UsageError{Key: key, Value: strings.Join(items, ","), Problem: problem}
		}
		m[name] = protocol
	}
	return m, nil
}

// network resolves the keys about listeners. hostname is what an empty host
// advertises.
func (s *Server) network(hostname func() (string, error)) error {
	all, err := parseEndpoints("listeners", s.List("listeners"))
	if err != nil {
		return err
	}
	value := strings.Join(s.List("listeners"), ",")
	if err := distinctPorts("listeners", value, all); err != nil {
		return err
	}
	for _, name := range s.List("controller.listener.names") {
		s.ControllerNames = append(s.ControllerNames, strings.ToUpper(name))
	}
	items, _ := splitList(s.Text("listener.security.protocol.map"))
	protocol, err := protocolMap(items)
	if err != nil {
		return err
	}
	for _, l := range all {
		if slices.Contains(s.ControllerNames, l.Name) {
			continue
		}
		l.Protocol = protocol[l.Name]
		if l.Protocol == "" {
			return &UsageError{Key: "listeners", Value: value,
				Problem: "listener " + l.Name + " has no security protocol; add " + l.Name + ":" + plaintext + " to listener.security.protocol.map, or the name to controller.listener.names if it is the controller's"}
		}
		if l.Protocol != plaintext {
			return &UsageError{Key: "listeners", Value: value,
				Problem: "listener " + l.Name + " asks for " + l.Protocol + ", which is not built in yet; only " + plaintext + " listeners can be opened"}
		}
		s.Listeners = append(s.Listeners, l)
	}
	if len(s.Listeners) == 0 {
		return &UsageError{Key: "listeners", Value: value, Problem: "there is no listener for clients; add one such as PLAINTEXT://:9092"}
	}
	if err := s.advertise(all, hostname); err != nil {
		return err
	}
	return s.interBroker()
}

func (s *Server) advertise(all []Listener, hostname func() (string, error)) error {
	const key = "advertised.listeners"
	ls := s.Listeners
	value, explicit := s.static(key)
	if explicit {
		var err error
		if ls, err = parseEndpoints(key, s.List(key)); err != nil {
			return err
		}
	}
	var host string
	for _, l := range ls {
		i := slices.IndexFunc(all, func(o Listener) bool { return o.Name == l.Name })
		if i < 0 {
			return &UsageError{Key: key, Value: value, Problem: "listener " + l.Name + " is not one of listeners"}
		}
		if slices.Contains(s.ControllerNames, l.Name) {
			continue
		}
		if explicit && l.Host != "" && wildcard(l.Host) {
			return &UsageError{Key: key, Value: value,
				Problem: l.Host + " stands for all interfaces and no client can connect to it; advertise an address or name that clients reach"}
		}
		if wildcard(l.Host) {
			if host == "" {
				var err error
				if host, err = hostname(); err != nil || host == "" {
					return &UsageError{Key: key, Value: value, Problem: fmt.Sprintf("this host's name cannot be found (%v); set advertised.listeners to an address that clients reach", err)}
				}
			}
			l.Host = host
		}
		l.Protocol = plaintext
		s.Advertised = append(s.Advertised, l)
	}
	if len(s.Advertised) == 0 {
		return &UsageError{Key: key, Value: value, Problem: "no listener for clients is advertised"}
	}
	return nil
}

func (s *Server) interBroker() error {
	const key = "inter.broker.listener.name"
	advertised := func(name string) bool {
		return slices.ContainsFunc(s.Advertised, func(l Listener) bool { return l.Name == name })
	}
	if value, ok := s.static(key); ok {
		s.InterBrokerName = strings.ToUpper(strings.TrimSpace(value))
		if _, both := s.static("security.inter.broker.protocol"); both {
			return &UsageError{Key: key, Value: value, Problem: "only one of it and security.inter.broker.protocol may be set"}
		}
		if !advertised(s.InterBrokerName) {
			return &UsageError{Key: key, Value: value, Problem: "it is not one of the advertised listeners"}
		}
		return nil
	}
	// Kafka insists on a name here when no listener is called PLAINTEXT. One
	// node has nobody to talk to, so its first listener does.
	s.InterBrokerName = s.Advertised[0].Name
	if advertised(plaintext) {
		s.InterBrokerName = plaintext
	}
	return nil
}

// hostCharacters are those that Kafka takes in a host's name or address.
var hostCharacters = regexp.MustCompile(`^[0-9a-zA-Z%._:-]+$`)

// parseOverrides reads max.connections.per.ip.overrides, a list of
// address:count.
func parseOverrides(text string) (map[string]int, error) {
	items, ok := splitList(strings.TrimRight(text, ", ")) // commas at the end stand for nothing
	if !ok {
		return nil, fmt.Errorf("max.connections.per.ip.overrides has an empty item in %q", text)
	}
	m := map[string]int{}
	for _, item := range items {
		i := strings.LastIndexByte(item, ':')
		if i < 0 {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %q is not of the form address:count", item)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(item[i+1:]), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %q is not a count", item[i+1:])
		}
		host := strings.Trim(strings.TrimSpace(item[:i]), "[]")
		if host == "" {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %q has no address", item)
		}
		if !hostCharacters.MatchString(host) {
			return nil, fmt.Errorf("max.connections.per.ip.overrides: %q is no address", host)
		}
		if a, err := netip.ParseAddr(host); err == nil {
			host = a.Unmap().String()
		}
		m[host] = int(n)
	}
	return m, nil
}
