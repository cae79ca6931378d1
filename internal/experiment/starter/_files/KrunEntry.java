// Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
// iteration and timed; its argument is the parameter in the configuration.
class KrunEntry implements BaseKrunEntry {
    static long fib(int k) {
        return k < 2 ? k : fib(k - 1) + fib(k - 2);
    }

    @Override
    public void run_iter(int n) {
        long result = fib(n);
        if (result < n - 1) { // a wrong result is no measurement
            throw new IllegalStateException("fib(" + n + ") = " + result);
        }
    }
}
