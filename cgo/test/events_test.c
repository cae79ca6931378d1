/* events_test.c - storing events: slots, names, their ends, and a kill in the middle. */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* attach_events makes a buffer with slots for events and attaches to it. */
static krun *attach_events(struct maker *m, uint32_t events)
{
	krun *k;

	*m = maker_events(10, 0, 0, events);
	if (krun_init(&k)) {
		fprintf(stderr, "krun_init failed\n");
		exit(2);
	}
	return k;
}

/* name_of returns the name of an event, or null when it has none. */
static const char *name_of(const struct maker *m, uint32_t slot)
{
	uint32_t name = m->slots[slot].name;

	return name < KRUN_EVENT_NAMES && m->names[name].state == KRUN_NAME_READY ? m->names[name].text : NULL;
}

static void stored(void)
{
	struct maker m;
	krun *k = attach_events(&m, 8);

	CHECK_INT(krun_event(k, KRUN_EVENT_GC, 1000, 20, 4096, NULL), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_COMPILE, 900, 0, KRUN_MISSING, "A.run(I)V"), KRUN_OK);
	CHECK_INT(krun_begin(k), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, 0, 0, 0, "A.run(I)V"), KRUN_OK); /* inside an iteration */
	CHECK_INT(krun_end(k), KRUN_OK);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_MARK, INT64_MAX, INT64_MAX, -1, ""), KRUN_OK); /* learned late */
	CHECK_INT(m.header->event_count.next, 4);
	CHECK_INT(m.slots[0].kind, KRUN_EVENT_GC);
	CHECK_INT(m.slots[0].time_ns, 1000);
	CHECK_INT(m.slots[0].duration_ns, 20);
	CHECK_INT(m.slots[0].argument, 4096);
	CHECK_INT(m.slots[0].name, KRUN_NAME_NONE);
	CHECK(name_of(&m, 1) && strcmp(name_of(&m, 1), "A.run(I)V") == 0);
	CHECK_INT(m.slots[2].name, m.slots[1].name); /* stored once */
	CHECK_INT(m.slots[3].name, KRUN_NAME_NONE);
	CHECK_INT(m.slots[3].kind, KRUN_EVENT_MARK);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

static void refused(void)
{
	struct maker m;
	krun *k = attach_events(&m, 8);

	CHECK_INT(krun_event(NULL, KRUN_EVENT_GC, 1, 0, 0, NULL), KRUN_EINVAL);
	CHECK_INT(krun_event(k, 0, 1, 0, 0, NULL), KRUN_EINVAL);
	CHECK_INT(krun_event(k, KRUN_EVENT_SWITCH, 1, 0, 0, NULL), KRUN_EINVAL); /* krund's */
	CHECK_INT(krun_event(k, -1, 1, 0, 0, NULL), KRUN_EINVAL);
	CHECK_INT(krun_event(k, KRUN_EVENT_GC, -1, 0, 0, NULL), KRUN_EINVAL);
	CHECK_INT(krun_event(k, KRUN_EVENT_GC, 1, -1, 0, NULL), KRUN_EINVAL);
	CHECK_INT(m.header->event_count.next, 0);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	krun_free(k);
	maker_close(&m);
}

static void without_slots(void)
{
	struct maker m;
	krun *k = attach(&m, 4, 0);

	CHECK_INT(krun_event(k, KRUN_EVENT_GC, 1, 0, 0, "gc"), KRUN_EFULL);
	CHECK_INT(m.header->event_count.next, 0);
	CHECK_INT(m.header->plan.version, 1); /* what an older libkrun accepts */
	krun_free(k);
	maker_close(&m);
	CHECK_INT(krun_init(&k), KRUN_OK); /* private memory has none, too */
	CHECK_INT(krun_event(k, KRUN_EVENT_GC, 1, 0, 0, "gc"), KRUN_EFULL);
	krun_free(k);
}

static void full(void)
{
	struct maker m;
	krun *k = attach_events(&m, 3);
	int i;

	for (i = 0; i < 1000; i++)
		CHECK_INT(krun_event(k, KRUN_EVENT_GC, i, 0, i, NULL), i < 3 ? KRUN_OK : KRUN_EFULL);
	CHECK_INT(m.header->event_count.next, 1000);
	CHECK_INT(m.slots[2].argument, 2); /* the first ones are kept */
	CHECK_INT(m.names[0].state, KRUN_NAME_FREE); /* behind the slots */
	krun_free(k);
	maker_close(&m);
}

static void odd_names(void)
{
	struct maker m;
	krun *k = attach_events(&m, 8);
	char shortest[KRUN_EVENT_NAME_BYTES], longest[KRUN_EVENT_NAME_BYTES + 200];

	memset(shortest, 'x', sizeof shortest - 1);
	shortest[sizeof shortest - 1] = '\0';
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	CHECK_INT(krun_event(k, KRUN_EVENT_MARK, 1, 0, 0, "a\tb\n\x1b[31m\x7f\xc3\xa9 <&\">"), KRUN_OK);
	CHECK(name_of(&m, 0) && strcmp(name_of(&m, 0), "a?b??[31m??? <&\">") == 0);
	CHECK_INT(krun_event(k, KRUN_EVENT_MARK, 1, 0, 0, longest), KRUN_OK);
	CHECK(name_of(&m, 1) && strcmp(name_of(&m, 1), shortest) == 0);
	CHECK_INT(krun_event(k, KRUN_EVENT_MARK, 1, 0, 0, shortest), KRUN_OK);
	CHECK_INT(m.slots[2].name, m.slots[1].name);
	krun_free(k);
	maker_close(&m);
}

static void many_names(void)
{
	enum { NAMES = 3 * KRUN_EVENT_NAMES };
	struct maker m;
	krun *k = attach_events(&m, 2 * NAMES);
	uint32_t i, others = 0;
	char text[32];

	for (i = 0; i < 2 * NAMES; i++) {
		snprintf(text, sizeof text, "name%u", (unsigned)(i % NAMES));
		CHECK_INT(krun_event(k, KRUN_EVENT_MARK, i, 0, 0, text), KRUN_OK);
		if (name_of(&m, i))
			CHECK(strcmp(name_of(&m, i), text) == 0);
		else
			CHECK_INT(m.slots[i].name, KRUN_NAME_OTHER);
		others += m.slots[i].name == KRUN_NAME_OTHER;
	}
	/* Each name that found room found it again. */
	CHECK(others >= 2 * (NAMES - KRUN_EVENT_NAMES) && others < 2 * (NAMES - KRUN_EVENT_NAMES / 2));
	krun_free(k);
	maker_close(&m);
}

/* A thread that was killed while it wrote a name makes no other thread wait. */
static void half_a_name(void)
{
	struct maker m;
	krun *k = attach_events(&m, 8);
	uint32_t i, first;

	CHECK_INT(krun_event(k, KRUN_EVENT_MARK, 1, 0, 0, "a"), KRUN_OK);
	first = m.slots[0].name;
	m.names[first].state = KRUN_NAME_CLAIMED;
	for (i = 1; i < 3; i++)
		CHECK_INT(krun_event(k, KRUN_EVENT_MARK, 1, 0, 0, "a"), KRUN_OK);
	CHECK(m.slots[1].name != first && m.slots[2].name == m.slots[1].name);
	CHECK(name_of(&m, 1) && strcmp(name_of(&m, 1), "a") == 0);
	krun_free(k);
	maker_close(&m);
}

static void counted(void)
{
	struct maker m = maker_events(10, 0, 2, 6);
	krun *k;
	int i, column, other;

	CHECK_INT(krun_init(&k), KRUN_OK);
	column = krun_column(k, "deopt_count", "");
	other = krun_column(k, "other", "");
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, 0, 0, 0, NULL), KRUN_OK); /* before the first iteration */
	for (i = 0; i < 4; i++) {
		CHECK_INT(krun_begin(k), KRUN_OK);
		CHECK_INT(krun_count_events(k, column, KRUN_EVENT_DEOPT), KRUN_EORDER);
		CHECK_INT(krun_end(k), KRUN_OK);
	}
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, krun_start_ns(k, 1), 0, 0, NULL), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, krun_start_ns(k, 2) - 1, 0, 0, NULL), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_GC, krun_start_ns(k, 2), 0, 0, NULL), KRUN_OK);
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, INT64_MAX, 0, 0, NULL), KRUN_OK); /* after the last one */
	CHECK_INT(krun_count_events(NULL, column, KRUN_EVENT_DEOPT), KRUN_EINVAL);
	CHECK_INT(krun_count_events(k, 2, KRUN_EVENT_DEOPT), KRUN_EINVAL);
	CHECK_INT(krun_count_events(k, -1, KRUN_EVENT_DEOPT), KRUN_EINVAL);
	CHECK_INT(krun_count_events(k, column, KRUN_EVENT_SWITCH), KRUN_EINVAL);
	CHECK_INT(krun_value(k, column, 0), KRUN_MISSING); /* a refused call sets nothing */
	CHECK_INT(krun_count_events(k, column, KRUN_EVENT_DEOPT), KRUN_OK);
	CHECK_INT(krun_value(k, column, 0), 0);
	CHECK_INT(krun_value(k, column, 1), 2);
	CHECK_INT(krun_value(k, column, 2), 0);
	CHECK_INT(krun_value(k, column, 3), 1);
	CHECK_INT(krun_value(k, column, 4), KRUN_MISSING);
	CHECK_INT(krun_event(k, KRUN_EVENT_GC, 1, 0, 0, NULL), KRUN_OK); /* the last slot */
	CHECK_INT(krun_count_events(k, other, KRUN_EVENT_GC), KRUN_OK);
	CHECK_INT(krun_value(k, other, 2), 1);
	CHECK_INT(krun_event(k, KRUN_EVENT_DEOPT, 1, 0, 0, NULL), KRUN_EFULL);
	CHECK_INT(krun_count_events(k, column, KRUN_EVENT_DEOPT), KRUN_EFULL);
	CHECK_INT(krun_value(k, column, 1), 2);
	CHECK_INT(krun_done(k), KRUN_OK);
	CHECK_INT(krun_count_events(k, column, KRUN_EVENT_DEOPT), KRUN_EDONE);
	krun_free(k);
	maker_close(&m);
}

static void report_until_killed(void)
{
	krun *k;
	int64_t i;

	if (krun_init(&k))
		_exit(9);
	for (i = 0;; i++) {
		if (i == 700)
			raise(SIGKILL);
		if (krun_event(k, KRUN_EVENT_GC, krun_now_ns(), 0, i, i % 2 ? "odd" : "even"))
			_exit(8);
	}
}

static void killed(void)
{
	struct maker m = maker_events(10, 0, 0, 1000);
	int status = in_child(report_until_killed);
	uint32_t i;

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(m.header->event_count.next, 700);
	for (i = 0; i < 700; i++) {
		CHECK_INT(m.slots[i].kind, KRUN_EVENT_GC);
		CHECK_INT(m.slots[i].argument, i);
		CHECK(name_of(&m, i) && strcmp(name_of(&m, i), i % 2 ? "odd" : "even") == 0);
	}
	CHECK_INT(m.slots[700].kind, 0);
	maker_close(&m);
}

void test_events(void)
{
	stored();
	refused();
	without_slots();
	full();
	odd_names();
	many_names();
	half_a_name();
	counted();
	killed();
}
