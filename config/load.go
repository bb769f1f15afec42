package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// oneNode are the defaults that Kafka made for three nodes; a single node gets
// what Kafka's own files for a single node say.
var oneNode = map[string]string{
	"offsets.topic.replication.factor":                 "1",
	"transaction.state.log.replication.factor":         "1",
	"transaction.state.log.min.isr":                    "1",
	"share.coordinator.state.topic.replication.factor": "1",
	"share.coordinator.state.topic.min.isr":            "1",
	"node.id":                                          "1",
	"process.roles":                                    "broker,controller",
	"controller.listener.names":                        "",
	"log.dir":                                          "./ringmain-data",
}

// LoadServer checks the keys of a server.properties and turns them into typed
// values. warnings has a sentence for every key nobody knows and every value
// that will not do what it says. The error is a *UsageError.
func LoadServer(values map[string]string) (s *Server, warnings []string, err error) {
	return load(values, os.Hostname)
}

func load(values map[string]string, hostname func() (string, error)) (*Server, []string, error) {
	s := &Server{values: map[string]string{}, defaults: map[string]string{}}
	for k, v := range oneNode {
		s.defaults[k] = v
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	var warnings []string
	for _, name := range names {
		warning, err := s.take(name, values[name])
		if err != nil {
			return nil, nil, err
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	if err := s.alerts(); err != nil {
		return nil, nil, err
	}
	if err := s.quorum(); err != nil {
		return nil, nil, err
	}
	if err := s.network(hostname); err != nil {
		return nil, nil, err
	}
	if err := s.directories(); err != nil {
		return nil, nil, err
	}
	if err := checkBroker(Layers{Server: s}); err != nil {
		return nil, nil, usage(s, err)
	}
	if err := s.fill(); err != nil {
		return nil, nil, err
	}
	return s, append(warnings, s.doubts()...), nil
}

// take checks one key on its own and stores it.
func (s *Server) take(name, text string) (warning string, err error) {
	if base, listener, ok := listenerKey(name); ok {
		return s.takeListenerKey(name, base, listener, text)
	}
	if _, _, ok := alertKey(name); ok {
		return "", s.takeAlert(name, text)
	}
	d, known := brokerTable.byName[name]
	if !known {
		return s.takeUnknown(name, text)
	}
	if d.Null && strings.TrimSpace(text) == "" && d.Type != Password && d.Type != List {
		// "key=" in a file means unset for keys that have no default, as in
		// the templates people start from.
		return "", nil
	}
	v, perr := d.validate(text)
	if perr != nil {
		return "", malformed(d, text, perr)
	}
	if d.Status == Refused && !sameValue(d, v) {
		return "", &UsageError{Key: name, Value: shown(d, text), Problem: notBuiltIn(name) + "; remove the key, or do not rely on this broker for it"}
	}
	switch name {
	case "replica.selector.class":
		if !slices.Contains(selectors, strings.TrimSpace(text)) {
			return "", &UsageError{Key: name, Value: text, Problem: "Java classes cannot be loaded; known are " + strings.Join(selectors, " and ")}
		}
	case "ringmain.http.listen":
		if word := strings.TrimSpace(text); word != "off" {
			if _, _, err := hostPort(word); err != nil {
				return "", &UsageError{Key: name, Value: text, Problem: err.Error() + "; allowed: host:port, or off"}
			}
		}
	}
	s.values[name] = format(v)
	return "", nil
}

var selectors = []string{
	"org.apache.kafka.common.replica.LeaderSelector",
	"org.apache.kafka.common.replica.RackAwareReplicaSelector",
}

// guarding are keys that only plugins of Kafka read. A file that has them
// relies on a protection that would not be there.
var guarding = map[string]string{
	"super.users":                    "authorization (ACLs) is not built in yet",
	"allow.everyone.if.no.acl.found": "authorization (ACLs) is not built in yet",
}

// removed are keys that Kafka dropped; files still have them.
var removed = []string{"zookeeper.", "inter.broker.protocol.version", "log.message.format.version",
	"log.message.downconversion.enable", "log.message.timestamp.difference.max.ms", "control.plane.listener.name",
	"broker.id.generation.enable", "reserved.broker.max.id", "password.encoder.", "offsets.commit.required.acks",
	"advertised.host.name", "advertised.port", "host.name", "port", "quota.producer.default", "quota.consumer.default"}

func (s *Server) takeUnknown(name, text string) (warning string, err error) {
	if why, ok := guarding[name]; ok {
		if name == "allow.everyone.if.no.acl.found" && strings.EqualFold(strings.TrimSpace(text), "true") {
			return "", nil // everyone is allowed here anyway
		}
		return "", &UsageError{Key: name, Value: text, Problem: why + "; remove the key, or do not rely on this broker for it"}
	}
	s.values[name] = text
	for _, r := range removed {
		if name == r || strings.HasSuffix(r, ".") && strings.HasPrefix(name, r) {
			return fmt.Sprintf("configuration %s was removed from Kafka and is ignored", name), nil
		}
	}
	for _, prefix := range []string{"rsm.config.", "rlmm.config.", "confluent."} {
		if strings.HasPrefix(name, prefix) {
			return fmt.Sprintf("configuration %s belongs to a plugin and is ignored", name), nil
		}
	}
	return fmt.Sprintf("configuration %s is unknown and ignored", name), nil
}

// listenerKey splits listener.name.<listener>.<key> (KIP-103).
func listenerKey(name string) (base, listener string, ok bool) {
	rest, found := strings.CutPrefix(name, "listener.name.")
	if !found {
		return "", "", false
	}
	listener, base, ok = strings.Cut(rest, ".")
	return base, listener, ok && base != ""
}

func (s *Server) takeListenerKey(name, base, listener, text string) (warning string, err error) {
	if strings.HasPrefix(base, "ssl.") || strings.HasPrefix(base, "sasl.") || strings.Contains(base, ".sasl.") ||
		base == "principal.builder.class" || base == "connections.max.reauth.ms" {
		return "", &UsageError{Key: name, Value: "[hidden]", Problem: "security of listener " + listener + " is not built in yet; only " + plaintext + " listeners can be opened"}
	}
	d, known := brokerTable.byName[base]
	if !known {
		s.values[name] = text
		return fmt.Sprintf("configuration %s is unknown and ignored", name), nil
	}
	v, perr := d.validate(text)
	if perr != nil {
		return "", malformed(&Def{Name: name, Type: d.Type, Check: d.Check}, text, perr)
	}
	s.values[name] = format(v)
	return fmt.Sprintf("configuration %s has no effect: limits hold for all listeners together, set %s", name, base), nil
}

// sameValue tells whether a refused key says no more than its default.
func sameValue(d *Def, v any) bool {
	if d.Null || d.Required {
		return format(v) == ""
	}
	def, err := d.validate(d.Default)
	if err != nil {
		return false
	}
	a, isList := v.([]string)
	if b, ok := def.([]string); ok && isList {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.Sort(a)
		slices.Sort(b)
		return slices.Equal(a, b)
	}
	return format(v) == format(def)
}

func notBuiltIn(name string) string {
	switch {
	case strings.HasPrefix(name, "ssl."):
		return "TLS is not built in yet"
	case strings.HasPrefix(name, "sasl."), name == "connections.max.reauth.ms", strings.HasPrefix(name, "delegation."):
		return "SASL authentication is not built in yet"
	case name == "authorizer.class.name":
		return "authorization (ACLs) is not built in yet"
	case strings.HasPrefix(name, "remote."):
		return "tiered (remote) storage is not built in yet"
	case name == "security.inter.broker.protocol":
		return "only " + plaintext + " is built in yet"
	case name == "controller.quorum.auto.join.enable":
		return "several nodes are not built in yet"
	case name == "transaction.two.phase.commit.enable":
		return "two-phase commit is not built in"
	}
	return "Java classes cannot be loaded"
}

func shown(d *Def, text string) string {
	if d.Sensitive() {
		return "[hidden]"
	}
	return text
}

// malformed words a bad value for the person at the terminal: what is wrong,
// and what is allowed.
func malformed(d *Def, text string, err error) error {
	problem := err.Error()
	if i := strings.Index(problem, d.Name+": "); i >= 0 {
		problem = problem[i+len(d.Name)+2:]
	}
	allowed := d.Check.String()
	switch {
	case d.Type == Boolean:
		allowed = "true, false"
	case allowed == "" && (d.Type == Int || d.Type == Short || d.Type == Long):
		allowed = "a whole number of type " + d.Type.String()
	case allowed == "" && d.Type == Double:
		allowed = "a number"
	case allowed == "" && d.Type == List:
		allowed = "items between commas"
	}
	if allowed != "" {
		problem += "; allowed: " + allowed
	}
	return &UsageError{Key: d.Name, Value: shown(d, text), Problem: problem}
}

// usage turns a failed check across keys into the error of a start.
func usage(s *Server, err error) error {
	if invalid, ok := err.(*InvalidError); ok {
		return &UsageError{Key: invalid.Key, Value: invalid.Value, Problem: invalid.Message}
	}
	return err
}

// directories resolves where data and metadata live.
func (s *Server) directories() error {
	key := "log.dirs"
	value, ok := s.static(key)
	if !ok {
		key = "log.dir"
		value, _ = s.Get(key)
	}
	dirs, _ := splitList(value)
	if len(dirs) == 0 {
		return &UsageError{Key: key, Value: value, Problem: "at least one directory is needed"}
	}
	for i, dir := range dirs {
		if slices.ContainsFunc(dirs[:i], func(o string) bool { return filepath.Clean(o) == filepath.Clean(dir) }) {
			return &UsageError{Key: key, Value: value, Problem: "directory " + dir + " is there twice"}
		}
	}
	s.LogDirs = dirs
	s.MetadataDir = strings.TrimSpace(s.Text("metadata.log.dir"))
	if s.MetadataDir == "" {
		s.MetadataDir = dirs[0]
	}
	return nil
}

// fill copies the values node hands to components.
func (s *Server) fill() error {
	s.Rack = s.Text("broker.rack")
	if s.HTTPListen = strings.TrimSpace(s.Text("ringmain.http.listen")); s.HTTPListen == "off" {
		s.HTTPListen = ""
	}
	s.LostLogDirs = s.List("ringmain.lost.log.dirs")
	s.IOEngine = s.Text("ringmain.io.engine")
	s.EventLoops = int(s.Int("ringmain.event.loops"))
	s.Appenders = int(s.Int("ringmain.appenders"))
	s.PoolSize = int(s.Int("ringmain.pool.size"))
	s.OpenFiles = int(s.Int("ringmain.open.files"))
	s.LagCheckMs = s.lagCheckMs()
	s.MetricsMaxSeries = int(s.Int("ringmain.metrics.max.series"))
	s.SyncBytes = s.Long("ringmain.sync.bytes")
	s.JournalBytes = s.Long("ringmain.journal.bytes")
	s.SyncMs = s.Long("ringmain.sync.ms")
	s.ConnInFlightBytes = s.Long("ringmain.connection.inflight.bytes")
	s.TotalInFlightBytes = s.Long("ringmain.inflight.bytes")
	s.BulkShare = int(s.Int("ringmain.bulk.share.percent"))
	s.DecompressedMax = s.Long("ringmain.decompressed.max.bytes")
	s.RequestMaxParts = s.Int("ringmain.request.max.partitions")

	s.RequestMaxBytes = s.Int("socket.request.max.bytes")
	s.IdleMs = s.Long("connections.max.idle.ms")
	s.ListenBacklog = int(s.Int("socket.listen.backlog.size"))
	s.SendBufferBytes = int(s.Int("socket.send.buffer.bytes"))
	s.ReceiveBufferBytes = int(s.Int("socket.receive.buffer.bytes"))
	s.FetchMaxBytes = s.Int("fetch.max.bytes")
	s.FetchSessionSlots = int(s.Int("max.incremental.fetch.session.cache.slots"))
	s.DescribePartitionLimit = s.Int("max.request.partition.size.limit")

	s.NumPartitions = s.Int("num.partitions")
	s.ReplicationFactor = int16(s.Int("default.replication.factor"))
	s.AutoCreateTopics = s.Bool("auto.create.topics.enable")
	s.DeleteTopics = s.Bool("delete.topic.enable")
	s.RetentionCheckMs = s.Long("log.retention.check.interval.ms")
	s.RecoveryPointMs = s.Long("log.flush.offset.checkpoint.interval.ms")
	s.StartOffsetMs = s.Long("log.flush.start.offset.checkpoint.interval.ms")
	s.RecoveryThreads = int(s.Int("num.recovery.threads.per.data.dir"))
	s.ControlledShutdown = s.Bool("controlled.shutdown.enable")
	s.InitialTaskDelayMs = s.Long("log.initial.task.delay.ms")
	s.SnapshotMaxBytes = s.Long("metadata.log.max.record.bytes.between.snapshots")
	s.SnapshotIntervalMs = s.Long("metadata.log.max.snapshot.interval.ms")
	return nil
}

// doubts names values that are legal and will still surprise on one node.
func (s *Server) doubts() []string {
	var out []string
	for _, name := range []string{"default.replication.factor",
		"transaction.state.log.replication.factor", "share.coordinator.state.topic.replication.factor"} {
		if n := s.Int(name); n > 1 {
			out = append(out, fmt.Sprintf("configuration %s=%d asks for more replicas than the one node there is; creating such topics will fail", name, n))
		}
	}
	return out
}
