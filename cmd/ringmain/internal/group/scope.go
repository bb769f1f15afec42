package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scope is a choice of partitions: by topic, those named, or all of the topic where the
// list is empty.
type Scope map[string][]int32

// ParseScope reads values of the form TOPIC or TOPIC:0,1,2, as Kafka's tools take them.
func ParseScope(values []string) (Scope, error) {
	s := Scope{}
	for _, v := range values {
		topic, list, some := strings.Cut(v, ":")
		if topic == "" {
			return nil, fmt.Errorf("%q has no topic; give TOPIC or TOPIC:0,1,2", v)
		}
		before, twice := s[topic]
		if !some {
			if twice {
				return nil, fmt.Errorf("topic %q is given twice", topic)
			}
			s[topic] = nil
			continue
		}
		if twice && len(before) == 0 {
			return nil, fmt.Errorf("topic %q is given twice", topic)
		}
		for _, p := range strings.Split(list, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%q: %q is not a partition number; give TOPIC or TOPIC:0,1,2", v, p)
			}
			if slices.Contains(s[topic], int32(n)) {
				return nil, fmt.Errorf("partition %d of topic %q is given twice", n, topic)
			}
			s[topic] = append(s[topic], int32(n))
		}
	}
	return s, nil
}
