package workload

import (
	"reflect"
	"strings"
	"testing"
)

func TestEveryKeyOfAFileCanBeSet(t *testing.T) {
	noText := map[string]bool{"name": true, "description": true, "topic_config": true}
	known := map[string]bool{}
	for _, s := range Settings() {
		known[s.Key] = true
	}
	f := reflect.TypeFor[form]()
	for i := range f.NumField() {
		key, _, _ := strings.Cut(f.Field(i).Tag.Get("yaml"), ",")
		if json, _, _ := strings.Cut(f.Field(i).Tag.Get("json"), ","); json != key {
			t.Errorf("%s is called %s in JSON", key, json)
		}
		if !known[key] && !noText[key] {
			t.Errorf("%s is no setting", key)
		}
		delete(known, key)
	}
	for key := range known {
		t.Errorf("the setting %s is no key of a file", key)
	}
}

func TestASettingKeepsTheOthers(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"acks", "1", "1"}, {"acks", "-1", "all"}, {"rate", "100MB", "100MB"}, {"rate", "max", "max"},
		{"record_size", "list:100=9,10KiB=1", "list:100=9,10KiB=1"}, {"batch_bytes", "65536", "64KiB"},
		{"linger", "500us", "500µs"}, {"idempotent", "true", "true"}, {"compressibility", "0.5", "0.5"},
		{"topic", "123", "123"}, {"keys", "zipf:1000", "zipf:1000:0.99"}, {"seed", "-7", "-7"},
	} {
		s := Defaults(Produce)
		before, _ := s.Get("fill")
		if err := s.Set(c.key, c.text); err != nil {
			t.Errorf("%s=%s: %v", c.key, c.text, err)
			continue
		}
		if got, err := s.Get(c.key); err != nil || got != c.want {
			t.Errorf("%s=%s became %q (%v), want %q", c.key, c.text, got, err, c.want)
		}
		if after, _ := s.Get("fill"); after != before {
			t.Errorf("%s changed fill to %s", c.key, after)
		}
		// Setting it to what it was brings back the load it was.
		for _, setting := range Settings() {
			old, _ := Defaults(Produce).Get(setting.Key)
			if old != "" || setting.Key == "topic" {
				if err := s.Set(setting.Key, old); err != nil && setting.Key != "topic" {
					t.Errorf("%s=%s: %v", setting.Key, old, err)
				}
			}
		}
		if c.key != "topic" && !reflect.DeepEqual(s, Defaults(Produce)) {
			t.Errorf("%s: %+v", c.key, s)
		}
	}
	s := Defaults(Produce)
	for _, c := range []struct{ key, text, says string }{
		{"partition", "3", `no setting "partition"`}, {"partitions", "x", "is not a whole number"},
		{"rate", "fast", `"fast" is not a number`}, {"name", "x", "no setting"},
	} {
		err := s.Set(c.key, c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "line 0") {
			t.Errorf("%s=%s: %v, want it to say %q", c.key, c.text, err, c.says)
		}
	}
}
