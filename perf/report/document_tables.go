package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmain/bench/result"
)

func costs(c result.Costs) []Fact {
	var f list
	whole := func(name string, v *int64, text func(float64) string) {
		if v != nil {
			f.add(name, text(float64(*v)))
		}
	}
	real := func(name string, v *float64, unit string) {
		if v != nil {
			f.add(name, strings.TrimSpace(trim(*v)+" "+unit))
		}
	}
	real("server CPU", c.ServerCPU, "s")
	real("server CPU per GB", c.ServerCPUPerGB, "s")
	real("server CPU per request", c.ServerCPUPerRequest, "µs")
	whole("server memory", c.ServerRSS, size)
	whole("server memory at most", c.ServerPeakRSS, size)
	whole("server context switches", c.ServerSwitches, number)
	whole("server threads", c.ServerThreads, number)
	whole("written to disk", c.DiskWritten, size)
	real("written per byte in", c.DiskWrittenPerByteIn, "")
	whole("syncs", c.Syncs, number)
	f.add("client CPU", trim(c.ClientCPU)+" s")
	whole("client memory", c.ClientRSS, size)
	whole("client context switches", c.ClientSwitches, number)
	return f
}

func checks(d *result.Document) []Fact {
	var f list
	if a := d.Audit; a != nil {
		for _, c := range []struct {
			name string
			n    int64
		}{{"acknowledged", a.Acked}, {"seen", a.Seen}, {"lost", a.Lost}, {"duplicated", a.Duplicated}, {"out of order", a.OutOfOrder}, {"corrupt", a.Corrupt}} {
			f.add(c.name, fmt.Sprint(c.n))
		}
	}
	if l := d.Latency; l != nil {
		f.add("late sends", fmt.Sprint(l.LateSends))
		f.add("clamped values", fmt.Sprint(l.Clamped))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Errors)) {
		f.add("error "+name, fmt.Sprint(d.Errors[name]))
	}
	if e := d.Floor; e != nil {
		f.add("the instrument's own latency", duration(float64(e.P50))+" p50, "+duration(float64(e.P99))+" p99")
	}
	return f
}

func machine(d *result.Document) []Fact {
	var f list
	m := d.Machine
	if m.CPU != "" || m.Cores > 0 {
		f.add("processor", strings.TrimPrefix(fmt.Sprintf("%s, %d cores", m.CPU, m.Cores), ", "))
	}
	if m.MemoryBytes > 0 {
		f.add("memory", size(float64(m.MemoryBytes)))
	}
	f.add("system", strings.Trim(m.System+", "+m.Kernel, ", "))
	f.add("runs in", m.Virtual)
	if s := d.Storage; s != nil {
		disk := strings.TrimSpace(s.Filesystem + " on " + s.Device + " " + s.Model)
		if s.InMemory {
			disk += " (in memory: nothing here is durable)"
		}
		f.add("storage", disk)
	}
	f.add("broker", strings.TrimSpace(strings.Join([]string{d.Server.Software, d.Server.Version, short(d.Server.Commit)}, " ")))
	f.add("brokers", strings.Join(d.Server.Bootstrap, ", "))
	for _, key := range slices.Sorted(maps.Keys(d.Server.Config)) {
		f.add(key, d.Server.Config[key])
	}
	f.add("client", strings.TrimSpace("ringmain "+d.Tool.Version+" "+short(d.Tool.Commit)))
	if !d.When.IsZero() {
		f.add("measured", d.When.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return f
}

// short is as much of a commit as people read.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// size is bytes in the unit that fits.
func size(bytes float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= u.of {
			return trim(bytes/u.of) + " " + u.name
		}
	}
	return trim(bytes) + " B"
}
