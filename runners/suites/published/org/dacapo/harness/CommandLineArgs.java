package org.dacapo.harness;

/** As published, as far as the hook of krund needs it: for the compiler, not installed. */
public class CommandLineArgs {
}
