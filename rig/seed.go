package rig

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed returns the seed of all random choices of this campaign: KRUND_RIG_SEED, or 1.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv(envSeed)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		tb.Fatalf("%s=%s: not a number from 0 on", envSeed, text)
	}
	return seed
}

// Rand returns the test's own source of random numbers. It depends only on the seed and the test's
// name, so a test makes the same choices alone and in a campaign.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := Seed(tb)
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name())) // never fails
	tb.Logf("seed %d; again: %s=%d", seed, envSeed, seed)
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// Cuts returns the number of power cuts of a campaign: KRUND_RIG_CUTS, or normally.
func Cuts(tb testing.TB, normally int) int {
	tb.Helper()
	text := os.Getenv(envCuts)
	if text == "" {
		return normally
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s=%s: not a number from 1 on", envCuts, text)
	}
	return n
}
