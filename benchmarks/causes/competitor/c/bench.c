/* Another process takes the processor in known iterations; ../../README.md explains which. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint32_t sink;
static volatile int *ran; /* how often the competitor did */
static int wake[2];       /* a pipe: one byte for each time */
static pid_t competitor;

/* work is the usual work of an iteration. */
static void work(void)
{
	uint32_t x = 1;
	int i;

	for (i = 0; i < 1000000; i++)
		x = x * 1664525 + 1013904223;
	sink = x;
}

/* bind keeps this process, and those that it makes, on the processor that it is on. */
static void bind(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
}

/* compete needs 3 ms of processor time for each byte, until the pipe is closed. */
static void compete(void)
{
	char byte;

	prctl(PR_SET_NAME, "competitor");
	close(wake[1]);
	while (read(wake[0], &byte, 1) == 1) {
		clock_t end = clock() + 3 * CLOCKS_PER_SEC / 1000;

		while (clock() < end)
			;
		++*ran;
	}
	_exit(0);
}

static void start(void)
{
	ran = mmap(NULL, sizeof *ran, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ran == MAP_FAILED || pipe(wake) != 0)
		_exit(1);
	bind();
	competitor = fork();
	if (competitor == 0)
		compete();
	close(wake[0]);
}

/* yield wakes the competitor, and does not give up the processor before it has had it. */
static void yield(void)
{
	int before = *ran;

	if (write(wake[1], "", 1) == 1)
		while (*ran == before)
			;
}

void run_iter(int n)
{
	static int iteration;

	if (iteration == 0)
		start();
	if (iteration % 50 == n % 50)
		yield();
	if (++iteration == 300) {
		close(wake[1]);
		waitpid(competitor, NULL, 0);
	}
	work();
}
