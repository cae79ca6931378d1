package org.openjdk.jmh.profile;

/** As published, as far as the hook of krund needs it: for the compiler, not installed. */
public interface Profiler {
    String getDescription();
}
