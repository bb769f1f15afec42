package conformance

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is not served must be absent from ApiVersions: clients fall back on absence,
// but take an API that is listed and then refused for an error.
func TestNothingElseIsAdvertised(t *testing.T) {
	if *broker != "" {
		t.Skip("an external broker may serve more")
	}
	s := newScript(t, address(t), 4, false)
	defer s.close()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "conformance", "1"
	got := map[int16]bool{}
	for _, k := range s.quiet(4, req).(*kmsg.ApiVersionsResponse).ApiKeys {
		got[k.ApiKey] = true
		if !served[k.ApiKey] {
			t.Errorf("key %d (%s) is advertised and has no scenario here", k.ApiKey, kmsg.NameForKey(k.ApiKey))
		}
	}
	for _, a := range apis {
		if !got[a.key] {
			t.Errorf("key %d (%s) is not advertised", a.key, a.name)
		}
		if !served[a.key] {
			t.Errorf("key %d (%s) has scenarios and is not compared in ApiVersions", a.key, a.name)
		}
	}
}
