package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLagAlerts(t *testing.T) {
	s := mustLoad(t, map[string]string{
		"ringmain.lag.alert.slow.group":           "billing-.*",
		"ringmain.lag.alert.slow.topic":           "orders|audit",
		"ringmain.lag.alert.slow.records":         " 1000 ",
		"ringmain.lag.alert.slow.seconds":         "60",
		"ringmain.lag.alert.slow.growing.for.ms":  "300000",
		"ringmain.lag.alert.slow.webhook":         "https://hooks.test/T0KEN",
		"ringmain.lag.alert.Any_2.group":          ".*",
		"ringmain.lag.alert.Any_2.records":        "0",
		"ringmain.lag.alert.Any_2.webhook":        "",
		"ringmain.lag.alert.least.group":          "g",
		"ringmain.lag.alert.least.growing.for.ms": "40000",
		"ringmain.lag.check.interval.ms":          "1000",
	})
	if len(s.LagAlerts) != 3 || s.LagCheckMs != 1000 {
		t.Fatalf("got %+v", s.LagAlerts)
	}
	if a := s.LagAlerts[0]; a.Name != "Any_2" || a.Topic != nil || a.Records != 0 || a.Seconds != -1 || a.GrowingFor != 0 || a.Webhook != "" {
		t.Errorf("got %+v", a)
	}
	a := s.LagAlerts[2]
	if a.Records != 1000 || a.Seconds != 60 || a.GrowingFor != 5*time.Minute || a.Webhook != "https://hooks.test/T0KEN" {
		t.Errorf("got %+v", a)
	}
	for word, want := range map[string]bool{"audit": true, "orders": true, "orders2": false, "xaudit": false} {
		if a.Topic.MatchString(word) != want {
			t.Errorf("topic %s: %v", word, !want)
		}
	}
}

func TestBadLagAlerts(t *testing.T) {
	const p = "ringmain.lag.alert."
	good := map[string]string{p + "a.group": "g", p + "a.records": "1"}
	for _, c := range []struct {
		key, value string
		texts      []string
	}{
		{p + "a.records", "-1", []string{p + "a.records=-1", "0 or more"}},
		{p + "a.records", "many", []string{"many"}},
		{p + "a.seconds", "1.5", []string{"1.5"}},
		{p + "a.growing.for.ms", "3999", []string{"3999", "4000 to 604800000"}},
		{p + "a.group", "(", []string{p + "a.group=(", "RE2"}},
		{p + "a.group", "a)|(b", []string{"RE2"}},
		{p + "a.topic", "*", []string{p + "a.topic=*", "RE2"}},
		{p + "a.webhook", "hooks.test/T0KEN", []string{p + "a.webhook", "http://host/path"}},
		{p + "a.webhook", "ftp://hooks.test/T0KEN", []string{"https://host/path"}},
		{p + "a.webhok", "https://hooks.test/T0KEN", []string{`no key "webhok"`, "growing.for.ms"}},
		{p + "a", "x", []string{`no key ""`}},
		{p + "a b.group", "x", []string{`"a b" is no name`}},
		{p + ".group", "x", []string{`"" is no name`}},
		{p + "b.records", "1", []string{p + "b.group", "missing"}},
		{p + "b.group", "x", []string{p + "b.group=x", "never fires"}},
		{"ringmain.lag.check.interval.ms", "99", []string{"100 to 3600000"}},
	} {
		values := map[string]string{c.key: c.value}
		for k, v := range good {
			if c.key != k {
				values[k] = v
			}
		}
		_, _, err := named(values)
		var usage *UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s=%s: got %v", c.key, c.value, err)
			continue
		}
		for _, text := range c.texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s=%s: %q lacks %q", c.key, c.value, err, text)
			}
		}
		if strings.Contains(err.Error(), "T0KEN") {
			t.Errorf("the address of a webhook is shown: %q", err)
		}
	}
	many := map[string]string{}
	for i := range maxAlerts + 1 {
		many[fmt.Sprintf("%sn%d.group", p, i)], many[fmt.Sprintf("%sn%d.records", p, i)] = "g", "1"
	}
	if _, _, err := named(many); err == nil || !strings.Contains(err.Error(), "allowed: 100") {
		t.Errorf("got %v", err)
	}
}

// The address of a webhook is nobody's business on the wire, and nothing of an alert
// can be set there.
func TestLagAlertsOnTheWire(t *testing.T) {
	const p = "ringmain.lag.alert.a."
	s := mustLoad(t, map[string]string{p + "group": "g", p + "records": "7", p + "webhook": "http://hooks.test/T0KEN"})
	found := map[string]Entry{}
	for _, e := range (Layers{Server: s}).DescribeBroker() {
		if strings.Contains(fmt.Sprintf("%+v", e), "T0KEN") {
			t.Errorf("got %+v", e)
		}
		found[e.Name] = e
	}
	if e := found[p+"webhook"]; !e.Sensitive || !e.ReadOnly || e.Value != "" {
		t.Errorf("got %+v", e)
	}
	if e := found[p+"records"]; e.Sensitive || e.Value != "7" || e.Source != SourceStatic || !e.ReadOnly {
		t.Errorf("got %+v", e)
	}
	for _, key := range []string{"group", "webhook", "records"} {
		if err := checkWhere([]string{p + key}, true); !errors.Is(err, ErrInvalid) {
			t.Errorf("setting %s: %v", key, err)
		}
	}
}

// A short time of growth is looked at as often as it takes to tell it from chance.
func TestAnAlertOnGrowthIsCheckedOftenEnough(t *testing.T) {
	for _, c := range []struct {
		interval, growing string
		checks            int64
	}{
		{"5000", "600000", 5000}, {"5000", "200000", 5000}, {"5000", "60000", 1500}, {"5000", "4000", 100}, {"100", "60000", 100},
	} {
		s := mustLoad(t, map[string]string{
			"ringmain.lag.check.interval.ms": c.interval, "ringmain.lag.alert.a.group": ".*", "ringmain.lag.alert.a.growing.for.ms": c.growing,
		})
		if s.LagCheckMs != c.checks {
			t.Errorf("%+v: every %d ms", c, s.LagCheckMs)
		}
	}
}
