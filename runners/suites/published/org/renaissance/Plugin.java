package org.renaissance;

/** As published, as far as the hook of krund needs it: for the compiler, not installed. */
public interface Plugin {
    interface AfterOperationSetUpListener extends Plugin {
        void afterOperationSetUp(String benchmark, int operation, boolean last);
    }

    interface BeforeOperationTearDownListener extends Plugin {
        void beforeOperationTearDown(String benchmark, int operation, long nanoseconds);
    }

    interface ExecutionPolicy extends Plugin {
        boolean canExecute(String benchmark, int operation);

        boolean isLast(String benchmark, int operation);
    }
}
