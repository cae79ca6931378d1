/* attach_test.c - krun_init: which buffers it takes, which it refuses, and its own memory. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* refused runs krun_init, which must fail and give no handle, and returns its code. */
static int refused(void)
{
	krun *k = (krun *)&k;
	int err = krun_init(&k);

	CHECK(k == NULL);
	return err;
}

static int env_refused(const char *name, const char *value)
{
	int err;

	setenv(name, value, 1);
	err = refused();
	unsetenv(name);
	return err;
}

static void bad_environment(void)
{
	static const char *const numbers[] = {
		"", " ", "x", "3x", "-1", "+3", " 3", "99999999999", "99999999999999999999"
	};
	size_t i;

	for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		CHECK_INT(env_refused("KRUN_BUFFER_FD", numbers[i]), KRUN_EENV);
		CHECK_INT(env_refused("KRUN_ITERATIONS", numbers[i]), KRUN_EENV);
	}
	CHECK_INT(env_refused("KRUN_ITERATIONS", "0"), KRUN_EENV);
	CHECK_INT(env_refused("KRUN_ITERATIONS", "16777217"), KRUN_EENV);
	CHECK_INT(krun_init(NULL), KRUN_EINVAL);
}

static void bad_descriptors(void)
{
	struct maker m = maker_open(10, 0, 0);
	char name[64];
	int fds[2], fd;

	CHECK_INT(env_refused("KRUN_BUFFER_FD", "1000"), KRUN_EMAP);
	CHECK(pipe(fds) == 0);
	snprintf(name, sizeof name, "%d", fds[0]);
	CHECK_INT(env_refused("KRUN_BUFFER_FD", name), KRUN_EMAGIC);
	CHECK(fcntl(fds[0], F_GETFD) >= 0); /* a descriptor that is not ours stays open */

	snprintf(name, sizeof name, "/proc/self/fd/%d", m.fd);
	fd = open(name, O_RDONLY);
	if (fd >= 0) { /* systems without /proc do without this check */
		snprintf(name, sizeof name, "%d", fd);
		CHECK_INT(env_refused("KRUN_BUFFER_FD", name), KRUN_EMAP);
		close(fd);
	}
	close(fds[0]);
	close(fds[1]);
	maker_close(&m);
}

/* damaged changes one field of a good header and returns what krun_init says. */
#define DAMAGED(field, value)                            \
	do {                                             \
		m = maker_open(10, 2, 3);                \
		m.header->plan.field = (value);          \
		err = refused();                         \
		CHECK_INT(m.header->progress.pid, 0);    \
		CHECK_INT(m.header->progress.state, 0);  \
		maker_close(&m);                         \
	} while (0)

static void bad_headers(void)
{
	struct maker m;
	int err;

	DAMAGED(magic[0], 'K');
	CHECK_INT(err, KRUN_EMAGIC);
	DAMAGED(magic[7], '1');
	CHECK_INT(err, KRUN_EMAGIC);
	DAMAGED(version, KRUN_LAYOUT_VERSION + 1);
	CHECK_INT(err, KRUN_EVERSION);
	DAMAGED(clock, 0);
	CHECK_INT(err, KRUN_EVERSION);
	DAMAGED(clock, KRUN_CLOCK_MONOTONIC_RAW + KRUN_CLOCK_MONOTONIC - m.header->plan.clock);
	CHECK_INT(err, KRUN_EVERSION);
	DAMAGED(iterations, 0);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(iterations, 1000);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(iterations, UINT32_MAX);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(counters, 3);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(counters, UINT32_MAX);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(user_columns, KRUN_MAX_USER_COLUMNS + 1);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(header_bytes, 256);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(entry_bytes, 64);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(bytes, m.header->plan.bytes + 4096);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(start_offset, 0);
	CHECK_INT(err, KRUN_ELAYOUT);
	DAMAGED(wall_offset, UINT64_MAX - 7);
	CHECK_INT(err, KRUN_ELAYOUT);
}

static void bad_sizes(void)
{
	struct maker m = maker_open(10, 0, 0);

	CHECK(ftruncate(m.fd, KRUN_HEADER_BYTES) == 0);
	CHECK_INT(refused(), KRUN_ELAYOUT);
	maker_offer(&m);
	CHECK(ftruncate(m.fd, KRUN_HEADER_BYTES - 1) == 0);
	CHECK_INT(refused(), KRUN_EMAGIC);
	maker_offer(&m);
	CHECK(ftruncate(m.fd, 0) == 0);
	CHECK_INT(refused(), KRUN_EMAGIC);
	maker_close(&m);
}

static void once_per_buffer(void)
{
	struct maker m = maker_open(10, 0, 0);
	int fd = atoi(getenv("KRUN_BUFFER_FD"));
	krun *k;
	int64_t before = krun_now_ns();

	CHECK_INT(krun_init(&k), KRUN_OK);
	CHECK_INT(m.header->progress.pid, getpid());
	CHECK_INT(m.header->progress.state, KRUN_STATE_READY);
	CHECK(m.header->progress.init_ns >= before && m.header->progress.init_ns <= krun_now_ns());
	CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF); /* closed: no child inherits it */
	maker_offer(&m);
	CHECK_INT(refused(), KRUN_EBUSY);
	CHECK_INT(krun_begin(k), KRUN_OK); /* the first handle does not mind */
	CHECK_INT(krun_end(k), KRUN_OK);
	krun_free(k);
	maker_offer(&m);
	CHECK_INT(refused(), KRUN_EBUSY);
	maker_close(&m);
}

static void own_memory(void)
{
	krun *a, *b;

	CHECK_INT(krun_init(&a), KRUN_OK);
	CHECK_INT(krun_iterations(a), 2000);
	setenv("KRUN_ITERATIONS", "16777216", 1);
	CHECK_INT(krun_init(&b), KRUN_OK);
	CHECK_INT(krun_iterations(b), 16777216);
	krun_free(b);
	setenv("KRUN_ITERATIONS", "1", 1);
	CHECK_INT(krun_init(&b), KRUN_OK);
	CHECK_INT(krun_iterations(b), 1);
	CHECK_INT(krun_begin(a), KRUN_OK); /* handles do not know of each other */
	CHECK_INT(krun_begin(b), KRUN_OK);
	CHECK_INT(krun_end(b), KRUN_OK);
	CHECK_INT(krun_end(a), KRUN_OK);
	unsetenv("KRUN_ITERATIONS");
	krun_free(a);
	krun_free(b);
}

void test_attach(void)
{
	bad_environment();
	bad_descriptors();
	bad_headers();
	bad_sizes();
	once_per_buffer();
	own_memory();
}
