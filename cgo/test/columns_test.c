/* columns_test.c - user columns. */
#include "check.h"

static void iterate(krun *k)
{
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
}

static void values(void)
{
	struct maker m;
	krun *k = attach(&m, 4, 3);
	int gc = krun_column(k, "gc_time", "ns");
	int jit, i;

	CHECK_INT(gc, 0);
	CHECK_INT(krun_set(k, gc, 7), KRUN_EORDER); /* there is no iteration yet */
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_set(k, gc, 10), KRUN_OK); /* inside the first */
	CHECK_INT(krun_column(k, "jit", "ns"), KRUN_EORDER);
	CHECK_INT(krun_end(k), KRUN_OK);
	iterate(k);
	CHECK_INT(krun_set(k, gc, INT64_MAX), KRUN_OK); /* after the second */
	jit = krun_column(k, "jit", "ns");
	CHECK_INT(jit, 1);
	CHECK_INT(krun_set(k, jit, -1), KRUN_OK);
	iterate(k);
	CHECK_INT(krun_set(k, jit, 5), KRUN_OK);
	CHECK_INT(krun_set(k, jit, KRUN_MISSING), KRUN_OK); /* unset again */
	CHECK_INT(krun_value(k, gc, 0), 10);
	CHECK_INT(krun_value(k, gc, 1), INT64_MAX);
	CHECK_INT(krun_value(k, gc, 2), KRUN_MISSING);
	CHECK_INT(krun_value(k, gc, 3), KRUN_MISSING);
	CHECK_INT(krun_value(k, jit, 0), KRUN_MISSING);
	CHECK_INT(krun_value(k, jit, 1), -1);
	CHECK_INT(krun_value(k, jit, 2), KRUN_MISSING);
	CHECK_INT(krun_value(k, 2, 0), KRUN_MISSING);
	CHECK_INT(krun_value(k, -1, 0), KRUN_MISSING);
	for (i = -1; i <= 2; i += 3)
		CHECK_INT(krun_set(k, i, 0), KRUN_EINVAL);
	CHECK_INT(m.header->progress.error, KRUN_OK); /* the measurement is sound */
	CHECK_INT(((int64_t *)((char *)m.header + m.entries[0].offset))[1], INT64_MAX);
	CHECK_INT(((int64_t *)((char *)m.header + m.entries[1].offset))[1], -1);
	CHECK_INT(m.entries[1].kind, KRUN_COLUMN_USER);
	CHECK_INT(m.entries[2].kind, KRUN_COLUMN_FREE);
	CHECK(strcmp(m.entries[1].name, "jit") == 0 && strcmp(m.entries[1].unit, "ns") == 0);
	krun_free(k);
	maker_close(&m);
}

static void names(void)
{
	static const char *const bad[] = { "", "a b", "a:b", "a/b", "\xc3\xa4", "a\n",
		"123456789012345678901234567890123456789012345678" };
	const char *longest = "12345678901234567890123456789012345678901234567";
	struct maker m;
	krun *k = attach(&m, 1, 3);
	size_t i;

	for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
		CHECK_INT(krun_column(k, bad[i], ""), KRUN_EINVAL);
	CHECK_INT(krun_column(k, "a", "a b"), KRUN_EINVAL);
	CHECK_INT(krun_column(k, "a", "123456789012345678901234"), KRUN_EINVAL);
	CHECK_INT(krun_column(k, NULL, ""), KRUN_EINVAL);
	CHECK_INT(krun_column(k, "a", NULL), KRUN_EINVAL);
	CHECK_INT(krun_column(k, longest, "KiB/s%-_.12345678901234"), 0);
	CHECK_INT(krun_column(k, "a", ""), 1);
	CHECK_INT(krun_column(k, longest, "KiB/s%-_.12345678901234"), 0); /* the same again */
	CHECK_INT(krun_column(k, "a", "ns"), 2);                          /* another unit is another column */
	CHECK_INT(krun_column(k, "b", ""), KRUN_EFULL);
	CHECK_INT(krun_column(k, "a", ""), 1);
	CHECK_INT(m.header->progress.error, KRUN_OK); /* does not spoil the measurement */
	krun_free(k);
	maker_close(&m);
}

/* User columns come after krund's counters and never reach into them. */
static void beside_counters(void)
{
	struct maker m = maker_open(9, 2, 1);
	krun *k;
	int64_t *counter;
	int i;

	CHECK_INT(krun_init(&k), KRUN_OK);
	CHECK_INT(krun_column(k, "gc", "ns"), 0);
	CHECK_INT(m.entries[1].kind, KRUN_COLUMN_COUNTER);
	CHECK_INT(m.entries[2].kind, KRUN_COLUMN_USER);
	counter = (int64_t *)((char *)m.header + m.entries[1].offset);
	for (i = 0; i < 9; i++) {
		iterate(k);
		CHECK_INT(krun_set(k, 0, 1000 + i), KRUN_OK);
	}
	for (i = 0; i < 9; i++) {
		CHECK_INT(counter[i], 0);
		CHECK_INT(((int64_t *)((char *)m.header + m.entries[2].offset))[i], 1000 + i);
	}
	krun_free(k);
	maker_close(&m);
}

static void without_krund(void)
{
	krun *k;
	char name[3] = "c0";
	int i;

	CHECK_INT(krun_init(&k), KRUN_OK);
	for (i = 0; i < 16; i++) {
		name[1] = (char)('a' + i);
		CHECK_INT(krun_column(k, name, ""), i);
	}
	CHECK_INT(krun_column(k, "one.more", ""), KRUN_EFULL);
	iterate(k);
	CHECK_INT(krun_set(k, 15, 3), KRUN_OK);
	CHECK_INT(krun_value(k, 15, 0), 3);
	CHECK_INT(krun_value(k, 14, 0), KRUN_MISSING);
	krun_free(k);
}

void test_columns(void)
{
	values();
	names();
	beside_counters();
	without_krund();
}
