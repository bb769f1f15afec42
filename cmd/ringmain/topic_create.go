package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
	"ringmain/model"
)

// createdTopic is one item of the result of topic create.
type createdTopic struct {
	Topic             string   `json:"topic"`
	TopicID           string   `json:"topic_id,omitempty"`
	Partitions        int32    `json:"partitions,omitempty"`
	ReplicationFactor int16    `json:"replication_factor,omitempty"`
	Created           bool     `json:"created"`
	Error             *outcome `json:"error"`
}

type topicCreation struct {
	partitions   int32
	replication  int16
	configs      []string
	assignment   string
	ifNotExists  bool
	validateOnly bool
}

func newTopicCreateCmd(t *target) *cobra.Command {
	var o topicCreation
	cmd := &cobra.Command{
		Use:   "create TOPIC...",
		Short: "Create topics",
		Long: "Create topics. Without --partitions and --replication-factor the broker's\n" +
			"num.partitions and default.replication.factor hold.",
		Example: "  ringmain topic create orders --partitions 3\n" +
			"  ringmain topic create audit --config cleanup.policy=compact --config min.insync.replicas=1\n" +
			"  ringmain topic create spread --assignment 1:2,2:3,3:1",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, t, args) },
	}
	f := cmd.Flags()
	f.Int32VarP(&o.partitions, "partitions", "p", -1, "number of partitions; -1 leaves it to the broker")
	f.Int16VarP(&o.replication, "replication-factor", "r", -1, "replicas of each partition; -1 leaves it to the broker")
	f.StringArrayVarP(&o.configs, "config", "c", nil, "topic config `KEY=VALUE`, repeatable")
	f.StringVar(&o.assignment, "assignment", "", "broker ids of each partition instead of numbers: replicas joined by ':', partitions by ','")
	f.BoolVar(&o.ifNotExists, "if-not-exists", false, "an existing topic is not an error")
	f.BoolVar(&o.validateOnly, "validate-only", false, "check everything, create nothing")
	cmd.MarkFlagsMutuallyExclusive("assignment", "partitions")
	cmd.MarkFlagsMutuallyExclusive("assignment", "replication-factor")
	return cmd
}

func (o *topicCreation) request(topics []string, timeoutMs int32) (*kmsg.CreateTopicsRequest, error) {
	configs, err := keyValues(o.configs)
	if err != nil {
		return nil, err
	}
	assignment, err := parseAssignment(o.assignment)
	if err != nil {
		return nil, usageError{err}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = timeoutMs
	req.ValidateOnly = o.validateOnly
	for _, name := range topics {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, o.partitions, o.replication
		for p, replicas := range assignment {
			ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			ra.Partition, ra.Replicas = int32(p), replicas
			rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
		}
		for _, kv := range configs {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = kv[0], kmsg.StringPtr(kv[1])
			rt.Configs = append(rt.Configs, rc)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req, nil
}

func (o *topicCreation) run(cmd *cobra.Command, t *target, topics []string) error {
	req, err := o.request(topics, 0)
	if err != nil {
		return err
	}
	ctx, c, done, err := t.ask(cmd)
	if err != nil {
		return err
	}
	defer done()
	req.TimeoutMillis = c.TimeoutMs()
	resp, err := req.RequestWith(ctx, c.Client)
	if err != nil {
		return fmt.Errorf("create topics: %w", c.Explain(err))
	}
	items := []createdTopic{}
	var failures []error
	grid := show.NewGrid("TOPIC", "PARTITIONS", "REPLICAS", "ID", "RESULT")
	for _, r := range resp.Topics {
		err := connection.Refused(fmt.Sprintf("create topic %q", r.Topic), r.ErrorCode, r.ErrorMessage)
		item := createdTopic{Topic: r.Topic, Error: outcomeOf(err)}
		switch {
		case err == nil:
			item.Created = !o.validateOnly
			item.Partitions, item.ReplicationFactor = max(r.NumPartitions, 0), max(r.ReplicationFactor, 0)
			if id := model.TopicID(r.TopicID); !id.IsZero() {
				item.TopicID = id.String()
			}
			grid.Row(r.Topic, known(item.Partitions), known(item.ReplicationFactor), orDash(item.TopicID), pick(o.validateOnly, "valid", "created"))
		case o.ifNotExists && errors.Is(err, kerr.TopicAlreadyExists):
			item.Error = nil
			grid.Row(r.Topic, "-", "-", "-", "exists")
		default:
			failures = append(failures, err)
		}
		items = append(items, item)
	}
	return printed(cmd, t, items, grid, failures)
}

// parseAssignment reads "1:2,2:1": the replicas of partition 0, then of 1.
func parseAssignment(s string) ([][]int32, error) {
	if s == "" {
		return nil, nil
	}
	var out [][]int32
	for p, part := range strings.Split(s, ",") {
		var replicas []int32
		for _, id := range strings.Split(part, ":") {
			n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 32)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("--assignment: %q is not a broker id (partition %d)", id, p)
			}
			replicas = append(replicas, int32(n))
		}
		out = append(out, replicas)
	}
	return out, nil
}
