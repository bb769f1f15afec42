package controller

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// Config is what a Controller needs to know.
type Config struct {
	// Dir holds the metadata and nothing else (metadata.log.dir, or a directory
	// of its own below the first of log.dirs). It is made when missing.
	Dir string

	// NodeID is node.id.
	NodeID int32

	// ClusterID is what the cluster must be called; "" takes what is in Dir, or
	// makes an id when Dir is empty.
	ClusterID string

	// DynamicQuorum says that the voters are found through
	// controller.quorum.bootstrap.servers instead of controller.quorum.voters
	// (KIP-853). It decides, when Dir is formatted, whether kraft.version 1 is
	// finalized.
	DynamicQuorum bool

	// FS is the file system; nil is the real one.
	FS vfs.FS

	// network and voters are for a quorum of several nodes. Without them this
	// node is alone.
	network peers
	voters  []int32

	limits limits
}

// limits are the numbers that tests make small.
type limits struct {
	// checkpointEntries and checkpointBytes are how much log there may be after
	// a checkpoint before the next one is written: what a start reads again.
	checkpointEntries uint64
	checkpointBytes   int64
}

const (
	// A start applies an entry in some 20 us, and a checkpoint of 2,000 topics
	// costs some milliseconds: 1024 entries keep both small.
	checkpointEntries = 1024
	checkpointBytes   = 4 << 20

	// trailingEntries stay in the log after a checkpoint, so that a follower
	// that was away for a moment does not need the whole image.
	trailingEntries = 256
)

func (c *Config) setDefaults() error {
	if c.Dir == "" {
		return fmt.Errorf("the metadata directory has no name")
	}
	if c.NodeID < 0 {
		return fmt.Errorf("node id %d is negative", c.NodeID)
	}
	if len(c.ClusterID) > clusterIDMax {
		return fmt.Errorf("cluster id %q has %d bytes, the limit is %d", c.ClusterID, len(c.ClusterID), clusterIDMax)
	}
	if c.network != nil && c.ClusterID == "" {
		return fmt.Errorf("the nodes of a quorum must be told the cluster id: each would make its own")
	}
	if c.FS == nil {
		c.FS = vfs.OS{}
	}
	if c.network == nil {
		c.network = alone{address: raft.ServerAddress(serverID(c.NodeID))}
		c.voters = []int32{c.NodeID}
	}
	if c.limits.checkpointEntries == 0 {
		c.limits = limits{checkpointEntries, checkpointBytes}
	}
	return nil
}

// bootstrap returns the first records of the cluster.
func (c *Config) bootstrap(clusterID string) []metadata.Record {
	if c.DynamicQuorum {
		return metadata.Bootstrap(clusterID, 1)
	}
	return metadata.Bootstrap(clusterID, 0)
}

// servers is the configuration that a new quorum starts with.
func (c *Config) servers() raft.Configuration {
	var conf raft.Configuration
	for _, id := range c.voters {
		conf.Servers = append(conf.Servers, raft.Server{ID: serverID(id), Address: raft.ServerAddress(serverID(id))})
	}
	return conf
}

func serverID(node int32) raft.ServerID { return raft.ServerID(strconv.Itoa(int(node))) }

// nodeID returns -1 for what is no node id.
func nodeID(id raft.ServerID) int32 {
	n, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}
