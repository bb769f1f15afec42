package groups

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
)

// A client asks again for as long as the answer is one that passes. So what is never
// there must be refused for good, at once and in every version.
func TestCoordinatorsThatAreNotThereAreRefused(t *testing.T) {
	b := harness.StartOwn(t, harness.Options{})
	c := dial(t, b.Addr())
	for kind, name := range map[int8]string{1: "transactions", 2: "share groups"} {
		for v := int16(1); v <= 6; v++ {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, "x", []string{"x", "y"}
			begun := time.Now()
			resp, err := do[*kmsg.FindCoordinatorResponse](c, v, req)
			if err != nil {
				t.Fatalf("%s v%d: %v", name, v, err)
			}
			codes := []int16{resp.ErrorCode}
			if v >= 4 {
				codes = codes[:0]
				for _, k := range resp.Coordinators {
					codes = append(codes, k.ErrorCode)
				}
				if len(codes) != 2 {
					t.Errorf("%s v%d: %d answers to 2 keys", name, v, len(codes))
				}
			}
			for _, code := range codes {
				if err := kerr.ErrorForCode(code); err == nil || kerr.IsRetriable(err) {
					t.Errorf("%s v%d: %v, on which a client would ask again", name, v, err)
				}
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%s v%d: answered after %v", name, v, took)
			}
		}
	}
}
