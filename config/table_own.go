package config

// Keys of our own, in server.properties only unless said otherwise.
var ownDefs = []Def{
	{Name: "ringmain.http.listen", Type: String, Default: "127.0.0.1:9080", Importance: High,
		Status: Honoured, Doc: "Address of the HTTP port (metrics, health, REST) as host:port; off opens none, port 0 takes a free one."},
	{Name: "ringmain.io.engine", Type: String, Default: "auto", Check: oneOf("auto", "uring", "pwritev"),
		Status: Honoured, Doc: "How logs are written and synced: io_uring, plain pwritev, or what a probe of the data directory finds best."},
	{Name: "ringmain.durability", Type: String, Default: "fsync", Check: oneOf("fsync", "page-cache"), Importance: High,
		Status: Honoured, Doc: "What acks=all waits for, unless the topic says otherwise: the records synced to disk, or only handed to the system, which a power loss can take back."},
	{Name: "ringmain.event.loops", Type: Int, Default: "0", Check: between(0, 1024),
		Status: Honoured, Doc: "Event loops that serve connections; 0 lets the broker choose: half of the processors, at least two where there are two."},
	{Name: "ringmain.appenders", Type: Int, Default: "0", Check: between(0, 1024),
		Status: Honoured, Doc: "Shard loops that own partitions and write their logs; 0 lets the broker choose."},
	{Name: "ringmain.pool.size", Type: Int, Default: "0", Check: between(0, 4096),
		Status: Honoured, Doc: "Workers for requests that may wait or compute for long; 0 lets the broker choose."},
	{Name: "ringmain.sync.bytes", Type: Long, Default: "67108864", Check: between(4096, 1<<40),
		Status: Honoured, Doc: "Bytes of unsynced log after which a partition is synced in the background, whatever acks asked for."},
	{Name: "ringmain.sync.ms", Type: Long, Default: "5000", Check: between(1, 86400000),
		Status: Honoured, Doc: "Age in milliseconds of unsynced records after which a partition is synced in the background, whatever acks asked for."},
	{Name: "ringmain.journal.bytes", Type: Long, Default: "268435456", Check: between(0, 1<<40),
		Status: Honoured, Doc: "Size of each appender's journal in a log directory, which makes appends to many partitions durable with one sync; made when first needed, where four times as much is free. 0: none, every partition is synced by itself."},
	{Name: "ringmain.connection.inflight.bytes", Type: Long, Default: "16777216", Check: between(65536, 1<<40),
		Status: Honoured, Doc: "Bytes of requests and answers one connection may have in flight before its reading pauses."},
	{Name: "ringmain.inflight.bytes", Type: Long, Default: "536870912", Check: between(1048576, 1<<44),
		Status: Honoured, Doc: "Bytes of requests and answers all connections together may have in flight before reading pauses."},
	{Name: "ringmain.bulk.share.percent", Type: Int, Default: "10", Check: between(1, 100),
		Status: Honoured, Doc: "Share of an event loop's time that fetch answers above 16 KiB get at least while produce requests come and processors are short; 100: they never give way to them."},
	{Name: "ringmain.decompressed.max.bytes", Type: Long, Default: "268435456", Check: between(1048576, 1<<40),
		Status: Honoured, Doc: "Bytes one record batch may reach when it is decompressed; a larger one is refused."},
	{Name: "ringmain.request.max.partitions", Type: Int, Default: "20000", Check: between(1, 1000000),
		Status: Honoured, Doc: "Partitions that one request may create in all."},
	{Name: "ringmain.open.files", Type: Int, Default: "0", Check: between(0, 100000000),
		Status: Honoured, Doc: "File descriptors the broker may use in all; 0 takes the limit of the process."},
	{Name: "ringmain.lost.log.dirs", Type: List, Default: "",
		Status: Honoured, Doc: "Ids of log directories that are lost for good. Without it a start with such a directory missing is refused; with it, partitions that were there begin again, empty."},
	{Name: "ringmain.metrics.max.series", Type: Int, Default: "10000", Check: between(0, 10000000),
		Status: Honoured, Doc: "Time series per partition that one scrape of the metrics may carry, and apart from them as many of the lag of groups; 0 leaves them out."},
	{Name: "ringmain.lag.check.interval.ms", Type: Long, Default: "5000", Check: between(100, 3600000),
		Status: Honoured, Doc: "How often, in milliseconds, the log ends of what groups read are noted, for lag in seconds, and the alerts are checked; more often where an alert on growth needs it."},
}

// Topic keys of our own.
var ownTopicDefs = []Def{
	{Name: "ringmain.durability", Type: String, Default: "fsync", Check: oneOf("fsync", "page-cache"), ServerKey: "ringmain.durability",
		Status: Honoured, Doc: "What acks=all waits for: the records synced to disk, or only handed to the system, which a power loss can take back."},
}
