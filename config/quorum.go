package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const severalNodes = "several nodes are not built in yet; run one node that is both broker and controller"

// quorum checks the keys that say which nodes there are and which roles they
// have. What one node's file says is taken as it is; more nodes are refused,
// because data would not be placed where the file says.
func (s *Server) quorum() error {
	if err := s.identity(); err != nil {
		return err
	}
	if value, ok := s.static("process.roles"); ok {
		roles := s.List("process.roles")
		problem := ""
		switch {
		case len(roles) == 0:
			problem = "at least one role is needed; use broker,controller"
		case !slices.Contains(roles, "broker"):
			problem = "a node that is only a controller needs other nodes, and " + severalNodes
		case !slices.Contains(roles, "controller"):
			problem = "a node that is only a broker needs a controller on another node, and " + severalNodes
		}
		if problem != "" {
			return &UsageError{Key: "process.roles", Value: value, Problem: problem}
		}
	}
	if err := s.voters(); err != nil {
		return err
	}
	const key = "controller.quorum.bootstrap.servers"
	value, _ := s.static(key)
	servers := s.List(key)
	for _, server := range servers {
		if _, _, err := hostPort(server); err != nil {
			return &UsageError{Key: key, Value: value, Problem: err.Error()}
		}
	}
	if len(servers) > 1 {
		return &UsageError{Key: key, Value: value, Problem: fmt.Sprintf("%d servers are named, and %s", len(servers), severalNodes)}
	}
	return nil
}

func (s *Server) identity() error {
	node, hasNode := s.static("node.id")
	old, hasOld := s.static("broker.id")
	if hasOld && s.Int("broker.id") < 0 {
		hasOld = false // Kafka's own default, which says nothing
	}
	if hasNode && hasOld && s.Int("node.id") != s.Int("broker.id") {
		return &UsageError{Key: "broker.id", Value: old, Problem: "it differs from node.id=" + node + "; set one of them, or both to the same number"}
	}
	if hasOld && !hasNode {
		s.values["node.id"] = old
	}
	s.NodeID = s.Int("node.id")
	// Kafka shows both names with the same number, whichever was set.
	number := strconv.Itoa(int(s.NodeID))
	if hasNode || hasOld {
		s.values["broker.id"] = number
	} else {
		delete(s.values, "broker.id")
		s.defaults["broker.id"] = number
	}
	return nil
}

func (s *Server) voters() error {
	const key = "controller.quorum.voters"
	value, _ := s.static(key)
	voters := s.List(key)
	var ids []int64
	for _, voter := range voters {
		id, address, ok := strings.Cut(voter, "@")
		n, err := strconv.ParseInt(id, 10, 32)
		if !ok || err != nil || n < 0 {
			return &UsageError{Key: key, Value: value, Problem: fmt.Sprintf("%q is not of the form id@host:port", voter)}
		}
		if _, _, err := hostPort(address); err != nil {
			return &UsageError{Key: key, Value: value, Problem: err.Error()}
		}
		ids = append(ids, n)
	}
	switch {
	case len(ids) > 1:
		return &UsageError{Key: key, Value: value, Problem: fmt.Sprintf("%d voters are named, and %s", len(ids), severalNodes)}
	case len(ids) == 1 && ids[0] != int64(s.NodeID):
		return &UsageError{Key: key, Value: value, Problem: fmt.Sprintf("the only voter is node %d, but this is node.id=%d; the two must be equal on a single node", ids[0], s.NodeID)}
	}
	return nil
}
