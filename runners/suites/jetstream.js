/*
 * Hook of krund for JetStream 3: it runs the suite's cli.js as V8's shell d8 would, with code
 * before and after each iteration, for which the suite has options. An iteration is one
 * runIteration; the suite's time of it is between its two readings of performance.now. The suite
 * validates at the end.
 */
"use strict";

{
  const fs = require("fs");
  const vm = require("vm");
  const realms = [];
  let krun, first, last;

  const read = (file, kind) => fs.readFileSync(file, kind === "binary" ? undefined : "utf8");
  const shell = {
    print, quit, read, console, setTimeout,
    performance: {
      now() {
        last = performance.now();
        first = first === undefined ? last : first;
        return last;
      },
    },
    krunBegin() {
      if (!krun.again())
        throw krun;
      first = undefined;
      krun.begin();
    },
    krunEnd() {
      krun.end((last - first) / 1e3);
    },
  };

  globalThis.Realm = {
    createAllowCrossRealmAccess: () => realms.push(vm.createContext(Object.assign({}, shell))) - 1,
    global: (realm) => vm.runInContext("globalThis", realms[realm]),
    eval: (realm, text) => vm.runInContext(text, realms[realm]),
    dispose(realm) { realms[realm] = undefined; },
  };
  globalThis.read = read;

  krunSuite((calls) => {
    krun = calls;
    process.chdir(process.env.KRUN_SUITE);
    globalThis.arguments = [
      `--iteration-count=${krun.planned}`, "--worst-case-count=1",
      "--custom-pre-iteration-code=krunBegin();", "--custom-post-iteration-code=krunEnd();",
      process.env.KRUN_SUITE_BENCHMARK,
    ];
    runFile("cli.js");
    return new Promise((resolve, reject) => {
      const start = JetStream.start; // cli.js calls it when it has read the files
      JetStream.start = () => start.call(JetStream).then(resolve,
          (error) => error === krun ? resolve() : reject(error)); // krund ended it early
    });
  });

  const runFile = (file) =>
    new vm.Script(fs.readFileSync(file, "utf8"), { filename: file }).runInThisContext();
}
