package org.openjdk.jmh.infra;

/** As published, as far as the hook of krund needs it: for the compiler, not installed. */
public class IterationParams {
}
