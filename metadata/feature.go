package metadata

// Names of the features that this release knows (KIP-584).
const (
	FeatureMetadataVersion = "metadata.version"
	FeatureKRaftVersion    = "kraft.version"
	FeatureGroupVersion    = "group.version"
)

// MetadataVersionLatest is the level of metadata.version that a new cluster
// starts with: Kafka's 4.4-IV2.
const MetadataVersionLatest int16 = 33

// GroupVersionLatest is the level of group.version that a new cluster starts with: from
// 1 on the consumer group protocol of KIP-848 is served.
const GroupVersionLatest int16 = 1

// FeatureRange says which levels of a feature this release can run at.
type FeatureRange struct {
	Name     string
	Min, Max int16
}

// SupportedFeatures lists what this release can run at, sorted by name. The
// ranges are those of Apache Kafka 4.4; features that we do not have are absent.
func SupportedFeatures() []FeatureRange {
	return []FeatureRange{
		{FeatureGroupVersion, 0, GroupVersionLatest},
		{FeatureKRaftVersion, 0, 1},
		{FeatureMetadataVersion, 7, MetadataVersionLatest},
	}
}

// Bootstrap returns the first records of a new cluster. kraftVersion is 0 for
// a static quorum, where Kafka leaves kraft.version out of the finalized
// features, and 1 for a dynamic one.
func Bootstrap(clusterID string, kraftVersion int16) []Record {
	records := []Record{
		ClusterRecord{ClusterID: clusterID},
		FeatureRecord{Name: FeatureMetadataVersion, Level: MetadataVersionLatest},
		FeatureRecord{Name: FeatureGroupVersion, Level: GroupVersionLatest},
	}
	if kraftVersion > 0 {
		records = append(records, FeatureRecord{Name: FeatureKRaftVersion, Level: kraftVersion})
	}
	return records
}
