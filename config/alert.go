package config

import (
	"fmt"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"time"
)

// LagAlert is what the lag of some consumer groups must not do; it fires while all that
// it names holds at once.
type LagAlert struct {
	Name       string
	Group      *regexp.Regexp // matches whole ids
	Topic      *regexp.Regexp // matches whole names; nil: all topics of a group together
	Records    int64          // -1: does not count
	Seconds    int64          // -1: does not count
	GrowingFor time.Duration  // 0: does not count
	Webhook    string         // URL; empty: none
}

// maxAlerts bounds the alerts: each looks at every group at every check.
const maxAlerts = 100

// growthChecks is how many checks the time of a growing.for.ms has at least: of fewer,
// chance makes a growth. Where the interval is too long for that, checks come more often.
const growthChecks = 40

// takeAlert checks one key of an alert on its own and stores it.
func (s *Server) takeAlert(name, text string) error {
	alert, word, _ := alertKey(name)
	d, known := alertDef(name)
	switch {
	case !alertName.MatchString(alert):
		return &UsageError{Key: name, Value: "[hidden]", Problem: fmt.Sprintf("%q is no name for an alert; allowed: 1 to 64 of a-z, A-Z, 0-9, _ and -", alert)}
	case !known:
		// The value is left out: the word may be a misspelt webhook.
		return &UsageError{Key: name, Value: "[hidden]", Problem: fmt.Sprintf("an alert has no key %q; allowed: group, topic, records, seconds, growing.for.ms, webhook", word)}
	}
	if strings.TrimSpace(text) == "" && d.Null {
		return nil
	}
	v, err := d.validate(text)
	if err != nil {
		return malformed(d, text, err)
	}
	s.values[name] = strings.TrimSpace(text)
	if d.Type == Long {
		s.values[name] = format(v)
	}
	return nil
}

// alerts puts the alerts together from their keys.
func (s *Server) alerts() error {
	var names []string
	seen := map[string]bool{}
	for name := range s.values {
		if alert, _, ok := alertKey(name); ok && !seen[alert] {
			seen[alert] = true
			names = append(names, alert)
		}
	}
	sort.Strings(names)
	if len(names) > maxAlerts {
		return &UsageError{Problem: fmt.Sprintf("there are %d alerts (%s*); allowed: %d", len(names), alertPrefix, maxAlerts)}
	}
	for _, name := range names {
		a, err := s.alert(name)
		if err != nil {
			return err
		}
		s.LagAlerts = append(s.LagAlerts, a)
	}
	return nil
}

func (s *Server) alert(name string) (a LagAlert, err error) {
	key := alertPrefix + name + "."
	a = LagAlert{Name: name, Records: s.alertNumber(key+"records", -1), Seconds: s.alertNumber(key+"seconds", -1),
		GrowingFor: time.Duration(s.alertNumber(key+"growing.for.ms", 0)) * time.Millisecond}
	if _, ok := s.values[key+"group"]; !ok {
		return a, &UsageError{Key: key + "group", Problem: "it is missing: an alert needs the groups it is for; .* is all of them"}
	}
	if a.Group, err = s.pattern(key + "group"); err != nil {
		return a, err
	}
	if a.Topic, err = s.pattern(key + "topic"); err != nil {
		return a, err
	}
	if a.Records < 0 && a.Seconds < 0 && a.GrowingFor == 0 {
		return a, &UsageError{Key: key + "group", Value: s.values[key+"group"], Problem: "the alert never fires: give it " + key + "records, seconds or growing.for.ms"}
	}
	if a.Webhook = s.values[key+"webhook"]; a.Webhook != "" {
		if u, err := url.Parse(a.Webhook); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return a, &UsageError{Key: key + "webhook", Value: "[hidden]", Problem: "it is no URL; allowed: http://host/path or https://host/path"}
		}
	}
	return a, nil
}

// lagCheckMs gives how often the lag is looked at.
func (s *Server) lagCheckMs() int64 {
	ms := s.Long("ringmain.lag.check.interval.ms")
	for _, a := range s.LagAlerts {
		if a.GrowingFor > 0 {
			ms = min(ms, a.GrowingFor.Milliseconds()/growthChecks)
		}
	}
	return ms
}

// alertNumber returns a number that was checked before.
func (s *Server) alertNumber(key string, unset int64) int64 {
	text, ok := s.values[key]
	if !ok {
		return unset
	}
	d, _ := alertDef(key)
	v, err := d.validate(text)
	if err != nil {
		panic(fmt.Sprintf("config: unchecked value: %v", err))
	}
	return v.(int64)
}

// pattern returns a regular expression for whole words, nil where none is set.
func (s *Server) pattern(key string) (*regexp.Regexp, error) {
	text, ok := s.values[key]
	if !ok {
		return nil, nil
	}
	// On its own first: what is put around it must not make it whole.
	if _, err := regexp.Compile(text); err != nil {
		return nil, &UsageError{Key: key, Value: text, Problem: strings.TrimPrefix(err.Error(), "error parsing regexp: ") + "; allowed: a regular expression (RE2)"}
	}
	return regexp.MustCompile(`^(?:` + text + `)$`), nil
}
