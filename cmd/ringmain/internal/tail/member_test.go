package tail

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestGroupVersionOff(t *testing.T) {
	supported := []kmsg.ApiVersionsResponseSupportedFeature{{Name: "metadata.version", MaxVersion: 33}, {Name: "group.version", MaxVersion: 1}}
	finalized := func(level int16) []kmsg.ApiVersionsResponseFinalizedFeature {
		return []kmsg.ApiVersionsResponseFinalizedFeature{{Name: "group.version", MaxVersionLevel: level}}
	}
	for _, c := range []struct {
		name string
		v    kmsg.ApiVersionsResponse
		off  bool
	}{
		{"finalized", kmsg.ApiVersionsResponse{SupportedFeatures: supported, FinalizedFeatures: finalized(1)}, false},
		{"not finalized", kmsg.ApiVersionsResponse{SupportedFeatures: supported}, true},
		{"finalized at 0", kmsg.ApiVersionsResponse{SupportedFeatures: supported, FinalizedFeatures: finalized(0)}, true},
		{"a broker that tells of no features", kmsg.ApiVersionsResponse{}, false},
	} {
		if off := groupVersionOff(&c.v); off != c.off {
			t.Errorf("%s: off %v", c.name, off)
		}
	}
}
