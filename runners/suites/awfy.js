/*
 * Hook of krund for are-we-fast-yet in JavaScript: an iteration is one call of measure in the
 * suite's run.js, which checks the result.
 */
"use strict";

{
  const benchmark = require(process.env.KRUN_SUITE_FILE).newInstance();
  const inner = Number(process.argv[3]);

  krunSuite((krun) => {
    while (krun.again()) {
      krun.begin();
      const start = process.hrtime();
      if (!benchmark.innerBenchmarkLoop(inner))
        throw Error("Benchmark failed with incorrect result");
      const diff = process.hrtime(start);
      krun.end(diff[0] + diff[1] / 1e9);
    }
  });
}
