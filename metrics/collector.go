package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Build is what ringmain_build_info shows.
type Build struct{ Version, Commit, GoVersion string }

// NewRegistry returns a registry with the set, the build, and Go's and the
// process's own collectors.
func NewRegistry(s *Set, b Build) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		&collector{set: s, build: b},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// Handler serves a registry as Prometheus text. What cannot be gathered is
// left out rather than failing the scrape.
func Handler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// metric is one name of docs/metrics.md.
type metric struct {
	name   string
	kind   prometheus.ValueType // Untyped stands for a histogram
	help   string
	labels []string
	desc   *prometheus.Desc
}

var metrics []*metric

func define(kind prometheus.ValueType, name, help string, labels ...string) *metric {
	m := &metric{name: name, kind: kind, help: help, labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
	metrics = append(metrics, m)
	return m
}

const (
	counter   = prometheus.CounterValue
	gauge     = prometheus.GaugeValue
	histogram = prometheus.UntypedValue
)

var (
	buildInfo = define(gauge, "ringmain_build_info", "Always 1; the labels say what runs.", "version", "commit", "goversion")
	ready     = define(gauge, "ringmain_ready", "Whether the broker serves clients (1) or not (0).")

	requests       = define(counter, "ringmain_requests_total", "Requests answered.", "api")
	requestSeconds = define(histogram, "ringmain_request_duration_seconds", "Time from the last byte of a request read to its answer handed to the connection.", "api")
	requestErrors  = define(counter, "ringmain_request_errors_total", "Error codes in answers, whether of the request, a topic or a partition.", "api", "error")

	connections   = define(gauge, "ringmain_connections", "Open connections.", "listener")
	accepted      = define(counter, "ringmain_connections_accepted_total", "Connections accepted.")
	rejected      = define(counter, "ringmain_connections_rejected_total", "Connections closed at once because of a limit.")
	closed        = define(counter, "ringmain_connections_closed_total", "Connections closed.", "reason")
	paused        = define(gauge, "ringmain_connections_paused", "Connections whose reading is paused until earlier requests are answered.")
	receivedBytes = define(counter, "ringmain_network_received_bytes_total", "Bytes read from connections.")
	sentBytes     = define(counter, "ringmain_network_sent_bytes_total", "Bytes written to connections.")
	inFlight      = define(gauge, "ringmain_network_inflight_bytes", "Bytes of requests and answers in flight.")

	appends         = define(counter, "ringmain_appends_total", "Record batches written to logs.")
	appendedRecords = define(counter, "ringmain_appended_records_total", "Records written to logs.")
	appendedBytes   = define(counter, "ringmain_appended_bytes_total", "Bytes of record batches written to logs, as stored.", "class")
	fetchedBytes    = define(counter, "ringmain_fetched_bytes_total", "Bytes of record batches sent to clients, as stored.", "class")
	appendSeconds   = define(histogram, "ringmain_append_duration_seconds", "Time to write one round of batches to logs.")
	appendErrors    = define(counter, "ringmain_append_errors_total", "Failed writes to logs.")
	syncs           = define(counter, "ringmain_syncs_total", "Syncs of log files.")
	syncErrors      = define(counter, "ringmain_sync_errors_total", "Failed syncs of log files.")
	syncSeconds     = define(histogram, "ringmain_sync_duration_seconds", "Time of one sync of one log file.")

	segmentsRolled  = define(counter, "ringmain_segments_rolled_total", "Segments begun because the one before was full or old.")
	segmentsDeleted = define(counter, "ringmain_segments_deleted_total", "Segments deleted by retention or on request.")
	recoveredBytes  = define(counter, "ringmain_recovered_bytes_total", "Bytes of log read back after an unclean stop.")
	truncatedBytes  = define(counter, "ringmain_truncated_bytes_total", "Bytes of torn log cut off after an unclean stop.")
	corruptReads    = define(counter, "ringmain_corrupt_reads_total", "Reads that met stored bytes that are not what was written; none of them was sent.")

	cleanerRuns     = define(counter, "ringmain_cleaner_runs_total", "Passes of compaction over a log.")
	cleanerFailures = define(counter, "ringmain_cleaner_failures_total", "Passes of compaction that failed.")
	cleanerRead     = define(counter, "ringmain_cleaner_read_bytes_total", "Bytes read by compaction.")
	cleanerWritten  = define(counter, "ringmain_cleaner_written_bytes_total", "Bytes written by compaction.")
	cleanerRemoved  = define(counter, "ringmain_cleaner_removed_bytes_total", "Bytes by which compaction has made logs smaller.")
	dirtiest        = define(gauge, "ringmain_cleaner_max_dirty_ratio", "Largest dirty ratio of all compacted logs, between 0 and 1.")
	uncleanable     = define(gauge, "ringmain_cleaner_uncleanable_partitions", "Partitions that rest because a pass of compaction failed.")

	coordinatorLoads          = define(counter, "ringmain_coordinator_loads_total", "Partitions of the offsets topic read by the group coordinator.")
	coordinatorLoadSeconds    = define(histogram, "ringmain_coordinator_load_duration_seconds", "Time to read one partition of the offsets topic.")
	coordinatorLoadFailures   = define(counter, "ringmain_coordinator_load_failures_total", "Reads of a partition of the offsets topic that failed; each is tried again.")
	coordinatorAppendFailures = define(counter, "ringmain_coordinator_append_failures_total", "Failed appends of the group coordinator; the partition is read again after each.")
	groups                    = define(gauge, "ringmain_groups", "Groups whose coordinator this broker is.", "type", "state")

	topics      = define(gauge, "ringmain_topics", "Topics.")
	partitions  = define(gauge, "ringmain_partitions", "Partitions on this broker.")
	offlineLogs = define(gauge, "ringmain_partitions_offline", "Partitions on this broker whose log failed.")
	logBytes    = define(gauge, "ringmain_log_bytes", "Bytes of all logs on this broker.")
	segments    = define(gauge, "ringmain_log_segments", "Segments of all logs on this broker.")
	openFiles   = define(gauge, "ringmain_log_open_files", "Open files of all logs on this broker.")

	partitionStart    = define(gauge, "ringmain_partition_log_start_offset", "Offset of the first record.", "topic", "partition")
	partitionHigh     = define(gauge, "ringmain_partition_high_watermark", "Offset up to which consumers may read.", "topic", "partition")
	partitionEnd      = define(gauge, "ringmain_partition_log_end_offset", "Offset of the next record.", "topic", "partition")
	partitionBytes    = define(gauge, "ringmain_partition_log_bytes", "Bytes of the log.", "topic", "partition")
	partitionSegments = define(gauge, "ringmain_partition_segments", "Segments of the log.", "topic", "partition")
	partitionUnsynced = define(gauge, "ringmain_partition_unsynced_bytes", "Bytes of the log that are not synced yet.", "topic", "partition")
	partitionsHidden  = define(gauge, "ringmain_partitions_not_shown", "Partitions without series of their own, beyond ringmain.metrics.max.series.")
)

// seriesPerPartition is how many series one partition takes.
const seriesPerPartition = 6

type collector struct {
	set   *Set
	build Build
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range metrics {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	out := sink{ch: ch}
	out.put(buildInfo, 1, c.build.Version, c.build.Commit, c.build.GoVersion)
	c.collectRequests(out)
	c.collectLogs(out)
	if s := c.set.sources.Load(); s != nil {
		s.collect(out)
	}
}

func (c *collector) collectRequests(out sink) {
	for key := range maxKey + 1 {
		var r reading
		for _, rec := range c.set.recorders {
			if h := rec.requests[key].Load(); h != nil {
				r.add(h)
			}
		}
		api := apiName(int16(key))
		if r.upTo != nil {
			out.put(requests, float64(r.count), api)
			out.histogram(requestSeconds, r, api)
		}
		codes := c.set.errors[key].Load()
		if codes == nil {
			continue
		}
		for i := range codes {
			if n := codes[i].Load(); n > 0 {
				out.put(requestErrors, float64(n), api, errorName(int16(i+minCode)))
			}
		}
	}
}

func apiName(key int16) string {
	if name := kmsg.NameForKey(key); name != "" && name != "Unknown" {
		return name
	}
	return "key_" + strconv.Itoa(int(key))
}

func errorName(code int16) string {
	if e := kerr.TypedErrorForCode(code); e != nil && e.Code == code {
		return e.Message
	}
	return "code_" + strconv.Itoa(int(code))
}

func (c *collector) collectLogs(out sink) {
	var batches, records uint64
	var in, fetched [2]uint64
	for _, r := range c.set.recorders {
		batches += r.appends.Load()
		records += r.appendedRecords.Load()
		for i := range classNames {
			in[i] += r.appendedBytes[i].Load()
			fetched[i] += r.fetchedBytes[i].Load()
		}
	}
	out.put(appends, float64(batches))
	out.put(appendedRecords, float64(records))
	for i, class := range classNames {
		out.put(appendedBytes, float64(in[i]), class)
		out.put(fetchedBytes, float64(fetched[i]), class)
	}
	for _, h := range []struct {
		m *metric
		h *Histogram
	}{{appendSeconds, &c.set.AppendLatency}, {syncSeconds, &c.set.SyncLatency}, {coordinatorLoadSeconds, &c.set.CoordinatorLoadLatency}} {
		var r reading
		r.add(h.h)
		out.histogram(h.m, r)
	}
	for _, n := range []struct {
		m *metric
		c *Counter
	}{
		{appendErrors, &c.set.AppendErrors}, {syncs, &c.set.Syncs}, {syncErrors, &c.set.SyncErrors},
		{segmentsRolled, &c.set.SegmentsRolled}, {segmentsDeleted, &c.set.SegmentsDeleted},
		{recoveredBytes, &c.set.RecoveredBytes}, {truncatedBytes, &c.set.TruncatedBytes},
		{cleanerRuns, &c.set.CleanerRuns}, {cleanerFailures, &c.set.CleanerFailures},
		{cleanerRead, &c.set.CleanerReadBytes}, {cleanerWritten, &c.set.CleanerWrittenBytes}, {cleanerRemoved, &c.set.CleanerRemovedBytes},
		{coordinatorLoads, &c.set.CoordinatorLoads}, {coordinatorLoadFailures, &c.set.CoordinatorLoadFailures},
		{coordinatorAppendFailures, &c.set.CoordinatorAppendFailures},
		{corruptReads, &c.set.CorruptReads},
	} {
		out.put(n.m, float64(n.c.Load()))
	}
}

func (s *Sources) collect(out sink) {
	if s.Ready != nil {
		value := 0.0
		if s.Ready() {
			value = 1
		}
		out.put(ready, value)
	}
	if s.Network != nil {
		collectNetwork(out, s.Network())
	}
	if s.Storage != nil {
		t := s.Storage()
		out.put(topics, float64(t.Topics))
		out.put(partitions, float64(t.Partitions))
		out.put(offlineLogs, float64(t.Offline))
		out.put(logBytes, float64(t.LogBytes))
		out.put(segments, float64(t.Segments))
		out.put(openFiles, float64(t.OpenFiles))
		out.put(dirtiest, t.MaxDirtyRatio)
		out.put(uncleanable, float64(t.Uncleanable))
	}
	if s.Groups != nil {
		for g, count := range s.Groups() {
			out.put(groups, float64(count), g.Type, g.State)
		}
	}
	if s.Partitions != nil {
		s.collectPartitions(out)
	}
}

func collectNetwork(out sink, n Network) {
	for listener, count := range n.Connections {
		out.put(connections, float64(count), listener)
	}
	for reason, count := range n.Closed {
		out.put(closed, float64(count), reason)
	}
	out.put(accepted, float64(n.Accepted))
	out.put(rejected, float64(n.Rejected))
	out.put(paused, float64(n.Paused))
	out.put(receivedBytes, float64(n.BytesIn))
	out.put(sentBytes, float64(n.BytesOut))
	out.put(inFlight, float64(n.InFlightBytes))
}

func (s *Sources) collectPartitions(out sink) {
	shown, hidden := 0, 0
	for p := range s.Partitions {
		if (shown+1)*seriesPerPartition > s.MaxSeries {
			hidden++
			continue
		}
		shown++
		index := strconv.Itoa(int(p.Index))
		out.put(partitionStart, float64(p.LogStart), p.Topic, index)
		out.put(partitionHigh, float64(p.HighWatermark), p.Topic, index)
		out.put(partitionEnd, float64(p.LogEnd), p.Topic, index)
		out.put(partitionBytes, float64(p.LogBytes), p.Topic, index)
		out.put(partitionSegments, float64(p.Segments), p.Topic, index)
		out.put(partitionUnsynced, float64(p.UnsyncedBytes), p.Topic, index)
	}
	out.put(partitionsHidden, float64(hidden))
}

// sink sends readings to a scrape.
type sink struct{ ch chan<- prometheus.Metric }

func (s sink) put(m *metric, value float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(m.desc, m.kind, value, valid(labels)...)
}

func (s sink) histogram(m *metric, r reading, labels ...string) {
	s.ch <- prometheus.MustNewConstHistogram(m.desc, r.count, r.sum, r.upTo, valid(labels)...)
}

// valid makes label values UTF-8; Prometheus refuses a scrape with others.
func valid(labels []string) []string {
	if slices.ContainsFunc(labels, func(l string) bool { return strings.ToValidUTF8(l, "") != l }) {
		labels = slices.Clone(labels)
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
	}
	return labels
}
