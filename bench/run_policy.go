package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ringmain/bench/workload"
)

// keylessOK refuses a load whose records have no keys and go to a compacted topic:
// brokers take none of them.
func (r *run) keylessOK(ctx context.Context) error {
	s := &r.Spec
	writes := s.Kind.Produces() || s.Fills() && s.Topic == ""
	if !writes || s.Key.Form != workload.NoKeys {
		return nil
	}
	topic := r.partitions[0].Topic // all others of a load are made alike
	policy, err := r.cleanupPolicy(ctx, topic)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && compacts(policy):
		return fmt.Errorf("topic %q is compacted (cleanup.policy=%s), so brokers refuse records without keys, and keys is %s: set keys, such as uniform:1000, or use a topic that is not compacted", topic, policy, s.Key)
	}
	return nil // who is not told the policy finds out
}

// findDense learns whether gaps between offsets are a fault: not in a topic that is
// compacted. Where there is an account it finds out what is missing.
func (r *run) findDense(ctx context.Context) error {
	if !r.Spec.Kind.Fetches() || r.book != nil {
		return nil
	}
	topic := r.partitions[0].Topic // all others of a load are made alike
	policy, err := r.cleanupPolicy(ctx, topic)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.warn("gaps between the offsets that are read are not looked for: whether topic %q is compacted is not known (%v)", topic, err)
	case compacts(policy):
		r.warn("gaps between the offsets that are read are not looked for: topic %q is compacted, so it may lack any", topic)
	default:
		r.dense = true
	}
	return nil
}

// compacts reports whether a cleanup.policy is or has compact.
func compacts(policy string) bool { return strings.Contains(policy, "compact") }

// cleanupPolicy is a topic's cleanup.policy: delete, compact, or both.
func (r *run) cleanupPolicy(ctx context.Context, topic string) (string, error) {
	all, err := r.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	one, err := all.On(topic, nil)
	if err == nil {
		err = one.Err
	}
	if err != nil {
		return "", err
	}
	for _, c := range one.Configs {
		if c.Key == "cleanup.policy" && c.Value != nil {
			return *c.Value, nil
		}
	}
	return "", errors.New("the brokers do not say its cleanup.policy")
}
