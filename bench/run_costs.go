package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/load"
	"ringmain/bench/result"
	"ringmain/bench/workload"
)

// scrapePatience bounds one look at the server's metrics.
const scrapePatience = 2 * time.Second

// look learns what is measured, and on what.
func (r *run) look(ctx context.Context) error {
	meta, err := r.admin.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	server := &r.doc.Server
	server.Bootstrap, server.Brokers, server.ClusterID = r.Bootstrap, len(meta.Brokers), meta.Cluster
	for _, pid := range r.PIDs {
		command, err := facts.Command(pid)
		if err != nil {
			return err
		}
		server.Commands = append(server.Commands, command)
	}
	if r.Metrics != "" {
		ctx, cancel := context.WithTimeout(ctx, scrapePatience)
		defer cancel()
		_, build, err := facts.Scrape(ctx, r.Metrics)
		if err != nil {
			return fmt.Errorf("the server's costs cannot be counted: %v", err) // not a broker's error, whatever it looks like
		}
		server.Version, server.Commit = build.Version, build.Commit
		if build.Version != "" {
			server.Software = "ringmain"
		}
	}
	if len(meta.Brokers) > 0 {
		// Not every broker lets everybody see its configuration; then it is not known.
		if configs, err := r.admin.DescribeBrokerConfigs(ctx, meta.Brokers[0].NodeID); err == nil && len(configs) > 0 {
			server.Config = map[string]string{}
			for _, c := range configs[0].Configs {
				if c.Source != defaultSource && !c.Sensitive && c.Value != nil {
					server.Config[c.Key] = *c.Value
				}
			}
		}
	}
	return nil
}

// defaultSource is kmsg's number for a value that nobody has set.
const defaultSource = 5

// costs are sums since processes began.
type costs struct{ client, server facts.Usage }

func (r *run) costsAt(ctx context.Context) costs {
	return costs{client: facts.Self(), server: r.usage(ctx)}
}

// usage is what the server has cost so far, from its processes and, where they do
// not say it, from its metrics.
func (r *run) usage(ctx context.Context) facts.Usage {
	u := facts.Nothing()
	for i, pid := range r.PIDs {
		one, err := facts.Process(pid)
		if err != nil {
			return facts.Nothing()
		}
		if i == 0 {
			u = one
		} else {
			u = u.Plus(one)
		}
	}
	if r.Metrics != "" {
		ctx, cancel := context.WithTimeout(ctx, scrapePatience)
		defer cancel()
		if scraped, _, err := facts.Scrape(ctx, r.Metrics); err == nil {
			u = u.Or(scraped)
		}
	}
	return u
}

// spent writes down what the measured time has cost. atStart is the server before
// its connections came.
func (r *run) spent(from, to costs, atStart facts.Usage, peak int64) {
	c := &r.doc.Costs
	client, server := to.client.Since(from.client), to.server.Since(from.server)
	c.ClientCPU = client.CPU.Seconds()
	c.ClientRSS, c.ClientSwitches = known(client.RSSBytes), known(client.ContextSwitches)
	c.ServerRSS, c.ServerPeakRSS = known(server.RSSBytes), known(max(peak, server.RSSBytes))
	c.ServerSwitches, c.ServerThreads = known(server.ContextSwitches), known(server.Threads)
	c.DiskWritten, c.Syncs = known(server.DiskWritten), known(server.Syncs)
	written, fetched := r.sum.Sections[load.Produce].Bytes, r.sum.Sections[load.Fetch].Bytes
	if server.CPU != facts.Unknown {
		seconds := server.CPU.Seconds()
		c.ServerCPU = &seconds
		if n := written + fetched; n > 0 {
			perGB := seconds / (float64(n) / 1e9)
			c.ServerCPUPerGB = &perGB
		}
		if n := r.requests(); n > 0 {
			each := seconds * 1e6 / float64(n)
			c.ServerCPUPerRequest = &each
		}
	}
	if server.DiskWritten != facts.Unknown && written > 0 {
		share := float64(server.DiskWritten) / float64(written)
		c.DiskWrittenPerByteIn = &share
	}
	if i := r.doc.Idle; i != nil && atStart.RSSBytes != facts.Unknown && server.RSSBytes != facts.Unknown && i.Connections > 0 {
		each := float64(server.RSSBytes-atStart.RSSBytes) / float64(i.Connections)
		i.BytesPerConnection = &each
	}
	r.onDisk()
}

// onDisk finds what the server's logs lie on.
func (r *run) onDisk() {
	for _, pid := range r.PIDs {
		path := facts.LogFile(pid)
		if path == "" {
			continue
		}
		if storage, err := facts.OfPath(path); err == nil {
			r.doc.Storage = &storage
			if storage.InMemory {
				r.warn("the server's logs lie on %s, a file system in memory: nothing here says what durability costs", storage.Filesystem)
			}
			return
		}
	}
}

// requests are all that were answered in the measured time.
func (r *run) requests() (n int64) {
	for _, s := range []load.Section{load.Produce, load.Fetch, load.Connect} {
		n += r.sum.Sections[s].Requests
	}
	return n
}

func known(n int64) *int64 {
	if n == facts.Unknown {
		return nil
	}
	return &n
}

// waitOpen waits until all connections of an idle load are there, or have failed.
func (r *run) waitOpen(ctx context.Context, begin time.Duration, ended chan error) (at time.Duration, err error) {
	want := int64(r.Spec.Connections)
	deadline := begin + openPatience
	for at = begin; r.meter.Open.Load()+r.meter.Lost.Load()+sum(r.doc.Errors) < want; {
		if err := r.wait(ctx, "open", begin, min(at+lookEvery/10, deadline), ended, nil); err != nil {
			return 0, err
		}
		at = max(at+lookEvery/10, begin)
		if at >= deadline {
			r.warn("after %v only %d of %d connections were open", openPatience, r.meter.Open.Load(), want)
			break
		}
	}
	r.doc.Idle = &result.Idle{Connections: int(r.meter.Open.Load()), OpenSeconds: (at - begin).Seconds()}
	return at, nil
}

// openPatience is how long opening the connections of an idle load may take.
const openPatience = 10 * time.Minute

// count compares what is in the partitions with what was acknowledged, where nobody
// has read the records, and closes the account.
func (r *run) count(ctx context.Context) error {
	s := &r.Spec
	if r.book != nil {
		v := r.book.Verdict()
		r.doc.Audit = &result.Audit{
			Acked: v.Acked, Seen: v.Seen, Lost: v.Lost, Duplicated: v.Duplicated, OutOfOrder: v.OutOfOrder,
			Corrupt: v.Damaged + v.Foreign + v.WrongPartition + v.NeverSent + v.Moved,
		}
		if err := v.Err(); err != nil {
			r.fail("%v", err)
		}
		if v.Lost > 0 && len(r.doc.Errors) > 0 {
			r.warn("what could not be read within %v after the end counts as lost, and requests failed: records may be there that a broker was not back in time to give; bench verify waits for brokers", r.within.end)
		}
		return nil
	}
	missing, first := r.meter.Missing()
	if missing > 0 {
		r.fail("%d records are missing between those that were fetched, first among the offsets %d to %d of partition %d of topic %q",
			missing, first.From, first.To-1, first.Partition, first.Topic)
	}
	if s.Kind == workload.Fetch && r.dense {
		r.doc.Audit = &result.Audit{Acked: r.read + missing, Seen: r.read, Lost: missing}
	}
	if !s.Kind.Produces() || r.Existing || s.Acks == 0 {
		return nil
	}
	// Nobody else writes to these topics: they hold what was acknowledged, and perhaps
	// what was not answered.
	var names []string
	for i := range r.partitions {
		if !slices.Contains(names, r.partitions[i].Topic) {
			names = append(names, r.partitions[i].Topic)
		}
	}
	before := int64(0)
	for i := range r.partitions {
		before += r.partitions[i].End
	}
	if err := r.findBounds(ctx, names); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// What was measured is shown all the same.
		r.fail("how many records the partitions hold is not known: %v", err)
		return nil
	}
	after := -before
	for i := range r.partitions {
		after += r.partitions[i].End
	}
	acked := r.acked
	a := &result.Audit{Acked: acked, Seen: after, Lost: missing}
	if after < acked {
		a.Lost += acked - after
		r.fail("%d records were acknowledged, and the partitions hold %d", acked, after)
	} else if after > acked && len(r.doc.Errors) == 0 {
		a.Duplicated = after - acked
		r.fail("%d records were acknowledged, and the partitions hold %d: some were written twice", acked, after)
	}
	r.doc.Audit = a
	return nil
}

// fail says why the result cannot be used.
func (r *run) fail(format string, args ...any) {
	r.doc.Verdict.Reasons = append(r.doc.Verdict.Reasons, fmt.Sprintf(format, args...))
}

// judge fills in the sections and says whether the result can be used.
func (r *run) judge() {
	d, s := r.doc, &r.Spec
	for section, at := range map[load.Section]**result.Section{
		load.Produce: &d.Produce, load.Fetch: &d.Fetch, load.EndToEnd: &d.EndToEnd, load.Connect: &d.Connect,
	} {
		t := &r.sum.Sections[section]
		if t.Requests == 0 && t.Latency.Count() == 0 {
			continue
		}
		if section == load.EndToEnd {
			t.Records, t.Requests = t.Latency.Count(), 0
		}
		one := &result.Section{Records: t.Records, Bytes: t.Bytes, Requests: t.Requests, Reached: rates(t, d.Seconds)}
		if t.Latency.Count() > 0 {
			l, err := result.LatencyOf(&t.Latency)
			if err != nil {
				r.fail("the latencies cannot be written down: %v", err)
			}
			one.Latency = l
		}
		*at = one
	}
	main := map[load.Section]*result.Section{load.Produce: d.Produce, load.Fetch: d.Fetch, load.EndToEnd: d.EndToEnd, load.Connect: d.Connect}
	d.Reached = rates(&r.sum.Sections[counted(s.Kind)], d.Seconds)
	if one := main[mainSection(s.Kind)]; one != nil {
		d.Latency = one.Latency
	}
	if !d.ClosedLoop && s.Kind != workload.Idle {
		d.Asked = &result.Rates{}
		if s.Kind == workload.Storm {
			d.Asked.Requests = s.Rate.Records
		} else {
			d.Asked.Records = s.Rate.RecordsPerSecond(s.Record.Mean())
		}
	}
	if i := d.Idle; i != nil {
		i.Lost = r.meter.Lost.Load()
		if i.Lost > 0 {
			r.fail("the server closed %d of %d idle connections", i.Lost, i.Connections)
		}
		if i.Connections < s.Connections {
			r.fail("%d of %d connections could be opened", i.Connections, s.Connections)
		}
	} else if r.requests() == 0 {
		r.fail("nothing was answered in the measured time")
	}
	if n := sum(d.Errors); n > 0 {
		r.fail("%d requests failed: %s", n, listed(d.Errors))
	}
	r.warnOfGenerator()
	d.Verdict.OK = len(d.Verdict.Reasons) == 0
}

// Shares above which a reader should know that the generator itself may have
// shaped the result.
const (
	manyLate     = 0.01
	busyClient   = 0.9
	shortOfAsked = 0.98
)

// ratesInWords is r in the unit in which was asked.
func ratesInWords(r, asked result.Rates) string {
	if asked.Records > 0 {
		return fmt.Sprintf("%.0f records/s", r.Records)
	}
	return fmt.Sprintf("%.0f requests/s", r.Requests)
}

func (r *run) warnOfGenerator() {
	d := r.doc
	if l := d.Latency; l != nil && !d.ClosedLoop && l.Corrected.Count > 0 {
		if share := float64(l.LateSends) / float64(l.Corrected.Count); share > manyLate {
			r.warn("%.1f %% of the sends were more than 1 ms late: the corrected latency says what that cost", 100*share)
		}
		if l.Clamped > 0 {
			r.warn("%d latencies are outside of 1 us to 60 s", l.Clamped)
		}
	}
	if a := d.Asked; a != nil {
		if a.Records > 0 && d.Reached.Records < shortOfAsked*a.Records || a.Requests > 0 && d.Reached.Requests < shortOfAsked*a.Requests {
			r.warn("the rate that was asked for was not reached: %s instead of %s", ratesInWords(d.Reached, *a), ratesInWords(*a, *a))
		}
	}
	if share := d.Costs.ClientCPU / d.Seconds / float64(max(d.Machine.Cores, 1)); share > busyClient {
		r.warn("the generator used %.0f %% of this host's processors: it may be what limited the load", 100*share)
	}
}
