package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

// UpdateFeatures, versions 0 to 2 (KIP-584).
//
//   - v1 the kind of update: 1 upgrade, 2 safe downgrade, 3 unsafe downgrade;
//     validation without effect. The boolean that v0 has instead is not looked
//     at, as in Kafka: every v0 request is an upgrade
//   - v2 one error for all in place of a result for each feature
//   - of several updates of a feature the last one counts
//   - the request's timeout is not looked at, as in Kafka
//
// All updates of a request are done, or none.
var updateFeaturesAPI = api{key: 57, min: 0, max: 2, serve: updateFeatures}

const (
	featureUpgrade         = 1
	featureSafeDowngrade   = 2
	featureUnsafeDowngrade = 3
)

func updateFeatures(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.UpdateFeaturesRequest)
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	updates := lastUpdates(req.FeatureUpdates)
	plan := func(img *metadata.Image) ([]metadata.Record, error) {
		var records []metadata.Record
		for _, u := range updates {
			kind := u.UpgradeType
			if req.Version == 0 {
				kind = featureUpgrade
			}
			had := img.Features()[u.Feature]
			if why := featureRefusal(u.Feature, had, u.MaxVersionLevel, kind); why != nil {
				return nil, why
			}
			if u.MaxVersionLevel != had {
				records = append(records, metadata.FeatureRecord{Name: u.Feature, Level: u.MaxVersionLevel})
			}
		}
		return records, nil
	}
	var err error
	switch {
	case len(updates) == 0:
		return resp
	case req.Version >= 1 && req.ValidateOnly:
		_, err = plan(a.meta.Image())
	default:
		err = a.change(ctx, configTimeoutMs, plan)
	}
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = adminRefusal(err).wire()
		return resp
	}
	for i := range req.FeatureUpdates {
		out := kmsg.NewUpdateFeaturesResponseResult()
		out.Feature = req.FeatureUpdates[i].Feature
		out.ErrorMessage = kmsg.StringPtr("NONE") // what Kafka writes for success
		resp.Results = append(resp.Results, out)
	}
	return resp
}

// lastUpdates gives each feature's last update, in the order in which the features
// come first.
func lastUpdates(all []kmsg.UpdateFeaturesRequestFeatureUpdate) []kmsg.UpdateFeaturesRequestFeatureUpdate {
	var last []kmsg.UpdateFeaturesRequestFeatureUpdate
	at := make(map[string]int, len(all))
	for _, u := range all {
		if i, again := at[u.Feature]; again {
			last[i] = u
			continue
		}
		at[u.Feature] = len(last)
		last = append(last, u)
	}
	return last
}

// featureRefusal says why a feature cannot go from one level to another.
func featureRefusal(name string, from, to int16, kind int8) *refusal {
	supported := metadata.SupportedFeatures()
	at := slices.IndexFunc(supported, func(f metadata.FeatureRange) bool { return f.Name == name })
	no := func(format string, args ...any) *refusal {
		return refuse(kerr.InvalidUpdateVersion, "no feature was updated, because feature %q cannot be set to level %d: "+format,
			append([]any{name, to}, args...)...)
	}
	switch {
	case kind != featureUpgrade && kind != featureSafeDowngrade && kind != featureUnsafeDowngrade:
		return no("there is no update type %d (1 upgrade, 2 safe downgrade, 3 unsafe downgrade)", kind)
	case to < 0:
		return no("levels begin at 0")
	case at < 0:
		return no("this broker does not know the feature")
	case to != from && (to < supported[at].Min || to > supported[at].Max):
		return no("this broker runs at levels %d to %d", supported[at].Min, supported[at].Max)
	case to > from && kind != featureUpgrade:
		return no("it is at level %d, so this is no downgrade", from)
	case to < from && kind == featureUpgrade:
		return no("it is at level %d, so this is a downgrade and must be asked for as one", from)
	case to < from && name != metadata.FeatureGroupVersion: // which the metadata does not depend on
		// A lower level could not hold what the metadata may hold by now.
		return no("it is at level %d, and going back could lose metadata", from)
	}
	return nil
}
