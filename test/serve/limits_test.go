package serve

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

// alter sets (or, with nil, deletes) a broker's configuration.
func alter(t *testing.T, adm *kadm.Client, broker int32, name string, value *string) {
	t.Helper()
	c := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: value}
	if value == nil {
		c.Op = kadm.DeleteConfig
	}
	var ids []int32
	if broker >= 0 {
		ids = append(ids, broker)
	}
	rs, err := adm.AlterBrokerConfigs(within(t), []kadm.AlterConfig{c}, ids...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Err != nil {
			t.Fatalf("alter %s: %v %s", name, r.Err, r.ErrMessage)
		}
	}
}

// serves reports whether a new connection is answered.
func serves(t *testing.T, addr string) bool {
	t.Helper()
	c, err := peer.Dial(addr)
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Do(kmsg.NewPtrApiVersionsRequest())
	return err == nil
}

// eventually waits for a state that is reached by itself: connections that
// were closed are counted out when their loops hear of it.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so within %v: %s", patience, what)
		}
	}
}

func TestConnectionLimitsChangeAtRunTime(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{})
	cl := client(t, b.Addr())
	adm := kadm.NewClient(cl)
	if _, err := adm.Metadata(within(t)); err != nil { // its connections are open from here on
		t.Fatal(err)
	}
	two := "2"
	for _, c := range []struct {
		key    string
		broker int32
	}{
		{"max.connections.per.ip", -1},
		{"max.connections.per.ip", 1},
		{"max.connections", -1},
	} {
		alter(t, adm, c.broker, c.key, &two)
		eventually(t, c.key+"=2 lets no third connection in", func() bool {
			// However many the client has, three more are too many.
			var open []*peer.Conn
			defer func() {
				for _, p := range open {
					p.Close()
				}
			}()
			for range 3 {
				p, err := peer.Dial(b.Addr())
				if err != nil {
					return true
				}
				open = append(open, p)
				// Over max.connections a connection waits, as with Kafka.
				p.Timeout = 300 * time.Millisecond
				if _, err := p.Do(kmsg.NewPtrApiVersionsRequest()); err != nil {
					return true
				}
			}
			return false
		})
		alter(t, adm, c.broker, c.key, nil)
		eventually(t, "without "+c.key+" connections are served", func() bool { return serves(t, b.Addr()) })
	}
	// What was stored holds after a restart.
	alter(t, adm, -1, "max.connections.per.ip.overrides", ptr("127.0.0.1:0"))
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	if serves(t, b.Addr()) {
		t.Error("max.connections.per.ip.overrides=127.0.0.1:0 was forgotten")
	}
}

func ptr(s string) *string { return &s }

func TestTopicDefaultsChangeAtRunTime(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"message.max.bytes=100000"}})
	create(t, b.Addr(), "t", 1)
	adm := kadm.NewClient(client(t, b.Addr()))
	size := func(n int) error { return produceOnce(t, b.Addr(), make([]byte, n)) }
	if err := size(50_000); err != nil {
		t.Fatal(err)
	}
	alter(t, adm, -1, "message.max.bytes", ptr("1000"))
	if err := size(50_000); err == nil {
		t.Error("message.max.bytes=1000 let 50,000 bytes in")
	}
	alter(t, adm, 1, "message.max.bytes", ptr("60000"))
	if err := size(50_000); err != nil {
		t.Errorf("what one broker says goes before the cluster's default: %v", err)
	}
	alter(t, adm, 1, "message.max.bytes", nil)
	alter(t, adm, -1, "message.max.bytes", nil)
	if err := size(90_000); err != nil {
		t.Errorf("back to the file's value: %v", err)
	}
}
