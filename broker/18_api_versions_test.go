package broker

import (
	"encoding/binary"
	"maps"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/wire"
)

func hello(name, version string) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
	return req
}

func TestApiVersionsListsTheTable(t *testing.T) {
	a, _, _ := newAdmin(t)
	for version := int16(0); version <= 5; version++ {
		resp := serve[*kmsg.ApiVersionsResponse](t, a, version, hello("x", "1"))
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(apis) {
			t.Fatalf("v%d: code %d, %d keys, want %d", version, resp.ErrorCode, len(resp.ApiKeys), len(apis))
		}
		last := int16(-1)
		for _, k := range resp.ApiKeys {
			if k.ApiKey <= last {
				t.Errorf("v%d: key %d after %d", version, k.ApiKey, last)
			}
			last = k.ApiKey
			for i := range apis {
				want := apis[i].min
				if apis[i].key == 0 {
					want = 0 // Produce: librdkafka compresses only if it sees version 0
				}
				if apis[i].key == k.ApiKey && (k.MinVersion != want || k.MaxVersion != apis[i].max) {
					t.Errorf("v%d: key %d is %d-%d", version, k.ApiKey, k.MinVersion, k.MaxVersion)
				}
			}
		}
		if version < 3 {
			continue
		}
		supported := map[string][2]int16{}
		for _, f := range resp.SupportedFeatures {
			supported[f.Name] = [2]int16{f.MinVersion, f.MaxVersion}
		}
		if supported["metadata.version"] != [2]int16{7, 33} {
			t.Errorf("v%d: supported features %v", version, supported)
		}
		if _, listed := supported["kraft.version"]; listed != (version >= 4) {
			t.Errorf("v%d: a feature with minimum 0 is listed: %v", version, listed)
		}
		finalized := map[string][2]int16{}
		for _, f := range resp.FinalizedFeatures {
			finalized[f.Name] = [2]int16{f.MinVersionLevel, f.MaxVersionLevel}
		}
		if !maps.Equal(finalized, map[string][2]int16{"metadata.version": {33, 33}, "group.version": {1, 1}}) {
			t.Errorf("v%d: finalized features %+v", version, resp.FinalizedFeatures)
		}
		if resp.FinalizedFeaturesEpoch < 0 {
			t.Errorf("v%d: epoch of the features %d", version, resp.FinalizedFeaturesEpoch)
		}
	}
}

func TestApiVersionsFeatureEpochRises(t *testing.T) {
	a, meta, _ := newAdmin(t)
	before := serve[*kmsg.ApiVersionsResponse](t, a, 4, hello("x", "1")).FinalizedFeaturesEpoch
	meta.apply(t, metadata.FeatureRecord{Name: "kraft.version", Level: 1})
	after := serve[*kmsg.ApiVersionsResponse](t, a, 4, hello("x", "1"))
	if after.FinalizedFeaturesEpoch <= before || len(after.FinalizedFeatures) != 3 {
		t.Errorf("epoch %d after %d, features %+v", after.FinalizedFeaturesEpoch, before, after.FinalizedFeatures)
	}
}

func TestApiVersionsChecksSoftwareNames(t *testing.T) {
	a, _, _ := newAdmin(t)
	for s, ok := range map[string]bool{"a": true, "9": true, "apache-kafka-java": true, "4.4.0-SNAPSHOT": true, "a--b": true,
		"": false, "-a": false, "a-": false, ".": false, "a b": false, "a_b": false, "é": false, "a\n": false} {
		for _, req := range []*kmsg.ApiVersionsRequest{hello(s, "1"), hello("x", s)} {
			resp := serve[*kmsg.ApiVersionsResponse](t, a, 3, req)
			if (resp.ErrorCode == 0) != ok || !ok && (resp.ErrorCode != 42 || len(resp.ApiKeys) != 0) {
				t.Errorf("%q: code %d with %d keys", s, resp.ErrorCode, len(resp.ApiKeys))
			}
		}
	}
	if resp := serve[*kmsg.ApiVersionsResponse](t, a, 2, hello("", "")); resp.ErrorCode != 0 {
		t.Errorf("v2 has no software name to check: code %d", resp.ErrorCode)
	}
}

func TestApiVersionsChecksClusterAndNode(t *testing.T) {
	a, _, _ := newAdmin(t)
	cluster := func(s string) *string { return &s }
	for _, c := range []struct {
		cluster *string
		node    int32
		code    int16
	}{
		{nil, -1, 0}, {cluster(stubCluster), 1, 0},
		{nil, 1, 42}, {cluster(stubCluster), -1, 42}, {cluster(""), -1, 42},
		{cluster(stubCluster), 2, 129}, {cluster("other"), 1, 129},
	} {
		req := hello("x", "1")
		req.ClusterID, req.NodeID = c.cluster, c.node
		if resp := serve[*kmsg.ApiVersionsResponse](t, a, 5, req); resp.ErrorCode != c.code {
			t.Errorf("cluster %v node %d: code %d, want %d", c.cluster, c.node, resp.ErrorCode, c.code)
		}
		// Version 4 has neither field.
		if resp := serve[*kmsg.ApiVersionsResponse](t, a, 4, req); resp.ErrorCode != 0 {
			t.Errorf("v4: code %d", resp.ErrorCode)
		}
	}
}

func TestApiVersionsRefusalReadsAsVersion0(t *testing.T) {
	frame := wire.AppendResponse([]byte("x"), 9, refuseApiVersions())[1:]
	body := frame[8:] // length and correlation id: response header version 0
	if n, c := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:]); int(n) != len(frame)-4 || c != 9 {
		t.Errorf("length %d of %d bytes, correlation id %d", n, len(frame), c)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := resp.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	want := []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 5}}
	if resp.ErrorCode != 35 || !reflect.DeepEqual(resp.ApiKeys, want) || len(body) != 2+4+6 {
		t.Errorf("%d bytes: %+v", len(body), resp)
	}
}
