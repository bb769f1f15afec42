package broker

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// levelOf asks for the loggers of broker 1 and gives the only one's level.
func levelOf(t *testing.T, a *admin, version int16) string {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: "1"}}
	resp := serve[*kmsg.DescribeConfigsResponse](t, a, version, req)
	if len(resp.Resources) != 1 || resp.Resources[0].ErrorCode != 0 || len(resp.Resources[0].Configs) != 1 {
		t.Fatalf("loggers: %+v", resp.Resources)
	}
	c := resp.Resources[0].Configs[0]
	if c.Name != "root" || c.Value == nil || c.Source != kmsg.ConfigSourceDynamicBrokerLoggerConfig || c.ReadOnly || c.IsSensitive || len(c.ConfigSynonyms) != 0 || c.ConfigType != 0 {
		t.Fatalf("logger: %+v", c)
	}
	return *c.Value
}

func alterLoggers(t *testing.T, a *admin, broker string, validateOnly bool, edits ...kmsg.IncrementalAlterConfigsRequestResourceConfig) int16 {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = validateOnly
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: broker, Configs: edits}}
	resp := serve[*kmsg.IncrementalAlterConfigsResponse](t, a, 1, req)
	out := resp.Resources[0]
	if (out.ErrorCode == 0) != (out.ErrorMessage == nil) {
		t.Errorf("code %d with message %v", out.ErrorCode, out.ErrorMessage)
	}
	return out.ErrorCode
}

func loggerEdit(name string, op int8, value string) kmsg.IncrementalAlterConfigsRequestResourceConfig {
	e := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Op: kmsg.IncrementalAlterConfigOp(op), Value: &value}
	if value == "null" {
		e.Value = nil
	}
	return e
}

func TestLevelsOfLoggersAreRead(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelDebug - 100: "TRACE", slog.LevelDebug - 4: "TRACE", slog.LevelDebug: "DEBUG", slog.LevelInfo: "INFO", slog.LevelInfo + 1: "INFO",
		slog.LevelWarn: "WARN", slog.LevelError: "ERROR", slog.LevelError + 4: "FATAL", slog.LevelError + 100: "FATAL",
	} {
		a, _, _ := newAdmin(t)
		a.loggers.level.Set(level)
		for version := int16(1); version <= 4; version++ {
			if got := levelOf(t, a, version); got != want {
				t.Errorf("version %d, level %d: %s, want %s", version, level, got, want)
			}
		}
	}
}

func TestLevelsOfLoggersAreChanged(t *testing.T) {
	a, meta, _ := newAdmin(t)
	var log strings.Builder
	a.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: a.loggers.level}))
	for _, c := range []struct {
		level string
		shown int
	}{{"TRACE", 4}, {"DEBUG", 4}, {"INFO", 3}, {"WARN", 2}, {"ERROR", 1}, {"FATAL", 0}, {"INFO", 3}} {
		before := meta.Image().Offset()
		if code := alterLoggers(t, a, "1", false, loggerEdit("root", 0, c.level)); code != 0 {
			t.Fatalf("%s: code %d", c.level, code)
		}
		log.Reset()
		a.log.Debug("m")
		a.log.Info("m")
		a.log.Warn("m")
		a.log.Error("m")
		if got := levelOf(t, a, 4); got != c.level || strings.Count(log.String(), "\n") != c.shown {
			t.Errorf("%s: level %s, log:\n%s", c.level, got, &log)
		}
		if meta.Image().Offset() != before {
			t.Errorf("%s was written to the metadata log", c.level)
		}
	}
}

// The codes were recorded from Apache Kafka 4.4.
func TestBadChangesOfLoggersChangeNothing(t *testing.T) {
	a, _, _ := newAdmin(t)
	type edits = []kmsg.IncrementalAlterConfigsRequestResourceConfig
	for _, c := range []struct {
		broker string
		code   int16
		edits  edits
	}{
		{"1", 40, edits{loggerEdit("root", 0, "debug")}},
		{"1", 40, edits{loggerEdit("root", 0, "OFF")}},
		{"1", 40, edits{loggerEdit("root", 0, "")}},
		{"1", 42, edits{loggerEdit("root", 0, "null")}},
		{"1", 42, edits{loggerEdit("root", 1, "null")}},
		{"1", 42, edits{loggerEdit("root", 1, "WARN")}},
		{"1", 42, edits{loggerEdit("root", 2, "WARN")}},
		{"1", 42, edits{loggerEdit("root", 3, "WARN")}},
		{"1", 42, edits{loggerEdit("root", 7, "WARN")}},
		{"1", 40, edits{loggerEdit("nope", 0, "WARN")}},
		{"1", 40, edits{loggerEdit("nope", 1, "null")}},
		{"1", 40, edits{loggerEdit("", 0, "WARN")}},
		{"1", 40, edits{loggerEdit("root", 0, "WARN"), loggerEdit("nope", 0, "WARN")}},
		{"1", 42, edits{loggerEdit("root", 0, "WARN"), loggerEdit("root", 0, "WARN")}},
		{"2", 42, edits{loggerEdit("root", 0, "WARN")}},
		{"", 42, edits{loggerEdit("root", 0, "WARN")}},
		{"x", 42, edits{loggerEdit("root", 0, "WARN")}},
		{"1", 0, nil},
	} {
		if code := alterLoggers(t, a, c.broker, false, c.edits...); code != c.code {
			t.Errorf("broker %q, %+v: code %d, want %d", c.broker, c.edits, code, c.code)
		}
	}
	if code := alterLoggers(t, a, "1", true, loggerEdit("root", 0, "WARN")); code != 0 {
		t.Errorf("validated only: code %d", code)
	}
	if got := levelOf(t, a, 4); got != "INFO" {
		t.Errorf("level %s after changes that were refused", got)
	}
}

func TestLoggersCannotBeReplacedAsAWhole(t *testing.T) {
	a, _, _ := newAdmin(t)
	level := "WARN"
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: "1",
		Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "root", Value: &level}}}}
	if resp := serve[*kmsg.AlterConfigsResponse](t, a, 2, req); resp.Resources[0].ErrorCode != 42 || levelOf(t, a, 4) != "INFO" {
		t.Errorf("AlterConfigs: %+v", resp.Resources[0])
	}
}

// One request may name topics and loggers; each resource stands for itself.
func TestLoggersBesideOtherResources(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "x", 1)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: "1", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{loggerEdit("root", 0, "WARN")}},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "x", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{loggerEdit("retention.ms", 0, "5")}},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "nope", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{loggerEdit("retention.ms", 0, "5")}},
	}
	resp := serve[*kmsg.IncrementalAlterConfigsResponse](t, a, 1, req)
	if resp.Resources[0].ErrorCode != 0 || resp.Resources[1].ErrorCode != 0 || resp.Resources[2].ErrorCode != 3 {
		t.Errorf("codes: %+v", resp.Resources)
	}
	if got := meta.Image().Config(2, "x")["retention.ms"]; got != "5" || levelOf(t, a, 4) != "WARN" {
		t.Errorf("retention.ms %q, level %s", got, levelOf(t, a, 4))
	}
}
