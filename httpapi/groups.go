package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator/lag"
)

// Lister has the groups whose coordinator this broker is, by id.
type Lister interface {
	Groups(ctx context.Context) ([]lag.Group, error)
}

// Reporter tells how far they are behind.
type Reporter interface {
	Report(ctx context.Context) (*lag.Report, error)
}

// Groups serves what is below /v1/groups.
type Groups struct {
	Lister   Lister
	Reporter Reporter
}

// Route adds the paths to mux.
func (g Groups) Route(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/groups", g.list)
	mux.HandleFunc("GET /v1/groups/{group}/lag", g.lag)
}

// listedGroup is one item of GET /v1/groups.
type listedGroup struct {
	Group        string  `json:"group"`
	Type         string  `json:"type"`
	ProtocolType string  `json:"protocol_type"`
	State        string  `json:"state"`
	Records      int64   `json:"lag_records"`
	Seconds      float64 `json:"lag_seconds"`
}

// groupLag is the answer of GET /v1/groups/{group}/lag.
type groupLag struct {
	listedGroup
	Topics []topicLag `json:"topics"`
}

type topicLag struct {
	Topic      string         `json:"topic"`
	Records    int64          `json:"lag_records"`
	Seconds    float64        `json:"lag_seconds"`
	Partitions []partitionLag `json:"partitions"`
}

type partitionLag struct {
	Partition   int32   `json:"partition"`
	Committed   int64   `json:"committed_offset"`
	CommittedMs int64   `json:"committed_ms"` // time of the commit, ms since 1970
	Start       int64   `json:"log_start_offset"`
	End         int64   `json:"high_watermark"`
	Records     int64   `json:"lag_records"`
	Seconds     float64 `json:"lag_seconds"`
}

func listed(g lag.Group, entries []lag.Entry) listedGroup {
	out := listedGroup{Group: g.ID, Type: g.Type, ProtocolType: g.ProtocolType, State: g.State}
	out.Records, out.Seconds = lag.Sum(entries)
	return out
}

// ask gets what both paths need. With an error there may be groups that are missing.
func (g Groups) ask(r *http.Request) ([]lag.Group, *lag.Report, error) {
	groups, err := g.Lister.Groups(r.Context())
	report, missing := g.Reporter.Report(r.Context())
	return groups, report, cmp.Or(err, missing)
}

func (g Groups) list(w http.ResponseWriter, r *http.Request) {
	groups, report, err := g.ask(r)
	if err != nil {
		unavailable(w, err)
		return
	}
	out := struct {
		Groups []listedGroup `json:"groups"`
	}{[]listedGroup{}}
	for _, found := range groups {
		out.Groups = append(out.Groups, listed(found, report.Group(found.ID)))
	}
	answer(w, out)
}

func (g Groups) lag(w http.ResponseWriter, r *http.Request) {
	groups, report, err := g.ask(r)
	id := r.PathValue("group")
	for _, found := range groups {
		if found.ID != id {
			continue
		}
		entries := report.Group(id)
		if err != nil && len(entries) == 0 {
			break // its offsets may be what is missing
		}
		out := groupLag{listedGroup: listed(found, entries), Topics: []topicLag{}}
		lag.Runs(entries, lag.SameTopic, func(run []lag.Entry) { out.Topics = append(out.Topics, topicOf(run)) })
		answer(w, out)
		return
	}
	if err != nil {
		unavailable(w, err)
		return
	}
	refuse(w, http.StatusNotFound, kerr.GroupIDNotFound, fmt.Sprintf("there is no group %q; GET /v1/groups lists them", id))
}

func topicOf(run []lag.Entry) topicLag {
	t := topicLag{Topic: run[0].Topic}
	t.Records, t.Seconds = lag.Sum(run)
	for _, e := range run {
		t.Partitions = append(t.Partitions, partitionLag{
			Partition: e.Partition, Committed: e.Offset, CommittedMs: e.TimeMs, Start: e.Start, End: e.End, Records: e.Records, Seconds: e.Seconds,
		})
	}
	return t
}
