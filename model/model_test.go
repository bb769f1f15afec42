package model

import "testing"

func TestTopicIDTextRoundTrip(t *testing.T) {
	for range 1000 {
		id := NewTopicID()
		s := id.String()
		if len(s) != 22 || s[0] == '-' {
			t.Fatalf("text form %q: want 22 characters, no leading dash", s)
		}
		back, err := ParseTopicID(s)
		if err != nil || back != id {
			t.Fatalf("ParseTopicID(%q) = %v, %v; want %v", s, back, err, id)
		}
	}
	for _, bad := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!!!!!!!"} {
		if _, err := ParseTopicID(bad); err == nil {
			t.Errorf("ParseTopicID(%q) succeeded", bad)
		}
	}
}

func TestParseTopicPartition(t *testing.T) {
	for s, want := range map[string]TopicPartition{
		"a-0":      {"a", 0},
		"a-b-12":   {"a-b", 12},
		"__x.y-99": {"__x.y", 99},
	} {
		got, ok := ParseTopicPartition(s)
		if !ok || got != want || got.String() != s {
			t.Errorf("ParseTopicPartition(%q) = %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "a", "-1", "a-", "a-01", "a-99999999999", "a-0.delete"} {
		if tp, ok := ParseTopicPartition(s); ok {
			t.Errorf("ParseTopicPartition(%q) = %v, want not ok", s, tp)
		}
	}
}
