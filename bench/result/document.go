package result

import (
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/latency"
	"ringmain/bench/workload"
)

// Format is the number of the format that this build writes.
const Format = 1

// Document is one measurement. What does not apply to its kind of load is
// absent.
type Document struct {
	Format   int            `json:"format"`
	Tool     Build          `json:"tool"`
	When     time.Time      `json:"when"` // the measured time began
	Machine  facts.Machine  `json:"machine"`
	Storage  *facts.Storage `json:"storage,omitempty"` // below the server's logs, if it is on this host
	Server   Server         `json:"server"`
	Workload workload.Spec  `json:"workload"`

	// ClosedLoop: each answer made room for the next request. There were no
	// intended times, so corrected and uncorrected are the same, and both say
	// how long requests took at the rate that this broker set.
	ClosedLoop bool    `json:"closed_loop"`
	Seconds    float64 `json:"seconds"` // measured
	Asked      *Rates  `json:"asked,omitempty"`
	Reached    Rates   `json:"reached"`
	// Latency is the one that the kind is about: of produces, of fetches, from
	// send to arrival, or of connecting.
	Latency *Latency `json:"latency,omitempty"`

	Produce  *Section `json:"produce,omitempty"`
	Fetch    *Section `json:"fetch,omitempty"`
	EndToEnd *Section `json:"end_to_end,omitempty"`
	Connect  *Section `json:"connect,omitempty"`
	Idle     *Idle    `json:"idle,omitempty"`

	Costs  Costs            `json:"costs"`
	Audit  *Audit           `json:"audit,omitempty"`
	Errors map[string]int64 `json:"errors"` // by the protocol's names, or ours
	Floor  *Floor           `json:"floor,omitempty"`
	Series []Point          `json:"series"`

	Knee  *Knee        `json:"knee,omitempty"`
	Curve []CurvePoint `json:"curve,omitempty"`

	Verdict  Verdict  `json:"verdict"`
	Warnings []string `json:"warnings"` // what a reader should know and no number says
}

// Build is what made the document.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Server is what was measured, as far as it says.
type Server struct {
	Bootstrap []string          `json:"bootstrap"`
	Brokers   int               `json:"brokers"`
	ClusterID string            `json:"cluster_id,omitempty"`
	Software  string            `json:"software,omitempty"`
	Version   string            `json:"version,omitempty"`
	Commit    string            `json:"commit,omitempty"`
	Commands  []string          `json:"commands,omitempty"` // of the processes named by --pid
	Config    map[string]string `json:"config,omitempty"`   // of the first broker: what is not at its default
}

// Rates is a throughput. Bytes are those of record batches as they are sent.
type Rates struct {
	Records  float64 `json:"records_per_second"`
	Bytes    float64 `json:"bytes_per_second"`
	Requests float64 `json:"requests_per_second"`
}

// Latency is two distributions of the same operations.
type Latency struct {
	Corrected   latency.Percentiles `json:"corrected"`   // since the intended send
	Uncorrected latency.Percentiles `json:"uncorrected"` // since the send
	LateSends   int64               `json:"late_sends"`
	Clamped     int64               `json:"clamped"`
	Points      []latency.Point     `json:"points"`
	// Histograms are both in full, in HdrHistogram's V2 format: compressed, in
	// base64, microseconds.
	CorrectedHistogram   string `json:"corrected_histogram,omitempty"`
	UncorrectedHistogram string `json:"uncorrected_histogram,omitempty"`
}

// LatencyOf is a snapshot as it stands in a document.
func LatencyOf(s *latency.Snapshot) (*Latency, error) {
	l := &Latency{
		Corrected:   s.Corrected(),
		Uncorrected: s.Uncorrected(),
		LateSends:   s.LateSends,
		Clamped:     s.Clamped,
		Points:      s.Curve(),
	}
	if l.Points == nil {
		l.Points = []latency.Point{}
	}
	var err error
	if l.CorrectedHistogram, err = s.Encode(true); err != nil {
		return nil, err
	}
	l.UncorrectedHistogram, err = s.Encode(false)
	return l, err
}

// Snapshot is the distributions in full, from their histograms.
func (l *Latency) Snapshot() (*latency.Snapshot, error) {
	s, err := latency.Decode(l.CorrectedHistogram, l.UncorrectedHistogram)
	if err == nil {
		s.LateSends, s.Clamped = l.LateSends, l.Clamped
	}
	return s, err
}

// Section is one of the things that a load did.
type Section struct {
	Records  int64    `json:"records"`
	Bytes    int64    `json:"bytes"`
	Requests int64    `json:"requests"`
	Reached  Rates    `json:"reached"`
	Latency  *Latency `json:"latency,omitempty"`
}

// Idle is what connections cost that do nothing.
type Idle struct {
	Connections        int      `json:"connections"`
	OpenSeconds        float64  `json:"open_seconds"` // until all were there
	BytesPerConnection *float64 `json:"server_bytes_per_connection,omitempty"`
	Lost               int64    `json:"lost"` // closed by the server meanwhile
}

// Costs is what the measured time cost. What nobody knows is absent.
type Costs struct {
	ClientCPU float64  `json:"client_cpu_seconds"`
	ServerCPU *float64 `json:"server_cpu_seconds,omitempty"`
	// Per GB (10^9 bytes of record batches, in and out) and per request.
	ServerCPUPerGB       *float64 `json:"server_cpu_seconds_per_gb,omitempty"`
	ServerCPUPerRequest  *float64 `json:"server_cpu_us_per_request,omitempty"`
	ServerRSS            *int64   `json:"server_rss_bytes,omitempty"`
	ServerPeakRSS        *int64   `json:"server_peak_rss_bytes,omitempty"` // of one look a second
	ServerSwitches       *int64   `json:"server_context_switches,omitempty"`
	ServerThreads        *int64   `json:"server_threads,omitempty"`
	DiskWritten          *int64   `json:"disk_written_bytes,omitempty"`
	DiskWrittenPerByteIn *float64 `json:"disk_written_per_byte_in,omitempty"`
	Syncs                *int64   `json:"syncs,omitempty"`
	ClientRSS            *int64   `json:"client_rss_bytes,omitempty"`
	ClientSwitches       *int64   `json:"client_context_switches,omitempty"`
}

// Audit is the account of the records, whole run.
type Audit struct {
	Acked      int64 `json:"acked"`
	Seen       int64 `json:"seen"`
	Lost       int64 `json:"lost"`
	Duplicated int64 `json:"duplicated"`
	OutOfOrder int64 `json:"out_of_order"`
	Corrupt    int64 `json:"corrupt"`
}

// Floor is the latency of an echo in the generator's own process, with the same
// connection code: what the instrument adds to what it measures.
type Floor struct {
	P50 int64 `json:"p50_us"`
	P99 int64 `json:"p99_us"`
}

// Point is one second of the measured time.
type Point struct {
	Second    float64  `json:"second"` // since the measured time began
	Records   float64  `json:"records_per_second"`
	Bytes     float64  `json:"bytes_per_second"`
	Requests  float64  `json:"requests_per_second"`
	P50       int64    `json:"p50_us"` // corrected
	P99       int64    `json:"p99_us"`
	Max       int64    `json:"max_us"`
	Errors    int64    `json:"errors"`
	ServerCPU *float64 `json:"server_cpu_cores,omitempty"`
	ServerRSS *int64   `json:"server_rss_bytes,omitempty"`
}

// Knee is the highest rate that held a bound of latency.
type Knee struct {
	SLO     string `json:"slo"` // as asked: p99=10ms
	Found   bool   `json:"found"`
	Held    Rates  `json:"held"`               // the highest rate that held it
	Broke   *Rates `json:"broke,omitempty"`    // the lowest one that did not
	MaxRate *Rates `json:"max_rate,omitempty"` // closed loop
	// Unfinished is why the search did not come to its end; what it had found by then was
	// not confirmed, so Found is false, and Held is the highest rate that held so far.
	Unfinished string  `json:"unfinished,omitempty"`
	Width      float64 `json:"width"` // of the interval between held and broke, as a share of held
}

// CurvePoint is one rate that was tried.
type CurvePoint struct {
	Asked       *Rates              `json:"asked,omitempty"` // absent: closed loop
	Reached     Rates               `json:"reached"`
	Corrected   latency.Percentiles `json:"corrected"`
	Uncorrected latency.Percentiles `json:"uncorrected"`
	LateSends   int64               `json:"late_sends"`
	ServerCPU   *float64            `json:"server_cpu_cores,omitempty"`
	Holds       bool                `json:"holds"`
	Why         string              `json:"why,omitempty"` // it does not hold
	Confirms    bool                `json:"confirms"`      // a repetition at a rate tried before
	Errors      int64               `json:"errors"`
}

// Verdict is whether the result can be used.
type Verdict struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"` // why not
}
