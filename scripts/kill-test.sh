#!/bin/bash
# Kills krund, its guard, the stage and the benchmark with SIGKILL at random moments of an
# experiment, and checks that nothing is lost and nothing counted twice. See scripts/killtest.
#
#   scripts/kill-test.sh [KILLS [SEED]]
#
# There are 50 kills by default; the seed makes the choices repeatable.
cd "$(dirname "$0")/.." && exec "${GO:-go}" run ./scripts/killtest "$@"
