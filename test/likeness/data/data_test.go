package data

import (
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
)

var (
	kafka  = flag.String("kafka", "", "an Apache Kafka 4.4 to compare with; without one, another broker of ours")
	first  = flag.Uint64("seed", 1, "the first seed")
	seeds  = flag.Uint64("seeds", 3, "how many seeds each family runs")
	family = flag.String("family", "", "run this family only")
	most   = flag.Int("differences", 15, "stop a family after so many scripts that differ")
)

// overrides are the settings that the compared Kafka has too: see doc.go.
var overrides = []string{
	"auto.create.topics.enable=false", "max.incremental.fetch.session.cache.slots=20000", "log.cleaner.backoff.ms=200", "log.retention.check.interval.ms=1000",
}

// families are the kinds of scripts.
var families = []struct {
	name string
	run  func(s *script)
}{
	{"producing", producing},
	{"idempotence", idempotence},
	{"fetching", fetching},
	{"sessions", sessions},
	{"listing", listing},
	{"damaging", damaging},
	{"compacting", compacting},
	{"retaining", retaining},
	{"waking", waking},
}

// warm waits until a broker has producer ids to give.
func warm(t *testing.T, addr string) {
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.SetVersion(4)
		req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 1000, -1, -1
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			return
		}
	}
}

func TestDifferences(t *testing.T) {
	ours := harness.Start(t, harness.Options{Overrides: overrides}).Addr()
	other := *kafka
	if other == "" {
		other = harness.Start(t, harness.Options{Overrides: overrides}).Addr()
	}
	for _, addr := range []string{other, ours} {
		warm(t, addr)
	}
	var r [3]byte
	rand.Read(r[:])
	for _, f := range families {
		if *family != "" && *family != f.name {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			differ, asked := 0, 0
			for seed := *first; seed < *first+*seeds && differ < *most; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					s := newScript(t, other, ours, fmt.Sprintf("diff-%s-%s-%d-", hex.EncodeToString(r[:]), f.name, seed), seed)
					defer s.end()
					f.run(s)
					if s.failed {
						differ++
					}
					asked += s.asked
				})
			}
			t.Logf("%d scripts differ; %d requests", differ, asked)
		})
	}
}
