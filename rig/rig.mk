# Targets of the rig, included by the Makefile at the top. Where no image can be made or booted they say why and succeed, unless
# KRUND_RIG_REQUIRED=1. README.md beside this file lists all settings.
#
#   make rig-image        build the disk image, or find the cached one
#   make rig-smoke        the short selection: every suite with -short
#   make rig              every suite in full
#   make rig-powercut     only the power cuts; N=100 says how many. Its log: build/rig/campaign.md
#   make rig-clean        remove all cached images
#
# What the suites install in the guest is built first, by the targets in RIG_NEEDS.

RIG_NEEDS ?= build
N ?= 100

.PHONY: rig rig-image rig-smoke rig-powercut rig-clean

rig-image:
	rig/run.sh -image

rig-smoke: $(RIG_NEEDS)
	rig/run.sh -short -timeout 30m ./rig/...

rig: $(RIG_NEEDS)
	rig/run.sh -timeout 4h ./rig/...

rig-powercut: $(RIG_NEEDS)
	KRUND_RIG_CUTS=$(N) rig/run.sh -v -timeout 24h -run PowerCut ./rig/lifecycle

rig-clean:
	rm -rf "$$(dirname "$$(rig/build-image.sh -k)")"
