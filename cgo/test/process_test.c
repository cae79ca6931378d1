/*
 * process_test.c - what needs a process of its own: being killed inside an
 * iteration, and making no system call and no page fault in begin and end.
 */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

int in_child(void (*f)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		f();
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

static void die_in_sixth(void)
{
	krun *k;
	int i;

	if (krun_init(&k))
		_exit(9);
	for (i = 0; i < 6; i++) {
		krun_begin(k);
		if (i == 5)
			raise(SIGKILL);
		krun_end(k);
	}
}

static void killed(void)
{
	struct maker m = maker_open(2000, 0, 0);
	int status = in_child(die_in_sixth);
	const int64_t *start = (const int64_t *)((char *)m.header + m.at.start);
	const int64_t *wall = (const int64_t *)((char *)m.header + m.at.wall);
	int64_t begun;

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(m.header->hot.done, 5);
	CHECK_INT(m.header->progress.state, KRUN_STATE_READY);
	CHECK(start[0] > 0 && start[4] + wall[4] >= start[0]);
	begun = (int64_t)m.header->hot.begun.tv_sec * 1000000000 + m.header->hot.begun.tv_nsec;
	CHECK(begun >= start[4] + wall[4]); /* the sixth had begun */
	maker_close(&m);
}

/* What a child finds of its parent's handle. The exit status is the number of what is wrong. */
static krun *parents;

static void measure_in_child(void)
{
	if (!krun_should_stop(parents) || krun_iterations(parents) != 0)
		_exit(1);
	if (krun_end(parents) != KRUN_ECHILD || krun_begin(parents) != KRUN_ECHILD)
		_exit(2);
	if (krun_column(parents, "gc", "ns") != KRUN_ECHILD || krun_set(parents, 0, 1) != KRUN_ECHILD)
		_exit(3);
	if (krun_event(parents, KRUN_EVENT_GC, 1, 0, 0, "gc") != KRUN_ECHILD)
		_exit(5);
	if (krun_done(parents) != KRUN_ECHILD)
		_exit(4);
	krun_free(parents);
}

static void not_in_children(void)
{
	struct maker m;

	parents = attach(&m, 10, 1);
	CHECK_INT(krun_begin(parents), KRUN_OK);
	CHECK_INT(in_child(measure_in_child), 0); /* inside an iteration */
	CHECK_INT(krun_end(parents), KRUN_OK);
	CHECK_INT(in_child(measure_in_child), 0); /* between two */
	CHECK_INT(m.header->progress.error, KRUN_ECHILD);
	CHECK_INT(m.header->hot.done, 1);
	while (!krun_should_stop(parents)) { /* the parent is not bothered */
		CHECK_INT(krun_begin(parents), KRUN_OK);
		CHECK_INT(krun_end(parents), KRUN_OK);
	}
	CHECK_INT(krun_done(parents), KRUN_OK);
	CHECK_INT(m.header->hot.done, 10);
	krun_free(parents);
	maker_close(&m);
}

/* Iterations for the two tests below: 200 pages of each array. */
enum { MANY = 200 * 512 };

static void count_faults(void)
{
	struct rusage before, after;
	krun *k;
	int i;

	if (krun_init(&k))
		_exit(9);
	krun_begin(k);
	krun_end(k);
	getrusage(RUSAGE_SELF, &before);
	for (i = 1; i < MANY; i++) {
		krun_begin(k);
		krun_end(k);
	}
	getrusage(RUSAGE_SELF, &after);
	_exit(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt < 20 ? 0 : 1);
}

static void no_faults(void)
{
	struct maker m = maker_open(MANY, 0, 0);

	CHECK_INT(in_child(count_faults), 0);
	CHECK_INT(m.header->hot.done, MANY);
	maker_close(&m);
	CHECK(setenv("KRUN_ITERATIONS", "102400", 1) == 0);
	CHECK_INT(in_child(count_faults), 0);
	unsetenv("KRUN_ITERATIONS");
}

#ifdef __linux__
/*
 * be_strict lets the kernel answer every system call but exit and one more (-1:
 * none) with SIGKILL. The seccomp mode named strict will not do: it forbids the
 * cycle counter too, which the vDSO's clock reads.
 */
static void be_strict(long but)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)but, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof code[0], code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(8);
}

static void only_clock(void)
{
	struct timespec t;

	be_strict(-1);
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	syscall(SYS_exit, 0);
}

static void measure_strictly(void)
{
	krun *k;
	int column;

	if (krun_init(&k) || (column = krun_column(k, "gc", "ns")) < 0)
		_exit(9);
	be_strict(-1);
	while (!krun_should_stop(k)) {
		krun_begin(k);
		krun_set(k, column, 1);
		krun_event(k, KRUN_EVENT_MARK, krun_now_ns(), 0, 0, "strict");
		if (krun_end(k))
			break;
	}
	krun_begin(k); /* refused: no system call either */
	syscall(SYS_exit, 0);
}

/* With counters the reads are allowed, and nothing else is needed. */
static void read_strictly(long but)
{
	krun *k;

	if (krun_init(&k))
		_exit(9);
	be_strict(but);
	while (!krun_should_stop(k)) {
		krun_begin(k);
		if (krun_end(k))
			break;
	}
	syscall(SYS_exit, 0);
}

static void only_pread(void)
{
	read_strictly(SYS_pread64);
}

static void only_read(void)
{
	read_strictly(SYS_read);
}

static void nothing_to_read(void)
{
	read_strictly(-1);
}

static void only_reads(void)
{
	struct maker m = maker_open(500, 6, 0);
	int fds[2];

	maker_registers(&m, 0, maker_file(8192));
	maker_registers(&m, 3, maker_file(8192));
	CHECK_INT(in_child(only_pread), 0);
	CHECK_INT(m.header->hot.done, 500);
	CHECK_INT(m.header->progress.error, KRUN_OK);
	maker_close(&m);

	m = maker_open(500, 2, 0);
	CHECK(pipe(fds) == 0 && close(fds[1]) == 0); /* every read ends at once, as that of a failed group */
	maker_group(&m, 0, 2, KRUN_SOURCE_PERF, fds[0]);
	CHECK_INT(in_child(only_read), 0);
	CHECK_INT(m.header->hot.done, 500);
	CHECK_INT(m.header->progress.error, KRUN_EPART);
	maker_close(&m);

	m = maker_open(500, 1, 0);
	if (maker_self(&m)) {
		CHECK_INT(in_child(nothing_to_read), 0);
		CHECK_INT(m.header->hot.done, 500);
		CHECK_INT(m.header->progress.error, KRUN_OK);
	}
	maker_close(&m);
}

static void no_system_calls(void)
{
	struct maker m;

	if (in_child(only_clock) != 0) {
		printf("libkrun: skipped no_system_calls: this machine's clock needs a system call, "
		       "or seccomp is missing\n");
		return;
	}
	m = maker_events(5000, 0, 1, 4000);
	CHECK_INT(in_child(measure_strictly), 0);
	CHECK_INT(m.header->hot.done, 5000);
	CHECK_INT(m.header->progress.error, KRUN_EFULL);
	CHECK_INT(m.header->event_count.next, 5000);
	maker_close(&m);
	only_reads();
}
#endif

void test_process(void)
{
	killed();
	no_faults();
#ifdef __linux__
	not_in_children();
	no_system_calls();
#endif
}
