import org.dacapo.harness.Callback;
import org.dacapo.harness.CommandLineArgs;

/**
 * What DaCapo's harness calls before and after each iteration, and what decides how many there are.
 * The harness validates each iteration; its times are in milliseconds.
 */
public final class KrunDacapoCallback extends Callback {
    public KrunDacapoCallback(CommandLineArgs args) {
        super(args);
    }

    @Override
    public boolean runAgain() {
        return KrunRunner.again();
    }

    @Override
    public void start(String benchmark) {
        super.start(benchmark);
        KrunRunner.beginIteration();
    }

    @Override
    public void stop(long milliseconds) {
        KrunRunner.endIteration(milliseconds * 1_000_000);
        super.stop(milliseconds);
    }
}
