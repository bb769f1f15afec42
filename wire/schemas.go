package wire

// schemas are the requests that are read, as Apache Kafka 4.4 defines them
// (its protocol documentation). A new API is added here, and nowhere else in
// this package. Whether the table is right is tested against kmsg's encoder,
// for every key and version.
var schemas = []schema{
	{key: 0, name: "Produce", min: 3, max: 13, flexible: 9, fields: []field{
		str("transactional_id").null(3), i16("acks"), i32("timeout_ms"),
		array("topics", str("name").to(12), uuid("topic_id").from(13),
			array("partitions", i32("index"), blob("records").null(0))),
	}},
	{key: 1, name: "Fetch", min: 4, max: 18, flexible: 12, fields: []field{
		str("cluster_id").from(12).null(12).at(0),
		i32("replica_id").to(14),
		group("replica_state", i32("replica_id"), i64("replica_epoch")).from(15).at(1),
		i32("max_wait_ms"), i32("min_bytes"), i32("max_bytes"), i8("isolation_level"),
		i32("session_id").from(7), i32("session_epoch").from(7),
		array("topics", str("topic").to(12), uuid("topic_id").from(13),
			array("partitions", i32("partition"), i32("current_leader_epoch").from(9), i64("fetch_offset"),
				i32("last_fetched_epoch").from(12), i64("log_start_offset").from(5), i32("partition_max_bytes"),
				uuid("replica_directory_id").from(17).at(0), i64("high_watermark").from(18).at(1))),
		array("forgotten_topics_data", str("topic").to(12), uuid("topic_id").from(13),
			list("partitions", i32("partition"))).from(7),
		str("rack_id").from(11),
	}},
	{key: 2, name: "ListOffsets", min: 1, max: 11, flexible: 6, fields: []field{
		i32("replica_id"), i8("isolation_level").from(2),
		array("topics", str("name"),
			array("partitions", i32("partition_index"), i32("current_leader_epoch").from(4), i64("timestamp"))),
		i32("timeout_ms").from(10),
	}},
	{key: 3, name: "Metadata", min: 0, max: 13, flexible: 9, fields: []field{
		array("topics", uuid("topic_id").from(10), str("name").null(10)).null(1),
		boolean("allow_auto_topic_creation").from(4),
		boolean("include_cluster_authorized_operations").from(8).to(10),
		boolean("include_topic_authorized_operations").from(8),
	}},
	{key: 8, name: "OffsetCommit", min: 2, max: 10, flexible: 8, fields: []field{
		str("group_id"), i32("generation_id_or_member_epoch"), str("member_id"), str("group_instance_id").from(7).null(7),
		i64("retention_time_ms").to(4),
		array("topics", str("name").to(9), uuid("topic_id").from(10),
			array("partitions", i32("partition_index"), i64("committed_offset"), i32("committed_leader_epoch").from(6),
				str("committed_metadata").null(0))),
	}},
	{key: 9, name: "OffsetFetch", min: 1, max: 10, flexible: 6, fields: []field{
		str("group_id").to(7),
		array("topics", str("name"), list("partition_indexes", i32("partition_index"))).to(7).null(2),
		array("groups", str("group_id"), str("member_id").from(9).null(9), i32("member_epoch").from(9),
			array("topics", str("name").to(9), uuid("topic_id").from(10),
				list("partition_indexes", i32("partition_index"))).null(8)).from(8),
		boolean("require_stable").from(7),
	}},
	{key: 10, name: "FindCoordinator", min: 0, max: 6, flexible: 3, fields: []field{
		str("key").to(3), i8("key_type").from(1), list("coordinator_keys", str("key")).from(4),
	}},
	{key: 11, name: "JoinGroup", min: 0, max: 9, flexible: 6, fields: []field{
		str("group_id"), i32("session_timeout_ms"), i32("rebalance_timeout_ms").from(1), str("member_id"),
		str("group_instance_id").from(5).null(5), str("protocol_type"),
		array("protocols", str("name"), blob("metadata")), str("reason").from(8).null(8),
	}},
	{key: 12, name: "Heartbeat", min: 0, max: 4, flexible: 4, fields: []field{
		str("group_id"), i32("generation_id"), str("member_id"), str("group_instance_id").from(3).null(3),
	}},
	{key: 13, name: "LeaveGroup", min: 0, max: 5, flexible: 4, fields: []field{
		str("group_id"), str("member_id").to(2),
		array("members", str("member_id"), str("group_instance_id").null(3), str("reason").from(5).null(5)).from(3),
	}},
	{key: 14, name: "SyncGroup", min: 0, max: 5, flexible: 4, fields: []field{
		str("group_id"), i32("generation_id"), str("member_id"), str("group_instance_id").from(3).null(3),
		str("protocol_type").from(5).null(5), str("protocol_name").from(5).null(5),
		array("assignments", str("member_id"), blob("assignment")),
	}},
	{key: 15, name: "DescribeGroups", min: 0, max: 6, flexible: 5, fields: []field{
		list("groups", str("group_id")), boolean("include_authorized_operations").from(3),
	}},
	{key: 16, name: "ListGroups", min: 0, max: 5, flexible: 3, fields: []field{
		list("states_filter", str("state")).from(4), list("types_filter", str("type")).from(5),
	}},
	{key: 18, name: "ApiVersions", min: 0, max: 5, flexible: 3, fields: []field{
		str("client_software_name").from(3), str("client_software_version").from(3),
		str("cluster_id").from(5).null(5), i32("node_id").from(5),
	}},
	{key: 19, name: "CreateTopics", min: 2, max: 7, flexible: 5, fields: []field{
		array("topics", str("name"), i32("num_partitions"), i16("replication_factor"),
			array("assignments", i32("partition_index"), list("broker_ids", i32("broker_id"))),
			array("configs", str("name"), str("value").null(0))),
		i32("timeout_ms"), boolean("validate_only"),
	}},
	{key: 20, name: "DeleteTopics", min: 1, max: 6, flexible: 4, fields: []field{
		list("topic_names", str("name")).to(5),
		array("topics", str("name").null(6), uuid("topic_id")).from(6),
		i32("timeout_ms"),
	}},
	{key: 21, name: "DeleteRecords", min: 0, max: 2, flexible: 2, fields: []field{
		array("topics", str("name"), array("partitions", i32("partition_index"), i64("offset"))),
		i32("timeout_ms"),
	}},
	{key: 22, name: "InitProducerId", min: 0, max: 5, flexible: 2, fields: []field{
		str("transactional_id").null(0), i32("transaction_timeout_ms"),
		i64("producer_id").from(3), i16("producer_epoch").from(3),
	}},
	{key: 23, name: "OffsetForLeaderEpoch", min: 2, max: 4, flexible: 4, fields: []field{
		i32("replica_id").from(3),
		array("topics", str("topic"),
			array("partitions", i32("partition"), i32("current_leader_epoch"), i32("leader_epoch"))),
	}},
	{key: 32, name: "DescribeConfigs", min: 1, max: 4, flexible: 4, fields: []field{
		array("resources", i8("resource_type"), str("resource_name"),
			list("configuration_keys", str("key")).null(0)),
		boolean("include_synonyms"), boolean("include_documentation").from(3),
	}},
	{key: 33, name: "AlterConfigs", min: 0, max: 2, flexible: 2, fields: []field{
		array("resources", i8("resource_type"), str("resource_name"),
			array("configs", str("name"), str("value").null(0))),
		boolean("validate_only"),
	}},
	{key: 35, name: "DescribeLogDirs", min: 1, max: 5, flexible: 2, fields: []field{
		array("topics", str("topic"), list("partitions", i32("partition"))).null(0),
	}},
	{key: 37, name: "CreatePartitions", min: 0, max: 3, flexible: 2, fields: []field{
		array("topics", str("name"), i32("count"),
			array("assignments", list("broker_ids", i32("broker_id"))).null(0)),
		i32("timeout_ms"), boolean("validate_only"),
	}},
	{key: 42, name: "DeleteGroups", min: 0, max: 3, flexible: 2, fields: []field{
		list("groups_names", str("group_id")),
	}},
	{key: 43, name: "ElectLeaders", min: 0, max: 2, flexible: 2, fields: []field{
		i8("election_type").from(1),
		array("topic_partitions", str("topic"), list("partitions", i32("partition"))).null(0),
		i32("timeout_ms"),
	}},
	{key: 44, name: "IncrementalAlterConfigs", min: 0, max: 1, flexible: 1, fields: []field{
		array("resources", i8("resource_type"), str("resource_name"),
			array("configs", str("name"), i8("config_operation"), str("value").null(0))),
		boolean("validate_only"),
	}},
	{key: 46, name: "ListPartitionReassignments", min: 0, max: 0, flexible: 0, fields: []field{
		i32("timeout_ms"),
		array("topics", str("name"), list("partition_indexes", i32("partition_index"))).null(0),
	}},
	{key: 47, name: "OffsetDelete", min: 0, max: 0, flexible: never, fields: []field{
		str("group_id"), array("topics", str("name"), array("partitions", i32("partition_index"))),
	}},
	{key: 55, name: "DescribeQuorum", min: 0, max: 2, flexible: 0, fields: []field{
		array("topics", str("topic_name"), array("partitions", i32("partition_index"))),
	}},
	{key: 57, name: "UpdateFeatures", min: 0, max: 2, flexible: 0, fields: []field{
		i32("timeout_ms"),
		array("feature_updates", str("feature"), i16("max_version_level"),
			boolean("allow_downgrade").to(0), i8("upgrade_type").from(1)),
		boolean("validate_only").from(1),
	}},
	{key: 60, name: "DescribeCluster", min: 0, max: 2, flexible: 0, fields: []field{
		boolean("include_cluster_authorized_operations"), i8("endpoint_type").from(1),
		boolean("include_fenced_brokers").from(2),
	}},
	{key: 61, name: "DescribeProducers", min: 0, max: 0, flexible: 0, fields: []field{
		array("topics", str("name"), list("partition_indexes", i32("partition_index"))),
	}},
	{key: 68, name: "ConsumerGroupHeartbeat", min: 0, max: 1, flexible: 0, fields: []field{
		str("group_id"), str("member_id"), i32("member_epoch"), str("instance_id").null(0), str("rack_id").null(0),
		i32("rebalance_timeout_ms"), list("subscribed_topic_names", str("name")).null(0),
		str("subscribed_topic_regex").from(1).null(1), str("server_assignor").null(0),
		array("topic_partitions", uuid("topic_id"), list("partitions", i32("partition"))).null(0),
	}},
	{key: 69, name: "ConsumerGroupDescribe", min: 0, max: 1, flexible: 0, fields: []field{
		list("group_ids", str("group_id")), boolean("include_authorized_operations"),
	}},
	{key: 74, name: "ListConfigResources", min: 0, max: 1, flexible: 0, fields: []field{
		list("resource_types", i8("resource_type")).from(1),
	}},
	{key: 75, name: "DescribeTopicPartitions", min: 0, max: 0, flexible: 0, fields: []field{
		array("topics", str("name")), i32("response_partition_limit"),
		group("cursor", str("topic_name"), i32("partition_index")).null(0),
	}},
}
