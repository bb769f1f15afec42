package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"ringmain/bench/load"
	"ringmain/bench/pace"
	"ringmain/bench/workload"
)

// MeasureFloor sends small produce requests, 1,000 a second, to an echo in this
// process that answers each at once, with the loops and links that measure brokers.
func MeasureFloor(ctx context.Context, long time.Duration) (Floor, error) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Floor{}, fmt.Errorf("listen for the echo: %w", err)
	}
	defer echo.Close()
	go answerProduces(echo)

	s := workload.Defaults(workload.Produce)
	s.Record, s.BatchBytes, s.Connections, s.InFlight, s.Acks = workload.Fixed(floorRecordBytes), 1, 1, 1, 1
	s.Rate = workload.Rate{Records: floorPerSecond}
	env := &load.Env{
		Spec: s, Meter: &load.Meter{}, Patience: time.Second,
		Partitions: []load.Partition{{Topic: floorTopic, Leader: echo.Addr().String()}},
	}
	e := &engine{env: env, versions: newestVersions}
	defer e.Close()
	if err := e.openLoops(1); err != nil {
		return Floor{}, err
	}
	if err := e.openProducers(ctx, nil); err != nil {
		return Floor{}, err
	}
	stop := make(chan struct{})
	timer := time.AfterFunc(floorWarmUp+long, func() { close(stop) })
	defer timer.Stop()
	warm := time.AfterFunc(floorWarmUp, func() { env.Meter.Take() })
	defer warm.Stop()
	if err := e.Run(ctx, pace.Now(), stop); err != nil {
		return Floor{}, err
	}
	p := env.Meter.Take().Sections[load.Produce].Latency.Corrected()
	return Floor{P50Us: p.P50, P99Us: p.P99}, nil
}

const (
	floorRecordBytes = 100
	floorWarmUp      = 100 * time.Millisecond
)

// answerProduces answers every request of the first connection as a broker answers
// a produce request that went well. It waits in the kernel, not in Go's poller, whose
// goroutines take longer to wake than all the rest.
func answerProduces(l net.Listener) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer file.Close()
	fd := int(file.Fd()) // blocking from here on
	var request [4 << 10]byte
	// size, correlation, topics, name, partitions, partition, code, offset, append
	// time, log start, record errors, message, throttle
	answer := make([]byte, 4+4+4+2+len(floorTopic)+4+4+2+8+8+8+4+2+4)
	binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
	answer[8+3], answer[12+1] = 1, byte(len(floorTopic))
	copy(answer[14:], floorTopic)
	answer[14+len(floorTopic)+3] = 1
	for have := 0; ; {
		n, err := unix.Read(fd, request[have:])
		if n <= 0 || err != nil {
			return
		}
		have += n
		if size := 4 + int(binary.BigEndian.Uint32(request[:])); have < 4 || have < size {
			continue
		}
		have = 0 // there is one request under way at a time
		copy(answer[4:8], request[correlationAt:])
		if _, err := unix.Write(fd, answer); err != nil {
			return
		}
	}
}
