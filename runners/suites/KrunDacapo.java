import java.io.File;
import java.nio.file.Files;

/** Hook of krund for DaCapo: its harness gets KrunDacapoCallback as the callback. */
public final class KrunDacapo implements KrunSuite {
    @Override
    public void run(int unused) throws Exception {
        File scratch = Files.createTempDirectory("dacapo").toFile();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(scratch)));
        KrunSuite.program("Harness", "--scratch-directory", scratch.getPath(), "-c", "KrunDacapoCallback",
            System.getenv("KRUN_SUITE_BENCHMARK"));
    }

    /** Removes a directory with its files; a link is removed, not followed. */
    private static void remove(File file) {
        File[] inside = Files.isSymbolicLink(file.toPath()) ? null : file.listFiles();
        for (int i = 0; inside != null && i < inside.length; i++) {
            remove(inside[i]);
        }
        file.delete();
    }
}
