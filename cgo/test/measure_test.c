/* measure_test.c - begin, end, should_stop, done: order, bounds, contents of the buffer. */
#include "check.h"

static const int64_t *starts(const struct maker *m)
{
	return (const int64_t *)((const char *)m->header + m->at.start);
}

static const int64_t *walls(const struct maker *m)
{
	return (const int64_t *)((const char *)m->header + m->at.wall);
}

static void every_iteration_is_published(void)
{
	struct maker m;
	krun *k = attach(&m, 100, 0);
	int64_t end = krun_now_ns();
	int i;

	CHECK_INT(krun_iterations(k), 100);
	CHECK_INT(krun_start_ns(k, 0), KRUN_MISSING);
	for (i = 0; !krun_should_stop(k); i++) {
		CHECK_INT(m.header->hot.done, i);
		CHECK_INT(krun_begin(k), KRUN_OK);
		CHECK_INT(m.header->hot.done, i);
		CHECK_INT(krun_end(k), KRUN_OK);
		CHECK_INT(m.header->hot.done, i + 1);
		CHECK_INT(krun_count(k), i + 1);
		CHECK(starts(&m)[i] >= end && walls(&m)[i] >= 0);
		CHECK_INT(krun_start_ns(k, i), starts(&m)[i]);
		CHECK_INT(krun_wall_ns(k, i), walls(&m)[i]);
		end = starts(&m)[i] + walls(&m)[i];
	}
	CHECK_INT(i, 100);
	CHECK(krun_now_ns() >= end);
	CHECK_INT(krun_start_ns(k, 100), KRUN_MISSING);
	CHECK_INT(krun_wall_ns(k, -1), KRUN_MISSING);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	CHECK_INT(m.header->progress.state, KRUN_STATE_DONE);
	CHECK(m.header->progress.done_ns >= end);
	CHECK_INT(krun_count(k), 100); /* still readable */
	CHECK_INT(krun_wall_ns(k, 99), walls(&m)[99]);
	krun_free(k);
	maker_close(&m);
}

/* A held iteration takes its part longer than the benchmark, and the clock says so. */
static void iterations_are_held(void)
{
	struct maker m = maker_open(20, 0, 0);
	int64_t last;
	krun *k;
	int i;

	m.header->plan.version = KRUN_LAYOUT_VERSION;
	m.header->plan.hold = 250000;
	CHECK_INT(krun_init(&k), KRUN_OK);
	for (i = 0; !krun_should_stop(k); i++) {
		CHECK_INT(krun_begin(k), KRUN_OK);
		do
			last = krun_now_ns() - m.header->hot.begun.tv_sec * INT64_C(1000000000) -
			       m.header->hot.begun.tv_nsec;
		while (last < 100000);
		CHECK_INT(krun_end(k), KRUN_OK);
		CHECK(krun_wall_ns(k, i) >= last + last / 4 - 1);
	}
	CHECK_INT(i, 20);
	krun_free(k);
	maker_close(&m);
}

static void wrong_order(void)
{
	struct maker m;
	krun *k = attach(&m, 2, 0);

	CHECK_INT(krun_end(k), KRUN_EORDER);
	CHECK_INT(m.header->progress.error, KRUN_EORDER);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_EORDER);
	CHECK_INT(krun_end(k), KRUN_OK); /* of the begin that was accepted */
	CHECK_INT(krun_end(k), KRUN_EORDER);
	CHECK_INT(krun_count(k), 1);
	krun_free(k);
	maker_close(&m);
}

static void beyond_the_plan(void)
{
	struct maker m;
	krun *k = attach(&m, 1, 0);
	int64_t wall;

	CHECK_INT(krun_should_stop(k), 0);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_should_stop(k), 0); /* the iteration has not ended */
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(krun_should_stop(k), 1);
	wall = walls(&m)[0];
	CHECK_INT(krun_begin(k), KRUN_EFULL);
	CHECK_INT(krun_end(k), KRUN_EORDER);
	CHECK_INT(m.header->progress.error, KRUN_EFULL); /* the first one stays */
	CHECK_INT(m.header->hot.done, 1);
	CHECK_INT(walls(&m)[0], wall);
	CHECK_INT(walls(&m)[1], 0); /* padding */
	krun_free(k);
	maker_close(&m);
}

static void after_done(void)
{
	struct maker m;
	krun *k = attach(&m, 5, 1);
	int column = krun_column(k, "gc", "ns");

	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_done(k), KRUN_EORDER); /* inside an iteration, which is dropped */
	CHECK_INT(m.header->progress.state, KRUN_STATE_DONE);
	CHECK_INT(krun_done(k), KRUN_EDONE);
	CHECK_INT(krun_begin(k), KRUN_EDONE);
	CHECK_INT(krun_end(k), KRUN_EORDER);
	CHECK_INT(krun_set(k, column, 1), KRUN_EDONE);
	CHECK_INT(krun_column(k, "jit", "ns"), KRUN_EDONE);
	CHECK_INT(krun_should_stop(k), 1);
	CHECK_INT(krun_count(k), 1);
	CHECK_INT(m.header->hot.done, 1);
	krun_free(k);
	maker_close(&m);
}

static void stop_flag(void)
{
	struct maker m;
	krun *k = attach(&m, 5, 0);

	CHECK_INT(krun_should_stop(k), 0);
	m.header->control.stop = 1;
	CHECK_INT(krun_should_stop(k), 1);
	CHECK_INT(krun_begin(k), KRUN_OK); /* a wish, not a prohibition */
	CHECK_INT(krun_end(k), KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

/* A benchmark that writes over the header spoils its numbers, nothing else. */
static void scribbled_header(void)
{
	struct maker m;
	krun *k = attach(&m, 3, 1);

	memset(m.header, 0xff, m.at.start);
	m.header->control.stop = 0;
	while (!krun_should_stop(k)) {
		CHECK_INT(krun_begin(k), KRUN_OK);
		CHECK_INT(krun_end(k), KRUN_OK);
	}
	CHECK_INT(krun_count(k), 3);
	CHECK_INT(krun_begin(k), KRUN_EFULL);
	CHECK_INT(krun_column(k, "gc", "ns"), 0);
	CHECK_INT(krun_done(k), KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

static void null_handle(void)
{
	CHECK_INT(krun_begin(NULL), KRUN_EINVAL);
	CHECK_INT(krun_end(NULL), KRUN_EINVAL);
	CHECK_INT(krun_done(NULL), KRUN_EINVAL);
	CHECK_INT(krun_column(NULL, "a", "b"), KRUN_EINVAL);
	CHECK_INT(krun_set(NULL, 0, 0), KRUN_EINVAL);
	CHECK_INT(krun_should_stop(NULL), 1);
	CHECK_INT(krun_iterations(NULL), 0);
	CHECK_INT(krun_count(NULL), 0);
	CHECK_INT(krun_start_ns(NULL, 0), KRUN_MISSING);
	CHECK_INT(krun_wall_ns(NULL, 0), KRUN_MISSING);
	CHECK_INT(krun_value(NULL, 0, 0), KRUN_MISSING);
	krun_free(NULL);
	CHECK_INT(krun_version(), KRUN_VERSION);
}

void test_measure(void)
{
	every_iteration_is_published();
	iterations_are_held();
	wrong_order();
	beyond_the_plan();
	after_done();
	stop_flag();
	scribbled_header();
	null_handle();
}
