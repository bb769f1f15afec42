# Everything a developer runs. A machine with Go and make needs nothing else
# for build, run and test.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
GOOS := $(shell $(GO) env GOOS)

# io_uring exists on Linux only. Its library reaches into the runtime by
# go:linkname, which the linker refuses unless told otherwise.
ifeq ($(GOOS),linux)
TAGS := -tags giouring
LINK := -checklinkname=0
endif
TEST_LD := $(if $(LINK),-ldflags "$(LINK)")

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# How long make fuzz gives each target.
FUZZTIME ?= 60s

.PHONY: build
build: ## bin/ringmain, static, io_uring included on Linux
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false $(TAGS) -ldflags "$(LINK) -X main.version=$(VERSION) -X main.commit=$(COMMIT)" -o bin/ringmain ./cmd/ringmain

.PHONY: run
run: build ## one broker on 127.0.0.1:9092, data in ./ringmain-data
	exec bin/ringmain serve --data-dir ./ringmain-data --listen 127.0.0.1:9092 --http 127.0.0.1:9080

# The packages that have files for either case; they are tested in both.
TAGGED := ./internal/uring/... ./segment/...

# It fuzzes by counts: a run whose time is over while an input is tried fails with
# "context deadline exceeded".
.PHONY: test
test: ## all tests that need nothing but Go
	$(GO) test $(TAGS) $(TEST_LD) ./...
ifneq ($(TAGS),)
	$(GO) test $(TAGGED)
	RINGMAIN_TEST_IO=uring $(GO) test $(TAGS) $(TEST_LD) ./segment/... ./partition/...
endif
	@$(MAKE) --no-print-directory fuzz FUZZTIME=50000x FUZZ='^Fuzz(Decode|Validate)$$'
	@$(MAKE) --no-print-directory fuzz FUZZTIME=3000x FUZZ='^FuzzRecovery$$'

.PHONY: test-clients
test-clients: build ## real clients and their own tests (installs them)
	test/clients/run

.PHONY: conformance
conformance: ## only the comparison with Kafka's recorded answers, and bad input
	$(GO) test $(TAGS) $(TEST_LD) -count=1 ./test/conformance ./test/badinput

.PHONY: race
race: ## the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race $(TAGS) $(TEST_LD) ./...

KILLS ?= 100

.PHONY: crash
crash: ## a broker under mixed load, killed and started again KILLS times
	$(GO) test $(TAGS) $(TEST_LD) -count=1 -v -timeout 4h ./test/crash -rounds $(KILLS)

# Which targets make fuzz runs.
FUZZ ?= ^Fuzz

.PHONY: histories
histories: ## ten thousand random histories of logs and journals, with kills and power cuts
	RINGMAIN_HISTORIES=10000 $(GO) test $(TAGS) $(TEST_LD) -count=1 -timeout 3h -run 'TestRandomOperations$$|TestJournalSurvivesPowerCuts' ./segment

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@$(GO) test $(TAGS) $(TEST_LD) -list '$(FUZZ)' ./... | awk '/^Fuzz/ {names[++n]=$$1} /^ok/ {for (i=1; i<=n; i++) print $$2, names[i]; n=0}' \
	| while read -r package target; do \
		echo "fuzz $$package $$target"; \
		$(GO) test $(TAGS) $(TEST_LD) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x "$$package" </dev/null; \
	done

# The packages that have benchmarks, and which of them make bench runs.
BENCHED = $(shell grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u)
BENCH ?= .

.PHONY: bench
bench: ## Go's micro-benchmarks, with allocations (loads on a broker: ringmain bench)
	$(GO) test $(TAGS) $(TEST_LD) -run '^$$' -bench '$(BENCH)' -benchmem $(BENCHED)

.PHONY: perf
perf: ## the table of the hot path, beside Kafka (or the commit before): ROWS="P5 P7" ROUNDS=1
	@perf/run

.PHONY: lint
lint: ## gofmt, vet and staticcheck with and without io_uring, import layers
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
ifneq ($(TAGS),)
	$(GO) vet $(TAGS) ./...
	$(GO) run $(STATICCHECK) $(TAGS) ./...
endif
	$(GO) test -count=1 ./test/layers

.PHONY: clean
clean: ## what make built; data stays
	rm -rf bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
