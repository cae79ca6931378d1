/* Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
 * iteration and timed; its argument is the parameter in the configuration. */
#include <stdio.h>
#include <stdlib.h>

static volatile int n; /* so that the compiler cannot compute the result in advance */

static long fib(int k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); }

void run_iter(int parameter)
{
	n = parameter;
	long result = fib(n);
	if (result < n - 1) { /* a wrong result is no measurement */
		printf("fib(%d) = %ld\n", n, result);
		exit(1);
	}
}
