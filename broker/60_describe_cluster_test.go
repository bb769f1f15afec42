package broker

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeCluster(t *testing.T) {
	a, meta, _ := newAdmin(t)
	fenced := brokerRecord(2)
	fenced.Broker.Fenced = true
	meta.apply(t, fenced)
	for version := int16(0); version <= 2; version++ {
		for _, include := range []bool{false, true} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = include, include
			resp := serveAs(t, a, "EXTERNAL", version, req).(*kmsg.DescribeClusterResponse)
			brokers, operations := 1, int32(math.MinInt32)
			if include && version >= 2 {
				brokers = 2
			}
			if include {
				operations = 8096
			}
			if resp.ErrorCode != 0 || resp.ErrorMessage != nil || resp.ClusterID != stubCluster || resp.ControllerID != 1 || resp.EndpointType != 1 ||
				len(resp.Brokers) != brokers || resp.ClusterAuthorizedOperations != operations {
				t.Errorf("v%d, include %v: %+v", version, include, resp)
			}
			if b := resp.Brokers[0]; b.Host != "kafka.example" || b.Port != 19001 || b.IsFenced {
				t.Errorf("v%d: broker %+v", version, b)
			}
		}
	}
	for kind, code := range map[int8]int16{0: 115, 1: 0, 2: 114, 3: 115} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = kind
		resp := serve[*kmsg.DescribeClusterResponse](t, a, 1, req)
		if resp.ErrorCode != code || code != 0 && (resp.ErrorMessage == nil || len(resp.Brokers) != 0 || resp.ControllerID != -1 || resp.ClusterID != "") {
			t.Errorf("endpoint type %d: %+v", kind, resp)
		}
	}
}
