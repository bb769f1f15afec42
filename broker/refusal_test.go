package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ringmain/controller"
	"ringmain/metadata"
)

// Every error that a change of the metadata can end with.
func TestAdminRefusal(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int16
	}{
		{&refusal{95, "no"}, 95},
		{context.DeadlineExceeded, 7}, {context.Canceled, 7}, {controller.ErrOutcomeUnknown, 7},
		{controller.ErrNotLeader, 41}, {controller.ErrClosed, 41},
		{controller.ErrStorage, 56}, {controller.ErrTooLarge, 44},
		{metadata.ErrInvalidChange, -1}, {errors.New("a bug"), -1},
	} {
		if got := adminRefusal(fmt.Errorf("change: %w", c.err)); got == nil || got.code != c.code {
			t.Errorf("%v: %+v, want code %d", c.err, got, c.code)
		}
	}
	if adminRefusal(nil) != nil {
		t.Error("no error is a refusal")
	}
}

// A plan whose turn comes after its request was answered must not run: the
// handler's memory is somebody else's by then.
func TestAdminChangeNeverPlansLate(t *testing.T) {
	a, meta, _ := newAdmin(t)
	meta.tooLate = func() {}
	err := a.change(context.Background(), 1000, func(*metadata.Image) ([]metadata.Record, error) {
		t.Error("planned")
		return nil, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	meta.tooLate()
}
