import java.io.File;
import org.renaissance.Plugin;

/**
 * Hook of krund for Renaissance: a plugin, which its harness calls before and after each measured
 * operation, and which decides how many there are. The suite validates each result.
 */
public final class KrunRenaissance implements KrunSuite, Plugin.AfterOperationSetUpListener,
    Plugin.BeforeOperationTearDownListener, Plugin.ExecutionPolicy {
    @Override
    public void run(int unused) throws Exception {
        File here = new File(KrunRenaissance.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        KrunSuite.program("org.renaissance.core.Launcher", "--scratch-base", System.getProperty("java.io.tmpdir"),
            "--policy", here + "!KrunRenaissance", System.getenv("KRUN_SUITE_BENCHMARK"));
    }

    @Override
    public boolean canExecute(String benchmark, int operation) {
        return KrunRunner.again();
    }

    @Override
    public boolean isLast(String benchmark, int operation) {
        return operation + 1 == KrunRunner.planned();
    }

    @Override
    public void afterOperationSetUp(String benchmark, int operation, boolean last) {
        KrunRunner.beginIteration();
    }

    @Override
    public void beforeOperationTearDown(String benchmark, int operation, long nanoseconds) {
        KrunRunner.endIteration(nanoseconds);
    }
}
