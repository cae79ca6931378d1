//go:build ignore

/*
 * awfy.cpp - hook of krund for are-we-fast-yet in C++: an iteration is one call of measure in the
 * suite's run.h, which checks the result. It is compiled in the place of the suite's harness.cpp to
 * benchmarks/C++/krun.so (docs/suites.md).
 */
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "run.h"

#include "krun.h"

/* made returns the benchmark of that name, as the suite's class Run makes it. */
static Benchmark *made(const std::string &name)
{
#define KNOWN(class) if (name == #class) return new class()
	KNOWN(Bounce);
	KNOWN(CD);
	KNOWN(DeltaBlue);
	KNOWN(Havlak);
	KNOWN(Json);
	KNOWN(List);
	KNOWN(Mandelbrot);
	KNOWN(NBody);
	KNOWN(Permute);
	KNOWN(Queens);
	KNOWN(Richards);
	KNOWN(Sieve);
	KNOWN(Storage);
	KNOWN(Towers);
	std::cerr << "runner: " << name << " is not in this build of the suite\n";
	std::exit(66);
}

extern "C" int krun_suite(krun *k, int inner)
{
	std::unique_ptr<Benchmark> benchmark(made(std::getenv("KRUN_SUITE_BENCHMARK")));
	int column = krun_column(k, "suite_time", "ns");

	while (!krun_should_stop(k)) {
		(void)krun_begin(k); /* krun_end reports its error too */
		auto start = std::chrono::high_resolution_clock::now();
		bool correct = benchmark->inner_benchmark_loop(inner);
		auto time = std::chrono::high_resolution_clock::now() - start;

		if (krun_end(k))
			return 76;
		(void)krun_set(k, column, std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
		if (!correct) {
			std::cerr << "runner: Benchmark failed with incorrect result\n";
			return 70;
		}
	}
	return 0;
}
