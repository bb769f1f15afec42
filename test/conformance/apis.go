package conformance

// apis are the requests that the broker serves, with Kafka 4.4's versions.
var apis = []api{
	{"Produce", 0, 3, 13, produceScenarios},
	{"Fetch", 1, 4, 18, fetchScenarios},
	{"ListOffsets", 2, 1, 11, listOffsetsScenarios},
	{"Metadata", 3, 0, 13, metadataScenarios},
	{"ApiVersions", 18, 0, 5, apiVersionsScenarios},
	{"CreateTopics", 19, 2, 7, createTopicsScenarios},
	{"DeleteTopics", 20, 1, 6, deleteTopicsScenarios},
	{"DeleteRecords", 21, 0, 2, deleteRecordsScenarios},
	{"InitProducerId", 22, 0, 5, initProducerIDScenarios},
	{"OffsetForLeaderEpoch", 23, 2, 4, offsetForLeaderEpochScenarios},
	{"DescribeConfigs", 32, 1, 4, describeConfigsScenarios},
	{"AlterConfigs", 33, 0, 2, alterConfigsScenarios},
	{"DescribeLogDirs", 35, 1, 5, describeLogDirsScenarios},
	{"CreatePartitions", 37, 0, 3, createPartitionsScenarios},
	{"ElectLeaders", 43, 0, 2, electLeadersScenarios},
	{"IncrementalAlterConfigs", 44, 0, 1, incrementalAlterConfigsScenarios},
	{"ListPartitionReassignments", 46, 0, 0, listPartitionReassignmentsScenarios},
	{"DescribeQuorum", 55, 0, 2, describeQuorumScenarios},
	{"UpdateFeatures", 57, 0, 2, updateFeaturesScenarios},
	{"DescribeCluster", 60, 0, 2, describeClusterScenarios},
	{"DescribeProducers", 61, 0, 0, describeProducersScenarios},
	{"ListConfigResources", 74, 0, 1, listConfigResourcesScenarios},
	{"DescribeTopicPartitions", 75, 0, 0, describeTopicPartitionsScenarios},
}

// served are the keys of apis: what ApiVersions lists beyond them (or, on ours, has
// not yet) is not compared.
var served = map[int16]bool{
	0: true, 1: true, 2: true, 3: true, 18: true, 19: true, 20: true, 21: true, 22: true, 23: true, 32: true, 33: true, 35: true,
	37: true, 43: true, 44: true, 46: true, 55: true, 57: true, 60: true, 61: true, 74: true, 75: true,
}

// features are those of the finalized features that the broker has.
var features = map[string]bool{"metadata.version": true, "kraft.version": true}
