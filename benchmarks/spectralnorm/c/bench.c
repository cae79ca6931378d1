/*
 * spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
 * truncated to n by n, by the power method with ten rounds.
 *
 * parameter  n, 1 to 10000
 * checksum   the norm
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 10000 };

/* element returns the element in row i and column j: 1 / its index along the diagonals. */
static double element(int i, int j)
{
	return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

/* times computes out = A in. */
static void times(const double *in, double *out, int n)
{
	for (int i = 0; i < n; i++) {
		double sum = 0;

		for (int j = 0; j < n; j++)
			sum += element(i, j) * in[j];
		out[i] = sum;
	}
}

/* transposed computes out = A' in. */
static void transposed(const double *in, double *out, int n)
{
	for (int i = 0; i < n; i++) {
		double sum = 0;

		for (int j = 0; j < n; j++)
			sum += element(j, i) * in[j];
		out[i] = sum;
	}
}

static double norm(double *u, double *v, double *w, int n)
{
	double uv = 0, vv = 0;

	for (int i = 0; i < n; i++)
		u[i] = 1;
	for (int round = 0; round < 10; round++) {
		times(u, w, n);
		transposed(w, v, n);
		times(v, w, n);
		transposed(w, u, n);
	}
	for (int i = 0; i < n; i++) {
		uv += u[i] * v[i];
		vv += v[i] * v[i];
	}
	return sqrt(uv / vv);
}

double checksum(int n)
{
	double *vectors, result;

	if (n < 1 || n > MOST) {
		printf("spectralnorm: parameter %d is not within 1 to %d\n", n, MOST);
		exit(1);
	}
	vectors = malloc(3 * (size_t)n * sizeof *vectors);
	if (!vectors) {
		printf("spectralnorm: out of memory\n");
		exit(1);
	}
	result = norm(vectors, vectors + n, vectors + 2 * n, n);
	free(vectors);
	return result;
}

/* Known checksums; README.md lists their origin. */
static const struct { int n; double sum; } known[] = {
	{ 100, 1.2742199912349306 },
	{ 500, 1.2742241159529055 },
};

/* expected returns the checksum for n: the known one, else that of the first iteration. */
static double expected(int n, double got)
{
	static int have, first_n;
	static double first;

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].n == n)
			return known[i].sum;
	if (!have || first_n != n) {
		have = 1;
		first_n = n;
		first = got;
	}
	return first;
}

void run_iter(int n)
{
	double got = checksum(n), want = expected(n, got);

	if (got == want)
		return;
	printf("spectralnorm: parameter %d: checksum %.17g, expected %.17g\n", n, got, want);
	exit(1);
}
