package broker

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func featureUpdate(name string, level int16, kind int8) kmsg.UpdateFeaturesRequestFeatureUpdate {
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = name, level, kind
	return u
}

func featureRequest(updates ...kmsg.UpdateFeaturesRequestFeatureUpdate) *kmsg.UpdateFeaturesRequest {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.FeatureUpdates, req.TimeoutMillis = updates, 10000
	return req
}

func TestUpdateFeatures(t *testing.T) {
	type update = kmsg.UpdateFeaturesRequestFeatureUpdate
	good := featureUpdate("metadata.version", 33, 1)
	for _, c := range []struct {
		version int16
		updates []update
		code    int16
	}{
		{0, nil, 0}, {1, nil, 0}, {2, nil, 0},
		{0, []update{good}, 0}, {1, []update{good, good}, 0}, {2, []update{good}, 0}, {1, []update{featureUpdate("metadata.version", 33, 2)}, 0},
		{1, []update{featureUpdate("kraft.version", 1, 1)}, 0},
		{1, []update{featureUpdate("kraft.version", 9, 2), featureUpdate("kraft.version", 0, 2)}, 0}, {1, []update{featureUpdate("kraft.version", 0, 2), featureUpdate("kraft.version", 9, 2)}, 95}, // the last one counts
		{1, []update{featureUpdate("nope", 1, 1)}, 95}, {2, []update{featureUpdate("nope", 0, 2)}, 95}, {0, []update{featureUpdate("", 1, 1)}, 95},
		{1, []update{featureUpdate("metadata.version", 34, 1)}, 95}, {1, []update{featureUpdate("metadata.version", 3, 2)}, 95},
		{1, []update{featureUpdate("metadata.version", 0, 3)}, 95}, {1, []update{featureUpdate("metadata.version", -1, 3)}, 95},
		{1, []update{featureUpdate("metadata.version", 25, 1)}, 95}, {1, []update{featureUpdate("metadata.version", 32, 2)}, 95},
		{1, []update{featureUpdate("metadata.version", 32, 3)}, 95}, {0, []update{featureUpdate("metadata.version", 32, 2)}, 95},
		{1, []update{featureUpdate("metadata.version", 33, 0)}, 95}, {1, []update{featureUpdate("metadata.version", 33, 9)}, 95},
		{1, []update{featureUpdate("kraft.version", 2, 1)}, 95}, {1, []update{featureUpdate("kraft.version", 1, 2)}, 95},
		{1, []update{featureUpdate("group.version", 1, 1)}, 0}, {1, []update{featureUpdate("group.version", 0, 2)}, 0},
		{1, []update{featureUpdate("group.version", 0, 1)}, 95}, {1, []update{featureUpdate("group.version", 2, 1)}, 95}, {1, []update{featureUpdate("transaction.version", 2, 1)}, 95},
	} {
		for _, validateOnly := range []bool{false, true} {
			a, meta, _ := newAdmin(t)
			before := meta.Image()
			req := featureRequest(c.updates...)
			req.ValidateOnly = validateOnly
			resp := serve[*kmsg.UpdateFeaturesResponse](t, a, c.version, req)
			if resp.ErrorCode != c.code || (resp.ErrorMessage != nil) != (c.code != 0) {
				t.Errorf("%+v: code %d, message %v; want %d", c, resp.ErrorCode, resp.ErrorMessage, c.code)
			}
			want := 0
			if c.code == 0 && c.version < 2 {
				want = len(c.updates)
			}
			if len(resp.Results) != want {
				t.Errorf("%+v: results %+v", c, resp.Results)
			}
			if (c.code != 0 || validateOnly && c.version > 0) && meta.Image() != before {
				t.Errorf("%+v changed the metadata", c)
			}
		}
	}
}

func TestUpdateFeaturesAllOrNone(t *testing.T) {
	a, meta, _ := newAdmin(t)
	epoch := meta.Image().FeaturesEpoch()
	resp := serve[*kmsg.UpdateFeaturesResponse](t, a, 1, featureRequest(featureUpdate("kraft.version", 1, 1), featureUpdate("nope", 1, 1)))
	if resp.ErrorCode != 95 || meta.Image().Features()["kraft.version"] != 0 || meta.Image().FeaturesEpoch() != epoch {
		t.Errorf("%+v, features %v", resp, meta.Image().Features())
	}
	resp = serve[*kmsg.UpdateFeaturesResponse](t, a, 1, featureRequest(featureUpdate("kraft.version", 1, 1)))
	if resp.ErrorCode != 0 || meta.Image().Features()["kraft.version"] != 1 || meta.Image().FeaturesEpoch() <= epoch {
		t.Errorf("%+v, features %v", resp, meta.Image().Features())
	}
	// There is no way back.
	if resp := serve[*kmsg.UpdateFeaturesResponse](t, a, 1, featureRequest(featureUpdate("kraft.version", 0, 2))); resp.ErrorCode != 95 {
		t.Errorf("downgrade: code %d", resp.ErrorCode)
	}
	meta.failWith = context.DeadlineExceeded
	if resp := serve[*kmsg.UpdateFeaturesResponse](t, a, 1, featureRequest(featureUpdate("metadata.version", 33, 1))); resp.ErrorCode != 7 {
		t.Errorf("timed out: code %d", resp.ErrorCode)
	}
}
