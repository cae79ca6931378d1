# Targets of the rig, included by the top-level Makefile. If no image can be built or booted, they
# print the reason and succeed, unless KRUND_RIG_REQUIRED=1. README.md lists all settings.
#
#   make rig-image        build the disk image, or find the cached one
#   make rig-smoke        the short selection: every suite with -short
#   make rig              every suite in full, with the packages of make release
#   make attack           only the attacks of local users and benchmarks, as root in a machine
#   make rig-powercut     only the power cuts; N=100 is their number. The log: build/rig/campaign.md
#   make rig-stop         only the power cuts in experiments with [stop]; N=40 is their number
#   make rig-trixie       the experiments over reboots on Debian 13, which has soft reboots
#   make rig-hub          five machines ship to a hub that is killed; N=100 is how often at most
#   make rig-log          copy the log of the last campaign to docs/reliability.md
#   make rig-clean        remove all cached images
#
# The targets in RIG_NEEDS first build what the suites install in the guest.

RIG_NEEDS ?= build
N ?= 100

.PHONY: rig rig-image rig-smoke attack rig-powercut rig-stop rig-hub rig-trixie rig-log rig-clean

rig-image:
	rig/run.sh -image

# Two machines at a time. The first suites are the ones that a slow host should run before its time
# is over.
rig-smoke: $(RIG_NEEDS)
	KRUND_RIG_TIME=$${KRUND_RIG_TIME:-480} rig/run.sh -short -p 2 \
	  ./rig/lifecycle ./rig/controls ./rig/selftest ./rig/... ./internal/msr

rig: $(RIG_NEEDS) release
	rig/run.sh -timeout 4h ./rig/... ./internal/msr

attack: $(RIG_NEEDS)
	rig/run.sh -p 2 -timeout 1h ./rig/attack

rig-powercut: $(RIG_NEEDS)
	KRUND_RIG_CUTS=$(N) rig/run.sh -v -timeout 24h -run PowerCut ./rig/lifecycle

rig-stop: $(RIG_NEEDS)
	KRUND_RIG_CUTS=$(N) rig/run.sh -v -timeout 24h -run TestStopWithCuts ./rig/lifecycle

# The module with MSRs needs the compiler of Debian 12's kernel.
rig-trixie: $(RIG_NEEDS)
	KRUND_RIG_SUITE=trixie KRUND_RIG_MSR=0 rig/run.sh -v -timeout 1h -run TestExperiment ./rig/lifecycle

rig-hub: $(RIG_NEEDS)
	KRUND_RIG_KILLS=$(N) rig/run.sh -v -parallel 5 -timeout 2h ./rig/hub

rig-log:
	@test -s build/rig/campaign.md || { echo "no campaign: run make rig-powercut first"; exit 1; }
	sed -i -e '/^<!-- campaign/,/^<!-- end of campaign/{//!d}' \
	  -e '/^<!-- campaign/r build/rig/campaign.md' docs/reliability.md

rig-clean:
	rm -rf "$$(dirname "$$(rig/build-image.sh -k)")"
