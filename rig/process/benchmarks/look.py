"""Reports its environment: limits, environment variables, privileges."""
import json
import os
import resource
import sys


def limit(what):
    return list(resource.getrlimit(what))


def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
        return ""
    except OSError as error:
        return error.strerror


def writes(path):
    try:
        with open(path, "w") as f:
            f.write(str(os.getpid()))
        return ""
    except OSError as error:
        return error.strerror


with open("/proc/self/environ", "rb") as f:
    environ = f.read()
with open("/proc/self/status") as f:
    status = dict(line.rstrip("\n").split(":\t", 1) for line in f)
with open("/proc/self/cgroup") as f:
    cgroup = f.read().strip()
umask = os.umask(0)
os.umask(umask)

print(json.dumps({
    "data": limit(resource.RLIMIT_DATA), "stack": limit(resource.RLIMIT_STACK), "core": limit(resource.RLIMIT_CORE),
    "environ": environ.decode("latin-1").split("\0")[:-1], "environ_bytes": len(environ),
    "uid": [os.getuid(), os.geteuid()], "gid": [os.getgid(), os.getegid()], "groups": os.getgroups(),
    "cwd": os.getcwd(), "umask": umask, "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
    "nice": os.getpriority(os.PRIO_PROCESS, 0), "policy": os.sched_getscheduler(0), "affinity": sorted(os.sched_getaffinity(0)),
    "no_new_privileges": status["NoNewPrivs"], "capabilities": status["CapEff"], "ambient": status["CapAmb"], "bounding": status["CapBnd"],
    "ignored": status["SigIgn"], "blocked": status["SigBlk"], "oom": open("/proc/self/oom_score_adj").read().strip(),
    "cgroup": cgroup, "session": os.getsid(0) == os.getpid(), "stdin": os.readlink("/proc/self/fd/0"),
    "leave": writes("/sys/fs/cgroup/cgroup.procs"), "thaw": writes("/sys/fs/cgroup" + cgroup.split("::")[1] + "/cgroup.procs"),
    "config": opens("/srv/krund/benchmarks.toml"), "shadow": opens("/etc/shadow"), "records": writes("/srv/krund/benchmarks.krun/schedule"),
}))
sys.stdout.flush()


def run_iter(_):
    pass
