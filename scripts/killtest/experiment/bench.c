/* The benchmark of the kill test in C: each iteration appends a line to its log and syncs it. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void run_iter(int n)
{
	static int iteration;
	struct timespec t;
	char line[80];
	int fd = open(getenv("KILLTEST_LOG"), O_WRONLY | O_APPEND);

	clock_gettime(4 /* CLOCK_MONOTONIC_RAW */, &t);
	for (volatile int i = 0; i < n; i++)
		;
	int size = snprintf(line, sizeof line, "%d %d %lld%09ld\n", (int)getpid(), iteration++,
			    (long long)t.tv_sec, t.tv_nsec);
	if (fd < 0 || write(fd, line, size) != size || fsync(fd) || close(fd))
		exit(99);
}
