package franz

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ringmain/bench/pace"
	"ringmain/bench/workload"
)

func TestRunEndsWithItsContext(t *testing.T) {
	for _, kind := range workload.Kinds() {
		c := newCluster(t, 1)
		c.fill(10)
		env := c.env(kind, "rate", "max")
		if kind == workload.EndToEnd {
			c.keepBook(env)
		}
		e, err := New(env)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		why := errors.New("somebody pressed a key")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
		if err := e.Run(ctx, pace.Now(), nil); !errors.Is(err, why) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAClosedEngineOpensNothing(t *testing.T) {
	c := newCluster(t, 1)
	e, err := New(c.env(workload.Produce))
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := e.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}
