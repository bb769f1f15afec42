package config

import "testing"

// A metadata answer or a describe of all topics resolves thousands of them.
func BenchmarkTopic(b *testing.B) {
	s, _, err := named(nil)
	if err != nil {
		b.Fatal(err)
	}
	l := Layers{Server: s}
	overrides := map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"}
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			l.Topic(overrides)
		}
	})
	b.Run("describe", func(b *testing.B) {
		for b.Loop() {
			l.DescribeTopic(overrides)
		}
	})
	b.Run("broker", func(b *testing.B) {
		for b.Loop() {
			l.DescribeBroker()
		}
	})
}
