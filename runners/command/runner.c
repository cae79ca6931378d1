/*
 * runner.c - iteration runner for whole commands.
 *
 *	runner [OPTION]... [--] PROGRAM [ARGUMENT]...
 *
 * Each iteration is one run of PROGRAM, from just before its process is made until its end.
 * Standard input and output of the program are /dev/null; its messages on standard error are kept.
 *
 *	--directory DIR    run all of them in this directory
 *	--setup COMMAND    sh runs it once, before anything else
 *	--prepare COMMAND  sh runs it before each run of the program, outside the measurement
 *	--conclude COMMAND sh runs it after each run of the program
 *	--cleanup COMMAND  sh runs it at the end, also after a failure
 *	--warmup N         run the program N times before the first iteration
 *	--ignore-failure   count runs in which the program fails
 *
 * User columns: user, system (processor time in ns) and maxrss (bytes) of the program and of the
 * children that it waited for; exit (its status, 128 + N when signal N ended it) with
 * --ignore-failure. PROGRAM is looked up in PATH once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "krun.h"

/* The statuses of all runners; runners.go explains them. */
enum {
	EXIT_USAGE = 64,
	EXIT_BENCHMARK = 66,
	EXIT_INIT = 71,
	EXIT_COMMAND = 72,
	EXIT_MEASURE = 76
};

extern char **environ;

static const char usage[] = "usage: runner [--directory DIR] [--setup COMMAND] [--prepare COMMAND] "
			    "[--conclude COMMAND] [--cleanup COMMAND] [--warmup N] [--ignore-failure] [--] "
			    "PROGRAM [ARGUMENT]...\n";

struct options {
	const char *directory, *setup, *prepare, *conclude, *cleanup;
	int warmup, ignore_failure;
	char **argv;	     /* of the program */
	char path[4096];     /* of its file */
	posix_spawn_file_actions_t silent; /* what the child does with its descriptors */
};

/* parse_options returns 0, or -1 for wrong usage. */
static int parse_options(struct options *o, char **argv)
{
	char *end;

	for (; *argv && !strncmp(*argv, "--", 2); argv++) {
		const char **text = !strcmp(*argv, "--directory") ? &o->directory
				    : !strcmp(*argv, "--setup")	   ? &o->setup
				    : !strcmp(*argv, "--prepare")  ? &o->prepare
				    : !strcmp(*argv, "--conclude") ? &o->conclude
				    : !strcmp(*argv, "--cleanup")  ? &o->cleanup
								   : NULL;
		if (!strcmp(*argv, "--")) {
			argv++;
			break;
		}
		if (!strcmp(*argv, "--ignore-failure")) {
			o->ignore_failure = 1;
			continue;
		}
		if (!argv[1])
			return -1;
		if (text) {
			*text = *++argv;
		} else if (!strcmp(*argv, "--warmup")) {
			long n = strtol(*++argv, &end, 10);
			if (end == *argv || *end || n < 0 || n > 1000000)
				return -1;
			o->warmup = (int)n;
		} else {
			return -1;
		}
	}
	o->argv = argv;
	return *argv ? 0 : -1;
}

/* find stores the file of the program, searched in PATH if its name has no slash. */
static int find(struct options *o)
{
	const char *name = o->argv[0], *dir = getenv("PATH");
	size_t n;

	if (strchr(name, '/') || !dir) {
		n = (size_t)snprintf(o->path, sizeof o->path, "%s", name);
		return n < sizeof o->path && !access(o->path, X_OK) ? 0 : -1;
	}
	for (;; dir += n + 1) {
		n = strcspn(dir, ":");
		snprintf(o->path, sizeof o->path, "%.*s/%s", (int)n, n ? dir : ".", name);
		if (!access(o->path, X_OK))
			return 0;
		if (!dir[n])
			break;
	}
	errno = ENOENT;
	return -1;
}

/* failed reports how a command ended, if it failed. */
static int failed(const char *what, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "runner: %s was ended by signal %d (%s)\n", what, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "runner: %s ended with exit status %d\n", what, WEXITSTATUS(status));
	return status != 0;
}

/* spawn runs a program to its end. It returns 0, or an error number. */
static int spawn(const struct options *o, const char *path, char **argv, int *status, struct rusage *used)
{
	pid_t pid;
	int err = posix_spawn(&pid, path, &o->silent, NULL, argv, environ);

	if (err)
		return err;
	while (wait4(pid, status, 0, used) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

/* shell runs a command around the measurement, if there is one. It returns 0 if it succeeded. */
static int shell(const struct options *o, const char *what, const char *command)
{
	char *argv[] = {"sh", "-c", (char *)command, NULL};
	struct rusage used;
	int status, err;

	if (!command)
		return 0;
	err = spawn(o, "/bin/sh", argv, &status, &used);
	if (err) {
		fprintf(stderr, "runner: %s: cannot run /bin/sh: %s\n", what, strerror(err));
		return -1;
	}
	return failed(what, status) ? -1 : 0;
}

static int64_t ns(struct timeval t) { return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000; }

/* once runs the program once, as an iteration of k unless that is null, and returns a status. */
static int once(const struct options *o, krun *k, const int *column)
{
	struct rusage used;
	int status, err, measured = 0;

	if (shell(o, "the command before each run (--prepare)", o->prepare))
		return EXIT_COMMAND;
	if (k)
		(void)krun_begin(k); /* krun_end reports its error too, outside the measurement */
	err = spawn(o, o->path, o->argv, &status, &used);
	if (k)
		measured = krun_end(k);
	if (err) {
		fprintf(stderr, "runner: cannot start %s: %s\n", o->path, strerror(err));
		return EXIT_BENCHMARK;
	}
	if (measured) {
		fprintf(stderr, "runner: krun_begin or krun_end: %s\n", krun_strerror(measured));
		return EXIT_MEASURE;
	}
	if (k) {
		(void)krun_set(k, column[0], ns(used.ru_utime)); /* columns exist, and an iteration */
		(void)krun_set(k, column[1], ns(used.ru_stime));
		(void)krun_set(k, column[2], (int64_t)used.ru_maxrss * 1024);
		if (o->ignore_failure)
			(void)krun_set(k, column[3],
				       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	}
	if (!o->ignore_failure && failed("the command", status))
		return EXIT_COMMAND;
	return shell(o, "the command after each run (--conclude)", o->conclude) ? EXIT_COMMAND : 0;
}

/* measure runs the program as often as libkrun wants. It returns an exit status. */
static int measure(const struct options *o, krun *k)
{
	int column[4] = {krun_column(k, "user", "ns"), krun_column(k, "system", "ns"),
			 krun_column(k, "maxrss", "bytes"), -1};
	int i, status;

	if (o->ignore_failure)
		column[3] = krun_column(k, "exit", "");
	for (i = 0; i < o->warmup; i++)
		if ((status = once(o, NULL, NULL)))
			return status;
	while (!krun_should_stop(k))
		if ((status = once(o, k, column)))
			return status;
	return krun_done(k) ? EXIT_MEASURE : 0;
}

int main(int argc, char **argv)
{
	static struct options o;
	int err, status;
	krun *k;

	(void)argc;
	if (parse_options(&o, argv + 1)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	err = krun_init(&k);
	if (err) {
		fprintf(stderr, "runner: krun_init: %s\n", krun_strerror(err));
		return EXIT_INIT;
	}
	unsetenv("KRUN_BUFFER_FD"); /* a command that uses libkrun itself must not find this buffer */
	unsetenv("KRUN_LIBRARY");
	if (posix_spawn_file_actions_init(&o.silent) ||
	    posix_spawn_file_actions_addopen(&o.silent, 0, "/dev/null", O_RDONLY, 0) ||
	    posix_spawn_file_actions_addopen(&o.silent, 1, "/dev/null", O_WRONLY, 0)) {
		fprintf(stderr, "runner: out of memory\n");
		return EXIT_MEASURE;
	}
	if (o.directory && chdir(o.directory)) {
		fprintf(stderr, "runner: cannot enter %s: %s\n", o.directory, strerror(errno));
		krun_free(k);
		return EXIT_BENCHMARK;
	}
	status = shell(&o, "the first command (--setup)", o.setup) ? EXIT_COMMAND : 0;
	if (!status && find(&o)) { /* after setup, which may build it */
		fprintf(stderr, "runner: cannot start %s: %s\n", o.argv[0], strerror(errno));
		status = EXIT_BENCHMARK;
	}
	if (!status)
		status = measure(&o, k);
	if (shell(&o, "the last command (--cleanup)", o.cleanup) && !status)
		status = EXIT_COMMAND;
	krun_free(k);
	return status;
}
