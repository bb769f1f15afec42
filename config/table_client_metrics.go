package config

// Subscriptions to client metrics (KIP-714).
var clientMetricsDefs = []Def{
	{Name: "metrics", Type: List, Default: "",
		Status: Accepted, Doc: "Prefixes of the client metrics to collect; * for all, empty for none."},
	{Name: "interval.ms", Type: Int, Default: "300000",
		Status: Accepted, Doc: "Milliseconds between two pushes of metrics by a client."},
	{Name: "match", Type: List, Default: "",
		Status: Accepted, Doc: "Clients the subscription holds for, as selector=pattern pairs; empty for all."},
}
