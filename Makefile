# krund's build. `make help` lists the targets.
#
# `make demo` and `make test` work in a fresh clone on a fresh machine: they call `make setup`,
# which installs missing packages if it is permitted to.

ifndef GO
GO := $(shell scripts/go.sh)
endif
ifneq ($(GO),go)
export PATH := $(PATH):$(dir $(GO))
endif
CC ?= cc
BUILD := $(CURDIR)/build
# As a person types it from here.
BIN := $(patsubst $(CURDIR)/%,%,$(BUILD))/bin
PREFIX ?= /usr/local
FUZZTIME ?= 20s
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.6.1

# The daemon is pure Go: it opens the counters with system calls, and libkrun reads them in the
# measured process.
DAEMON := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'

.DEFAULT_GOAL := build
.PHONY: help setup build demo ab vet test test-race test-c lint fuzz bench cross kill-test clean
help:
	@sed -n 's/^## //p' Makefile

## setup       install missing packages (as root, with apt or dnf), or name them
setup:
	@./setup.sh

## build       build krund, krunctl, krunhub, libkrun, runners and benchmarks in build/ and benchmarks/
build:
	@mkdir -p $(BUILD)/bin $(BUILD)/lib/krund $(BUILD)/libexec/krund
	$(call STEP,krund (the first time Go fetches modules))
	$(DAEMON) -o $(BUILD)/bin/krund ./cmd/krund
	$(call STEP,krunctl)
	$(DAEMON) -o $(BUILD)/bin/krunctl ./cmd/krunctl
	$(call STEP,krunhub (the first time this takes minutes))
	$(DAEMON) -o $(BUILD)/bin/krunhub ./cmd/krunhub
	$(call STEP,libkrun)
	@$(MAKE) --no-print-directory -C cgo build BUILD=$(BUILD) CC="$(CC)"
	$(call STEP,runners for the languages that are here)
	@$(MAKE) --no-print-directory -C runners install BUILD=$(BUILD) INTO=$(BUILD)/libexec/krund CC="$(CC)"
	$(call STEP,benchmarks)
	@$(MAKE) --no-print-directory -C benchmarks build OUT=$(BENCHMARKS) CC="$(CC)" GO="$(GO)"
	@cp -u $(BUILD)/lib/libkrun.so $(BUILD)/lib/krund/libkrun.so

# What `make build` is doing, for the demos, which write its output to a file.
STEP = $(if $(QUIET),@echo "  $1" >&3,)

## quiet-build  as build, with a line for each step; the output is in build/build.log
.PHONY: quiet-build
quiet-build: setup
	@mkdir -p $(BUILD)
	@echo "Building krund; the output is in $(patsubst $(CURDIR)/%,%,$(BUILD))/build.log"
	@$(MAKE) --no-print-directory build QUIET=yes 3>&1 > $(BUILD)/build.log 2>&1 || \
	  { cat $(BUILD)/build.log; exit 1; }

## demo        run a small real experiment without root or reboots; the results are in demo.krun/
demo: quiet-build
	@rm -rf demo.krun $(BUILD)/demo-report
	@scripts/demo.sh configs/demo.toml $(BUILD)/demo.toml PyPy LuaJIT Node HotSpot
	$(BIN)/krund run --directory demo.krun $(BUILD)/demo.toml
	$(BIN)/krunctl analyze demo.krun
	$(BIN)/krunctl report demo.krun -o $(BUILD)/demo-report
	@echo
	@echo "The results are in demo.krun/. Next, from here:"
	@echo "  $(BIN)/krunctl status demo.krun"
	@echo "  $(BIN)/krunctl show --series demo.krun 0  # the iterations of the first process execution"
	@echo "  make ab                              # compare two builds of a program"
	@echo "The report, for a browser: file://$(BUILD)/demo-report/index.html"
	@echo
	$(BIN)/krunctl compare --by vm --base C demo.krun

## ab          compare two builds of a benchmark without root or reboots, in a minute; see configs/ab.toml
ab: quiet-build
	@rm -rf ab.krun
	$(BIN)/krund run --directory ab.krun configs/ab.toml
	$(BIN)/krunctl compare --fail-on never ab.krun

## events      what the VMs here do while two programs warm up, in eight minutes; build/events-report/
.PHONY: events
events: quiet-build
	@rm -rf events.krun $(BUILD)/events-report
	@scripts/present.sh configs/events.toml $(BUILD)/events.toml
	$(BIN)/krund run --directory events.krun $(BUILD)/events.toml
	$(BIN)/krunctl explain events.krun
	$(BIN)/krunctl report events.krun -o $(BUILD)/events-report
	@echo "The report, for a browser: file://$(BUILD)/events-report/index.html"

## hub-demo    a hub, three machines, twelve simulated nights, an A/B experiment; HUB_DEMO_STAY=1 keeps it
.PHONY: hub-demo hub-screens
hub-demo: quiet-build
	@sed 's/^executions = 20 .*/executions = 12/; s/^iterations = 200/iterations = 100/' configs/ab.toml \
	  > $(BUILD)/hub-demo.toml
	@$(DAEMON) -o $(BUILD)/hubdemo ./scripts/hubdemo
	@$(BUILD)/hubdemo $(BUILD)/bin $(BUILD)/hub-demo.toml

## hub-screens take the pictures of the hub's pages in docs/img with Chromium, and check the pages
hub-screens:
	$(GO) test -count=1 ./scripts/hubdemo -run Nights -args -screens $(CURDIR)/docs/img

## instrument-cost  measure what instrumenting costs on this machine; VMS="Node Ruby": of C, CPython and these
.PHONY: instrument-cost
instrument-cost: quiet-build
	@rm -rf instrument.krun
	@scripts/demo.sh configs/instrument.toml $(BUILD)/instrument.toml $(VMS)
	$(BIN)/krund run --directory instrument.krun $(BUILD)/instrument.toml
	$(BIN)/krunctl compare --fail-on never --arms plain,columns instrument.krun
	$(BIN)/krunctl compare --fail-on never --arms plain,events instrument.krun

## test        run all tests, and those of the C library with sanitizers
# Without paths in them (-trimpath) the compiled packages of one clone serve another, and without
# cgo those of `make build` serve the tests; only those of the binding need it. Three packages run
# at a time on two processors, because some tests wait.
TEST := scripts/inmemory.sh $(GO) test -timeout 25m -trimpath -vet=off -ldflags='-s -w'
test: setup build test-c
	CGO_ENABLED=0 $(TEST) -p 3 $$($(GO) list ./... | grep -v -e '/cgo$$' -e '/go$$')
	CGO_ENABLED=1 CC="$(CC)" $(TEST) ./cgo

## test-race   run the tests of packages that start goroutines or lock with the race detector
# It slows tests down five times: with -short those that repeat one thing very often are left out.
# The tests of cmd/ start programs, which are built without it.
CONCURRENT := $(sort $(dir $(shell git grep -lE \
	'^[[:space:]]*go [a-z]|errgroup|parallel\.Each|sync\.(Mutex|RWMutex|Map|WaitGroup)|"sync/atomic' \
	-- 'internal/*.go' ':!*_test.go')))
test-race: setup build
	$(TEST) -p 3 -race -short $(addprefix ./,$(CONCURRENT))

test-c:
	@$(MAKE) --no-print-directory -C cgo test BUILD=$(BUILD)

## vet         go vet, with the options of the builds, so that compiled packages serve both
vet:
	CGO_ENABLED=0 $(GO) vet -trimpath $$($(GO) list ./... | grep -v -e '/cgo$$' -e '/go$$')
	CGO_ENABLED=1 CC="$(CC)" $(GO) vet -trimpath ./cgo ./runners/go

## lint        check formatting, the width of lines, tracked files, linters, rooms and import rules
lint: vet
	@files=$$(gofmt -l $$(git ls-files '*.go')); \
	test -z "$$files" || { echo "run gofmt -w on these:"; echo "$$files"; exit 1; }
	perl scripts/lines.pl $$(git ls-files '*.go' '*.c' '*.h' '*.md' '*.js' '*.css' '*.html' '*.sh' \
	  '*.mk' '*Makefile' | grep -v -e testdata/ -e machines/build.sh -e '\.min\.')
	git ls-files -z | perl scripts/tracked.pl
	@mkdir -p $(BUILD)/lint
	$(GO) build -o $(BUILD)/lint/krunctl ./cmd/krunctl
	perl scripts/flags.pl 200 $(BUILD)/lint/krunctl
	$(GO) list -f '{{.ImportPath}} {{join .Imports " "}}' ./internal/... | $(GO) run ./scripts/rooms
	$(GO) run $(GOLANGCI) run ./...

## generate    the parts of configs/ and docs/ that are made of the descriptors of controls and probes
.PHONY: generate
generate:
	$(GO) test ./internal/experiment/config -run TestGenerated -update

## cross       vet and build for OpenBSD, without cgo
cross:
	GOOS=openbsd CGO_ENABLED=0 $(GO) vet -trimpath ./...
	@mkdir -p $(BUILD)/openbsd
	GOOS=openbsd CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/openbsd/ \
	  ./cmd/krund ./cmd/krunctl ./cmd/krunhub

## fuzz        run every fuzz test for FUZZTIME (20s); GOFLAGS=-parallel=1 limits it to one processor
fuzz:
	@for package in $$($(GO) list ./...); do \
	  for test in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    echo "$$package $$test"; \
	    $(GO) test -run '^$$' -fuzz "^$$test$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package || \
	      exit 1; \
	  done; done

## bench       benchmark measuring, the schedule, the results, the daemon and the analysis
bench: build
	@$(MAKE) --no-print-directory -C cgo bench BUILD=$(BUILD)
	$(GO) test -run '^$$' -bench . -benchmem ./...

## time-bench  krunctl time beside hyperfine: whole calls, overhead of a run, agreement of means
.PHONY: time-bench
time-bench: build
	@perl scripts/timebench.pl $(BUILD)/bin

## compare-bench  error rates and power of krunctl compare in simulations; with KRUND_FIXTURES also on JMH
.PHONY: compare-bench
compare-bench:
	$(GO) test -tags slow -count=1 -v -timeout 1h \
	  -run 'TestSimulations|TestJMH|TestDetectable|TestBound|TestDeciles|TestAdvice|TestMachinesAlike' \
	  ./internal/analysis/compare

## enough-bench  how often the promises of krunctl enough are kept; the first part needs KRUND_FIXTURES
.PHONY: enough-bench
enough-bench:
	$(GO) test -tags slow -count=1 -v -timeout 30m ./internal/analysis/enough

## explain-bench  how well krunctl explain names injected causes, and how often it explains shifted events
.PHONY: explain-bench
explain-bench:
	$(GO) test -tags slow -count=1 -v -timeout 30m \
	  -run 'TestInjections|TestNothingInjected|TestCommonBursts' ./internal/analysis/explain

## history-bench  false alerts and delay of krunctl history in simulations, beside otava and E-divisive
.PHONY: history-bench
history-bench:
	$(GO) test -tags slow -count=1 -v -timeout 1h \
	  -run 'TestFalse|TestDelay|TestMethods|TestTiger|TestRight|TestNights|TestInject|TestSand' \
	  ./internal/analysis/history ./internal/analysis/sequential

## stop-bench  false statements of [stop] in 100,000 simulated series; with KRUND_FIXTURES also what it saves
.PHONY: stop-bench
stop-bench:
	$(GO) test -tags slow -count=1 -v -timeout 1h \
	  -run 'TestFalse|TestMissed|TestJMH|TestOutOfSample|TestCombined' ./internal/analysis/sequential

## traini-bench  where the criteria of [stop.iterations] and krunctl analyze end warm-up; needs KRUND_FIXTURES
.PHONY: traini-bench
traini-bench:
	$(GO) test -tags slow -count=1 -v -timeout 30m ./internal/analysis/warmupend

## optimize-bench  all choices of krunctl optimize beside those of its authors' program; needs KRUND_FIXTURES
.PHONY: optimize-bench
optimize-bench:
	$(GO) test -tags slow -count=1 -v -timeout 30m ./internal/analysis/optimize

## vm-test     the runners, and the benchmarks, with every version of the VMs that is here
.PHONY: vm-test
vm-test: build
	$(GO) test -tags slow -count=1 -timeout 1h ./runners/... ./benchmarks/...

## suites      the warm-up study of published suites: SUITES=DIRECTORY where they are unpacked
SUITES ?= $(error SUITES is the directory with pyperformance, ruby-bench and are-we-fast-yet)
SUITES_OUT ?= $(BUILD)/suites
SUITES_EXECUTIONS ?= 2
SUITES_ITERATIONS ?= 10
.PHONY: suites
suites: build
	scripts/suites.sh $(SUITES) $(SUITES_OUT) $(SUITES_EXECUTIONS) $(SUITES_ITERATIONS)

## kill-test   cut krund off in every operation of an experiment, and kill it while its guard restores
kill-test:
	$(GO) test -tags slow -count=1 -run 'Cut|Kill|Crash|Guard' $$($(GO) list ./internal/... ./cmd/krund | \
	  grep -E '/(boot|control|directory|guard|integrity|schedule|krund)$$')

## hub-kill    kill the hub 100 times while five machines ship, one of two processes 50 times, and a
##             hub that measures 30 commits 50 times, and one that measures 40 events again 60 times
.PHONY: hub-kill
hub-kill:
	$(GO) test -count=1 -v -timeout 30m -run 'TestKill$$|TestTwoProcesses' ./cmd/krunhub \
	  -kills 100 -machines 5 -records 200
	$(GO) test -count=1 -v -timeout 30m -run 'TestCommits$$' ./cmd/krunhub -kills 50 -commits 30
	$(GO) test -count=1 -v -timeout 30m -run TestAgainKilled ./cmd/krunhub -kills 60 -events 20

## hub-load    what a hub accepts of MACHINES=50 x RECORDS=1000 of 40 KiB (LOAD=-load-postgres), and queries
MACHINES ?= 50
RECORDS ?= 1000
.PHONY: hub-load
hub-load:
	$(GO) test -count=1 -v -timeout 1h -run 'TestLoad|TestMillion' ./cmd/krunhub \
	  -load-machines $(MACHINES) -load-records $(RECORDS) $(LOAD)
	$(GO) test -count=1 -v -tags slow -run 'TestLarge$$' ./internal/hub/pages

## install     install in $(DESTDIR)$(PREFIX), units in $(DESTDIR)/usr/lib/systemd/system; see also uninstall
## release     build .tar.gz, .deb and .rpm in build/release/; see packaging/README.md
include packaging/packaging.mk

## fresh-test  test a clone and the package in fresh minimal Debian 12 systems (root, mmdebstrap, network)
.PHONY: fresh-test
fresh-test:
	scripts/fresh-test.sh $(BUILD)/fresh

## clean       remove build products
clean:
	rm -rf $(BUILD) demo.krun
	@$(MAKE) --no-print-directory -C benchmarks clean

## rig         machines in QEMU: rig-image, rig-smoke, rig, attack, rig-powercut, rig-stop, rig-trixie
RIG_NEEDS := build
include rig/rig.mk
