/*
 * Hook of krund for Octane: an iteration is one run of a benchmark, with the clock of the suite's
 * function Measure around it. Setup comes before the first one, and TearDown, which checks, after
 * the last one, as in the suite's RunStep. A benchmark may need what those before it in its suite
 * have made (Decrypt), so these run once before it.
 */
"use strict";

{
  const path = require("path");
  const [name, ...files] = process.env.KRUN_SUITE_OPTIONS.split("\n");
  const inner = Number(process.argv[3]);

  for (const file of files)
    load(path.join(process.env.KRUN_SUITE, file));
  const list = BenchmarkSuite.suites.map((suite) => suite.benchmarks)
      .find((all) => all.some((one) => one.name === name));
  if (!list)
    throw Error(`${name} is not in ${files.join(", ")}`);
  const at = list.findIndex((one) => one.name === name);
  const found = list[at];

  krunSuite((krun) => {
    BenchmarkSuite.ResetRNG();
    for (const one of list.slice(0, at)) {
      one.Setup();
      one.run();
      one.TearDown();
    }
    found.Setup();
    while (krun.again()) {
      krun.begin();
      const start = performance.now();
      for (let i = 0; i < inner; i++)
        found.run();
      krun.end((performance.now() - start) / 1e3);
    }
    found.TearDown();
  });
}
