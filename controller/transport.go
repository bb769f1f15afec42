package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// peers is what the quorum needs of a network: raft's transport with pre-vote.
type peers interface {
	raft.Transport
	raft.WithPreVote
}

// transport puts calls of our own into the stream that raft consumes, beside
// those of the peers.
//
// It is there for one of them: a single voter would wait for an election
// timeout, one to two seconds, before it leads. Shorter timeouts would avoid
// that, but they also shorten the leader's lease, and cannot be changed when
// other voters join. TimeoutNow is raft's own "stand for election at once",
// sent by a leader that hands over; a node may tell itself.
type transport struct {
	peers
	calls chan raft.RPC
	stop  chan struct{}
	once  sync.Once
}

func newTransport(p peers) *transport {
	t := &transport{peers: p, calls: make(chan raft.RPC), stop: make(chan struct{})}
	if from := p.Consumer(); from != nil {
		go t.forward(from)
	}
	return t
}

func (t *transport) forward(from <-chan raft.RPC) {
	for {
		select {
		case call := <-from:
			select {
			case t.calls <- call:
			case <-t.stop:
				return
			}
		case <-t.stop:
			return
		}
	}
}

func (t *transport) Consumer() <-chan raft.RPC { return t.calls }

// Close ends the forwarding; raft calls it when it shuts down.
func (t *transport) Close() error {
	t.once.Do(func() { close(t.stop) })
	if c, ok := t.peers.(raft.WithClose); ok {
		return c.Close()
	}
	return nil
}

// standForElection tells raft to become a candidate without waiting.
func (t *transport) standForElection(ctx context.Context, id raft.ServerID) error {
	answer := make(chan raft.RPCResponse, 1)
	call := raft.RPC{
		Command: &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
			ProtocolVersion: raft.ProtocolVersionMax,
			ID:              []byte(id),
			Addr:            t.EncodePeer(id, t.LocalAddr()),
		}},
		RespChan: answer,
	}
	select {
	case t.calls <- call:
	case <-t.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case r := <-answer:
		return r.Error
	case <-t.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alone is the network of a node that has no peers: it opens no port. A peer's
// address is its node id, here and in every configuration that is stored, so
// that a network can be put in its place without changing what is on the disk.
type alone struct{ address raft.ServerAddress }

var errAlone = errors.New("this node is the only one in its metadata quorum")

func (a alone) Consumer() <-chan raft.RPC     { return nil }
func (a alone) LocalAddr() raft.ServerAddress { return a.address }

func (a alone) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }
func (a alone) DecodePeer(b []byte) raft.ServerAddress                     { return raft.ServerAddress(b) }
func (a alone) SetHeartbeatHandler(func(raft.RPC))                         {}

func (a alone) unreachable(id raft.ServerID) error { return fmt.Errorf("node %s: %w", id, errAlone) }

func (a alone) AppendEntriesPipeline(id raft.ServerID, _ raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, a.unreachable(id)
}

func (a alone) AppendEntries(id raft.ServerID, _ raft.ServerAddress, _ *raft.AppendEntriesRequest, _ *raft.AppendEntriesResponse) error {
	return a.unreachable(id)
}

func (a alone) RequestVote(id raft.ServerID, _ raft.ServerAddress, _ *raft.RequestVoteRequest, _ *raft.RequestVoteResponse) error {
	return a.unreachable(id)
}

func (a alone) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, _ *raft.RequestPreVoteRequest, _ *raft.RequestPreVoteResponse) error {
	return a.unreachable(id)
}

func (a alone) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, _ *raft.InstallSnapshotRequest, _ *raft.InstallSnapshotResponse, _ io.Reader) error {
	return a.unreachable(id)
}

func (a alone) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, _ *raft.TimeoutNowRequest, _ *raft.TimeoutNowResponse) error {
	return a.unreachable(id)
}
