/*
 * fasta - write DNA sequences as lines of text: one by repeating a given piece,
 * two by choosing letters with a weighted random number.
 *
 * parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
 * checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
 *            the line's character codes, modulo 2 to the 32
 *
 * Based on the description in the Computer Language Benchmarks Game. Nothing is
 * printed, and each iteration starts from the same random seed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 60, MOST = 10000000 };

struct weighted {
	char letter;
	double share, below; /* below: the shares up to this one, summed by sum_shares */
};

static const char alu[] =
	"GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG"
	"GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA"
	"CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT"
	"ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA"
	"GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG"
	"AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC"
	"AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA";

static const struct weighted iub[] = {
	{ 'a', 0.27, 0 }, { 'c', 0.12, 0 }, { 'g', 0.12, 0 }, { 't', 0.27, 0 }, { 'B', 0.02, 0 },
	{ 'D', 0.02, 0 }, { 'H', 0.02, 0 }, { 'K', 0.02, 0 }, { 'M', 0.02, 0 }, { 'N', 0.02, 0 },
	{ 'R', 0.02, 0 }, { 'S', 0.02, 0 }, { 'V', 0.02, 0 }, { 'W', 0.02, 0 }, { 'Y', 0.02, 0 },
};

static const struct weighted homo_sapiens[] = {
	{ 'a', 0.3029549426680, 0 }, { 'c', 0.1979883004921, 0 },
	{ 'g', 0.1975473066391, 0 }, { 't', 0.3015094502008, 0 },
};

/* The state of one iteration. */
struct writer {
	uint32_t sum;
	int seed;
};

/* write_line replaces printing. */
static void write_line(struct writer *w, const char *line, int length)
{
	uint32_t codes = 0;

	for (int i = 0; i < length; i++)
		codes += (unsigned char)line[i];
	w->sum = w->sum * 31 + codes;
}

static void write_text(struct writer *w, const char *line)
{
	write_line(w, line, (int)strlen(line));
}

static void repeat(struct writer *w, const char *piece, int letters)
{
	int size = (int)strlen(piece), at = 0;
	char line[LINE];

	while (letters > 0) {
		int length = letters < LINE ? letters : LINE;

		for (int i = 0; i < length; i++) {
			line[i] = piece[at];
			at = at + 1 == size ? 0 : at + 1;
		}
		write_line(w, line, length);
		letters -= length;
	}
}

/* random_share is in [0, 1), by a linear congruential generator that is the same everywhere. */
static double random_share(struct writer *w)
{
	w->seed = (w->seed * 3877 + 29573) % 139968;
	return w->seed / 139968.0;
}

/* choose returns the first letter whose cumulative share exceeds a random number. */
static char choose(struct writer *w, const struct weighted *table, int size)
{
	double r = random_share(w);
	int i = 0;

	while (i < size - 1 && r >= table[i].below)
		i++;
	return table[i].letter;
}

static void random_letters(struct writer *w, const struct weighted *shares, int size, int letters)
{
	struct weighted table[sizeof iub / sizeof iub[0]];
	char line[LINE];
	double below = 0;

	for (int i = 0; i < size; i++) {
		below += shares[i].share;
		table[i] = shares[i];
		table[i].below = below;
	}
	while (letters > 0) {
		int length = letters < LINE ? letters : LINE;

		for (int i = 0; i < length; i++)
			line[i] = choose(w, table, size);
		write_line(w, line, length);
		letters -= length;
	}
}

double checksum(int n)
{
	struct writer w = { 0, 42 };

	if (n < 0 || n > MOST) {
		printf("fasta: parameter %d is not within 0 to %d\n", n, MOST);
		exit(1);
	}
	write_text(&w, ">ONE Homo sapiens alu");
	repeat(&w, alu, 2 * n);
	write_text(&w, ">TWO IUB ambiguity codes");
	random_letters(&w, iub, sizeof iub / sizeof iub[0], 3 * n);
	write_text(&w, ">THREE Homo sapiens frequency");
	random_letters(&w, homo_sapiens, sizeof homo_sapiens / sizeof homo_sapiens[0], 5 * n);
	return w.sum;
}

/* Known checksums; README.md lists their origin. */
static const struct { int n; double sum; } known[] = {
	{ 1000, 3225012143 },
	{ 30000, 4059268609 },
	{ 100000, 3438851865 },
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
	printf("fasta: parameter %d: checksum %.17g, expected %.17g\n", n, got, want);
	exit(1);
}
