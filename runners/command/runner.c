/*
 * runner.c - iteration runner for whole commands.
 *
 *	runner [OPTION]... [--also N WORD...]... [--] PROGRAM [ARGUMENT]...
 *
 * Each iteration is one run of PROGRAM, from just before its process is made until its end.
 * Standard input and output of the program are /dev/null; its messages on standard error are kept.
 *
 *	--setup COMMAND    sh runs it once, before anything else
 *	--cleanup COMMAND  sh runs it at the end, also after a failure
 *	--warmup N         run the programs N times before the first iteration
 *	--ignore-failure   count runs in which the program fails
 *	--output FILE      what the programs print goes there; to a process that reads it if FILE is
 *	                   "pipe". A device or a file of /proc is appended to, not a file of /dev/shm.
 *	--messages FILE    the same for their standard error
 *	--input FILE       they read it
 *	--seed N           of the order of several programs
 *
 * Options of the next program only:
 *
 *	--directory DIR    run it in this directory, which stays that of the next
 *	--prepare COMMAND  sh runs it before each run of the program, outside the measurement
 *	--conclude COMMAND sh runs it after each run of the program
 *	--runs N           of this program in each round (default 1)
 *	--label TEXT       begins the messages about it
 *	--silent N         N > 0: --input and --output are not for it
 *	--also N           the next N words are a program, and after it another one follows
 *
 * Several programs run in turns: a round has each of them as often as its --runs say, in a random
 * order of its own.
 *
 * User columns: user, system (processor time in ns) and maxrss (bytes) of the program and of the
 * children that it waited for; exit (its status, 128 + N when signal N ended it) with
 * --ignore-failure; command (the number of the program, from 0) of several. PROGRAM is looked up in
 * PATH once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
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

static const char usage[] = "usage: runner [--setup COMMAND] [--cleanup COMMAND] [--warmup N] "
			    "[--ignore-failure] [--input FILE] [--output FILE] [--messages FILE] [--seed N] "
			    "[--directory DIR] [--prepare COMMAND] [--conclude COMMAND] [--runs N] "
			    "[--label TEXT] [--silent N] [--also N WORD...]... [--] PROGRAM [ARGUMENT]...\n";

enum { MOST_PROGRAMS = 128, MOST_RUNS = 1000000 };

struct program {
	const char *directory, *prepare, *conclude, *label;
	long runs;	 /* in each round */
	long silent;	 /* it reads and writes nothing */
	char **argv;	 /* of the program */
	char path[4096]; /* of its file */
};

struct options {
	const char *setup, *cleanup, *input, *output, *messages;
	long warmup, seed;
	int ignore_failure, n;
	pid_t reader; /* of what the programs print; 0 for none */
	int pipe;     /* to it */
	struct program programs[MOST_PROGRAMS];
	posix_spawn_file_actions_t files; /* what a program does with its descriptors */
	posix_spawn_file_actions_t silent; /* and a command around it */
};

/* number parses a number from low to MOST_RUNS. It returns -1 for another text. */
static long number(const char *text, long low)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end == text || *end || n < low || n > MOST_RUNS ? -1 : n;
}

/* next begins the options of another program. It returns 0, or -1 if there are too many. */
static int next(struct options *o)
{
	struct program *p = &o->programs[o->n];

	if (o->n >= MOST_PROGRAMS)
		return -1;
	p->directory = o->n ? p[-1].directory : NULL;
	p->runs = 1;
	p->silent = 0;
	return 0;
}

/* parse_option parses the option argv[0], which has a value. It returns 0, or -1 if it is wrong. */
static int parse_option(struct options *o, char **argv)
{
	struct program *p = &o->programs[o->n];
	const struct {
		const char *name, **text;
		long *number, low;
	} all[] = {
		{"--setup", &o->setup, NULL, 0},	   {"--cleanup", &o->cleanup, NULL, 0},
		{"--input", &o->input, NULL, 0},	   {"--output", &o->output, NULL, 0},
		{"--messages", &o->messages, NULL, 0}, {"--directory", &p->directory, NULL, 0},
		{"--prepare", &p->prepare, NULL, 0},   {"--conclude", &p->conclude, NULL, 0},
		{"--label", &p->label, NULL, 0},	   {"--warmup", NULL, &o->warmup, 0},
		{"--seed", NULL, &o->seed, 0},	   {"--runs", NULL, &p->runs, 1},
		{"--silent", NULL, &p->silent, 0},
	};
	size_t i;

	for (i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (strcmp(argv[0], all[i].name))
			continue;
		if (all[i].text) {
			*all[i].text = argv[1];
			return 0;
		}
		*all[i].number = number(argv[1], all[i].low);
		return *all[i].number < 0 ? -1 : 0;
	}
	return -1;
}

/* parse_options returns 0, or -1 for wrong usage. */
static int parse_options(struct options *o, char **argv)
{
	char **copy;
	long words;

	if (next(o))
		return -1;
	for (; *argv && !strncmp(*argv, "--", 2); argv++) {
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
		if (!strcmp(*argv, "--also")) {
			words = number(*++argv, 1);
			copy = words < 0 ? NULL : calloc((size_t)words + 1, sizeof *copy); /* ends with NULL */
			if (!copy)
				return -1;
			o->programs[o->n++].argv = copy;
			while (words-- > 0)
				if (!(*copy++ = *++argv))
					return -1;
			if (next(o))
				return -1;
		} else if (parse_option(o, argv++)) {
			return -1;
		}
	}
	o->programs[o->n++].argv = argv;
	return *argv ? 0 : -1;
}

/* enter changes to the directory of a program. It returns 0, or -1 if it cannot. */
static int enter(const struct program *p)
{
	if (!p->directory || !chdir(p->directory))
		return 0;
	fprintf(stderr, "runner: cannot enter %s: %s\n", p->directory, strerror(errno));
	return -1;
}

/* find stores the file of a program, searched in PATH if its name has no slash. */
static int find(struct program *p)
{
	const char *name = p->argv[0], *dir = getenv("PATH");
	size_t n;

	if (strchr(name, '/') || !dir) {
		n = (size_t)snprintf(p->path, sizeof p->path, "%s", name);
		return n < sizeof p->path && !access(p->path, X_OK) ? 0 : -1;
	}
	for (;; dir += n + 1) {
		n = strcspn(dir, ":");
		snprintf(p->path, sizeof p->path, "%.*s/%s", (int)n, n ? dir : ".", name);
		if (!access(p->path, X_OK))
			return 0;
		if (!dir[n])
			break;
	}
	errno = ENOENT;
	return -1;
}

/* say begins a message about a program, which may be null. */
static void say(const struct program *p)
{
	fprintf(stderr, "runner: %s%s", p && p->label ? p->label : "", p && p->label ? ": " : "");
}

/* failed reports how a command ended, if it failed. */
static int failed(const struct program *p, const char *what, int status)
{
	if (!status)
		return 0;
	say(p);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s was ended by signal %d (%s)\n", what, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "%s ended with exit status %d\n", what, WEXITSTATUS(status));
	return 1;
}

/* spawn runs a program to its end. It returns 0, or an error number. */
static int spawn(const posix_spawn_file_actions_t *files, const char *path, char **argv, int *status,
		 struct rusage *used)
{
	pid_t pid;
	int err = posix_spawn(&pid, path, files, NULL, argv, environ);

	if (err)
		return err;
	while (wait4(pid, status, 0, used) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

/* shell runs a command around the measurement, if there is one. It returns 0 if it succeeded. */
static int shell(const struct options *o, const struct program *p, const char *what, const char *command)
{
	char *argv[] = {"sh", "-c", (char *)command, NULL};
	struct rusage used;
	int status, err;

	if (!command)
		return 0;
	err = spawn(&o->silent, "/bin/sh", argv, &status, &used);
	if (err) {
		say(p);
		fprintf(stderr, "%s: cannot run /bin/sh: %s\n", what, strerror(err));
		return -1;
	}
	return failed(p, what, status) ? -1 : 0;
}

static int64_t ns(struct timeval t) { return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000; }

/* The user columns. */
enum { USER, SYSTEM, MAXRSS, EXIT, COMMAND, COLUMNS };

/* once runs a program once, as an iteration of k unless that is null, and returns a status. */
static int once(const struct options *o, const struct program *p, krun *k, const int *column)
{
	struct rusage used;
	int status, err, measured = 0;

	if (enter(p))
		return EXIT_BENCHMARK;
	if (shell(o, p, "the command before each run (--prepare)", p->prepare))
		return EXIT_COMMAND;
	if (k)
		(void)krun_begin(k); /* krun_end reports its error too, outside the measurement */
	err = spawn(p->silent ? &o->silent : &o->files, p->path, p->argv, &status, &used);
	if (k)
		measured = krun_end(k);
	if (err) {
		say(p);
		fprintf(stderr, "cannot start %s: %s\n", p->path, strerror(err));
		return EXIT_BENCHMARK;
	}
	if (measured) {
		fprintf(stderr, "runner: krun_begin or krun_end: %s\n", krun_strerror(measured));
		return EXIT_MEASURE;
	}
	if (k) {
		(void)krun_set(k, column[USER], ns(used.ru_utime)); /* columns exist, and an iteration */
		(void)krun_set(k, column[SYSTEM], ns(used.ru_stime));
		(void)krun_set(k, column[MAXRSS], (int64_t)used.ru_maxrss * 1024);
		if (o->ignore_failure)
			(void)krun_set(k, column[EXIT],
				       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
		if (o->n > 1)
			(void)krun_set(k, column[COMMAND], p - o->programs);
	}
	if (!o->ignore_failure && failed(p, "the command", status))
		return EXIT_COMMAND;
	return shell(o, p, "the command after each run (--conclude)", p->conclude) ? EXIT_COMMAND : 0;
}

/* below returns a number from 0 to n - 1 (xorshift64*, Vigna 2016). */
static long below(uint64_t *state, long n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (long)((*state * 2685821657736338717u >> 11) % (uint64_t)n);
}

/* measure runs the programs as often as libkrun wants. It returns an exit status. */
static int measure(const struct options *o, krun *k)
{
	int column[COLUMNS] = {krun_column(k, "user", "ns"), krun_column(k, "system", "ns"),
			       krun_column(k, "maxrss", "bytes"), -1, -1};
	uint64_t state = (uint64_t)o->seed + 1;
	long i, j, turns = 0;
	int status = 0, *order, swapped;

	if (o->ignore_failure)
		column[EXIT] = krun_column(k, "exit", "");
	if (o->n > 1)
		column[COMMAND] = krun_column(k, "command", "");
	for (i = 0; i < o->n; i++)
		turns += o->programs[i].runs;
	order = malloc((size_t)turns * sizeof *order);
	if (!order)
		return EXIT_MEASURE;
	for (i = turns = 0; i < o->n; i++)
		for (j = 0; j < o->programs[i].runs; j++)
			order[turns++] = (int)i;
	for (i = 0; i < o->warmup && !status; i++)
		for (j = 0; j < o->n && !status; j++)
			status = once(o, &o->programs[j], NULL, NULL);
	for (i = 0; !status && !krun_should_stop(k); i = (i + 1) % turns) {
		if (i == 0)
			for (j = turns - 1; j > 0; j--) {
				long with = below(&state, j + 1);
				swapped = order[j], order[j] = order[with], order[with] = swapped;
			}
		status = once(o, &o->programs[order[i]], k, column);
	}
	free(order);
	return status ? status : krun_done(k) ? EXIT_MEASURE : 0;
}

/* drain starts a process that reads what the programs print. It returns an error number. */
static int drain(struct options *o)
{
	char buffer[65536];
	int ends[2];

	if (pipe(ends))
		return errno;
	o->reader = fork();
	if (o->reader < 0)
		return errno;
	if (!o->reader) {
		close(ends[1]);
		while (read(ends[0], buffer, sizeof buffer) > 0)
			;
		_exit(0);
	}
	close(ends[0]);
	o->pipe = ends[1];
	return fcntl(o->pipe, F_SETFD, FD_CLOEXEC) ? errno : 0;
}

/* redirect makes the programs write what goes to a descriptor to a file. It returns an error. */
static int redirect(struct options *o, int fd, const char *path)
{
	int err, shared = !strncmp(path, "/proc/", 6) ||
			  (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9));

	if (strcmp(path, "pipe"))
		return posix_spawn_file_actions_addopen(&o->files, fd, path,
							O_WRONLY | O_CREAT | (shared ? O_APPEND : O_TRUNC), 0666);
	err = o->reader ? 0 : drain(o);
	return err ? err : posix_spawn_file_actions_adddup2(&o->files, o->pipe, fd);
}

/* plan_files decides what the programs read and write. It returns 0, or -1 after a message. */
static int plan_files(struct options *o)
{
	posix_spawn_file_actions_t *both[] = {&o->files, &o->silent};
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++)
		if (!(err = posix_spawn_file_actions_init(both[i])) &&
		    !(err = posix_spawn_file_actions_addopen(both[i], 0, i || !o->input ? "/dev/null" : o->input,
							     O_RDONLY, 0)) &&
		    (i || !o->output))
			err = posix_spawn_file_actions_addopen(both[i], 1, "/dev/null", O_WRONLY, 0);
	if (!err && o->output)
		err = redirect(o, 1, o->output);
	if (!err && o->messages)
		err = redirect(o, 2, o->messages);
	if (err)
		fprintf(stderr, "runner: input and output of the programs: %s\n", strerror(err));
	return err ? -1 : 0;
}

/* run does what the options say, and returns an exit status. */
static int run(struct options *o, krun *k)
{
	int i, status;

	if (plan_files(o))
		return EXIT_MEASURE;
	if (enter(&o->programs[0]))
		return EXIT_BENCHMARK;
	status = shell(o, NULL, "the first command (--setup)", o->setup) ? EXIT_COMMAND : 0;
	for (i = 0; i < o->n && !status; i++) /* after setup, which may build them */
		if (enter(&o->programs[i]) || find(&o->programs[i])) {
			say(&o->programs[i]);
			fprintf(stderr, "cannot start %s: %s\n", o->programs[i].argv[0], strerror(errno));
			status = EXIT_BENCHMARK;
		}
	if (!status)
		status = measure(o, k);
	if (!enter(&o->programs[0]) && shell(o, NULL, "the last command (--cleanup)", o->cleanup) && !status)
		status = EXIT_COMMAND;
	if (o->reader > 0 && !close(o->pipe)) /* which ends it */
		(void)waitpid(o->reader, NULL, 0);
	return status;
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
	status = run(&o, k);
	krun_free(k);
	return status;
}
