import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.MathContext;

/** Checksum CLASS N... - what testdata/checksum.c does, for a class of the class path. */
final class Checksum {
    private Checksum() {
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        Class<?> benchmark = Class.forName(args[0]);
        Method checksum = benchmark.getDeclaredMethod("checksum", int.class);
        Constructor<?> make = benchmark.getDeclaredConstructor();
        for (int i = 1; i < args.length; i++) {
            int n = Integer.parseInt(args[i]);
            BigDecimal sum = new BigDecimal((double) checksum.invoke(null, n));
            System.out.println(sum.round(new MathContext(17)).stripTrailingZeros().toPlainString());
            BaseKrunEntry entry = (BaseKrunEntry) make.newInstance();
            entry.run_iter(n);
            entry.run_iter(n);
        }
    }
}
