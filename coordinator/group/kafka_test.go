package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafkaAddress is a broker of Apache Kafka 4.4 with
// group.initial.rebalance.delay.ms=0, group.max.size=4, group.consumer.max.size=4 and
// group.consumer.assignment.interval.ms=0; where it is set, the tests that need neither
// a clock nor a configuration of their own run there instead.
var kafkaAddress = os.Getenv("RINGMAIN_GROUP_KAFKA")

var testClient = Client{ID: "c", Host: "/127.0.0.1"}

// askKafka sends a request to Kafka on a connection of its own.
func askKafka(req kmsg.Request) (kmsg.Response, error) {
	conn, err := net.Dial("tcp", kafkaAddress)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(testClient.ID)).AppendRequest(nil, req, 7)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return nil, err
	}
	response := req.ResponseKind()
	body := frame[4:]
	if response.IsFlexible() {
		body = body[1:]
	}
	return response, errors.Join(response.ReadFrom(body))
}

// kafkaGroup names a group for a test, and waits until Kafka has its coordinator.
func kafkaGroup(t *testing.T) string {
	t.Helper()
	group := fmt.Sprintf("%s-%x", t.Name(), rand.Uint64())
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 0, group
	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	describe.Groups = []string{group}
	for range 100 {
		if r, err := askKafka(find); err == nil && r.(*kmsg.FindCoordinatorResponse).ErrorCode == 0 {
			r, err := askKafka(describe)
			if err == nil && r.(*kmsg.ConsumerGroupDescribeResponse).Groups[0].ErrorCode == kerr.GroupIDNotFound.Code {
				return group
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("Kafka has no coordinator")
	return ""
}
