package conformance

// apis are the requests that the broker serves, with Kafka 4.4's versions.
var apis = []api{
	{"Produce", 0, 3, 13, produceScenarios},
	{"Fetch", 1, 4, 18, fetchScenarios},
	{"ListOffsets", 2, 1, 11, listOffsetsScenarios},
	{"Metadata", 3, 0, 13, metadataScenarios},
	{"OffsetCommit", 8, 2, 10, offsetCommitScenarios},
	{"OffsetFetch", 9, 1, 10, offsetFetchScenarios},
	{"FindCoordinator", 10, 0, 6, findCoordinatorScenarios},
	{"JoinGroup", 11, 0, 9, joinGroupScenarios},
	{"Heartbeat", 12, 0, 4, heartbeatScenarios},
	{"LeaveGroup", 13, 0, 5, leaveGroupScenarios},
	{"SyncGroup", 14, 0, 5, syncGroupScenarios},
	{"DescribeGroups", 15, 0, 6, describeGroupsScenarios},
	{"ListGroups", 16, 0, 5, listGroupsScenarios},
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
	{"DeleteGroups", 42, 0, 3, deleteGroupsScenarios},
	{"ElectLeaders", 43, 0, 2, electLeadersScenarios},
	{"IncrementalAlterConfigs", 44, 0, 1, incrementalAlterConfigsScenarios},
	{"ListPartitionReassignments", 46, 0, 0, listPartitionReassignmentsScenarios},
	{"OffsetDelete", 47, 0, 0, offsetDeleteScenarios},
	{"DescribeQuorum", 55, 0, 2, describeQuorumScenarios},
	{"UpdateFeatures", 57, 0, 2, updateFeaturesScenarios},
	{"DescribeCluster", 60, 0, 2, describeClusterScenarios},
	{"DescribeProducers", 61, 0, 0, describeProducersScenarios},
	{"ConsumerGroupHeartbeat", 68, 0, 1, consumerGroupHeartbeatScenarios},
	{"ConsumerGroupDescribe", 69, 0, 1, consumerGroupDescribeScenarios},
	{"ListConfigResources", 74, 0, 1, listConfigResourcesScenarios},
	{"DescribeTopicPartitions", 75, 0, 0, describeTopicPartitionsScenarios},
}

// served are the keys of apis: what ApiVersions lists beyond them (or, on ours, has
// not yet) is not compared.
var served = map[int16]bool{
	0: true, 1: true, 2: true, 3: true, 8: true, 9: true, 10: true, 11: true, 12: true, 13: true, 14: true, 15: true, 16: true, 18: true, 19: true, 20: true, 21: true, 22: true, 23: true, 32: true, 33: true, 35: true,
	37: true, 42: true, 43: true, 44: true, 46: true, 47: true, 55: true, 57: true, 60: true, 61: true, 68: true, 69: true, 74: true, 75: true,
}

// features are those of the finalized features that the broker has.
var features = map[string]bool{"metadata.version": true, "kraft.version": true, "group.version": true}
