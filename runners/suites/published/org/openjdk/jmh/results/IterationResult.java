package org.openjdk.jmh.results;

/** As published, as far as the hook of krund needs it: for the compiler, not installed. */
public abstract class IterationResult {
    public abstract Result<?> getPrimaryResult();
}
