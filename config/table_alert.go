package config

import (
	"regexp"
	"strings"
)

// alertPrefix begins the keys of an alert on consumer lag; its name and one of the
// words below follow.
const alertPrefix = "ringmain.lag.alert."

// alertDefs are the keys of one alert, for server.properties only: NAME stands for the
// alert's name. They are a family and not in the table of keys, so nobody can set them
// while the broker runs.
var alertDefs = []Def{
	{Name: alertPrefix + "NAME.group", Type: String, Check: nonEmpty(), Required: true, Importance: High,
		Status: Honoured, Doc: "Groups that the alert is for: a regular expression (RE2) that their whole id matches."},
	{Name: alertPrefix + "NAME.topic", Type: String, Check: nonEmpty(), Null: true,
		Status: Honoured, Doc: "Topics that the alert is for, each on its own: a regular expression (RE2) that their whole name matches. Without it all topics of a group count together."},
	{Name: alertPrefix + "NAME.records", Type: Long, Check: atLeast(0), Null: true,
		Status: Honoured, Doc: "Fires while the lag is more than so many records."},
	{Name: alertPrefix + "NAME.seconds", Type: Long, Check: atLeast(0), Null: true,
		Status: Honoured, Doc: "Fires while the first unread record arrived more than so many seconds ago."},
	{Name: alertPrefix + "NAME.growing.for.ms", Type: Long, Check: between(4000, 604800000), Null: true,
		Status: Honoured, Doc: "Fires while the lag in records has grown for so many milliseconds: in each quarter of them it is nowhere as low as anywhere in the last quarter but one. Checks come at least 40 times in it, whatever ringmain.lag.check.interval.ms says."},
	{Name: alertPrefix + "NAME.webhook", Type: Password, Null: true,
		Status: Honoured, Doc: "URL (http, https) that is told of each change, by a POST of JSON. Never shown."},
}

var alertName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// alertKey splits a key of the family into the alert's name and the rest.
func alertKey(name string) (alert, word string, ok bool) {
	rest, ok := strings.CutPrefix(name, alertPrefix)
	if !ok {
		return "", "", false
	}
	alert, word, _ = strings.Cut(rest, ".")
	return alert, word, true
}

// alertDef returns the definition of a key of the family, under its own name.
func alertDef(name string) (*Def, bool) {
	alert, word, ok := alertKey(name)
	if !ok || !alertName.MatchString(alert) {
		return nil, false
	}
	for _, d := range alertDefs {
		if d.Name == alertPrefix+"NAME."+word {
			d.Name = name
			return &d, true
		}
	}
	return nil, false
}

// brokerDef returns the definition of a broker's key, those of alerts included.
func brokerDef(name string) (*Def, bool) {
	if d, known := brokerTable.byName[name]; known {
		return d, true
	}
	return alertDef(name)
}
