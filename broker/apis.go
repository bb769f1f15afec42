package broker

// apis is the table of everything that is served: what is not in it is absent
// from ApiVersions and closes the connection of whoever sends it. An API is
// added here when it is served as Apache Kafka 4.4 serves it, in the same
// versions, and not before: clients fall back on absence, but take a refusal
// for an error.
var apis = []api{
	produceAPI,
	fetchAPI,
	listOffsetsAPI,
	metadataAPI,
	offsetCommitAPI,
	offsetFetchAPI,
	findCoordinatorAPI,
	joinGroupAPI,
	heartbeatAPI,
	leaveGroupAPI,
	syncGroupAPI,
	describeGroupsAPI,
	listGroupsAPI,
	apiVersionsAPI,
	createTopicsAPI,
	deleteTopicsAPI,
	deleteRecordsAPI,
	initProducerIDAPI,
	offsetForLeaderEpochAPI,
	describeConfigsAPI,
	alterConfigsAPI,
	describeLogDirsAPI,
	createPartitionsAPI,
	deleteGroupsAPI,
	electLeadersAPI,
	incrementalAlterConfigsAPI,
	listPartitionReassignmentsAPI,
	offsetDeleteAPI,
	describeQuorumAPI,
	updateFeaturesAPI,
	describeClusterAPI,
	describeProducersAPI,
	consumerGroupHeartbeatAPI,
	consumerGroupDescribeAPI,
	listConfigResourcesAPI,
	describeTopicPartitionsAPI,
}
