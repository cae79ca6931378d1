"""Reports what it finds of an earlier execution, then leaves something in every place where an ordinary user can."""
import ctypes
import json
import os
import signal
import socket
import sys

HOME = os.environ["HOME"]
PLACES = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock"]
libc = ctypes.CDLL(None, use_errno=True)


def mine(top):
    found = []
    for directory, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(directory, name)
            if os.lstat(path).st_uid == os.getuid():
                found.append(path)
    return sorted(found)


def objects():
    """System V memory, semaphores and queues of this user, or made for it."""
    found = []
    for kind in "shm", "sem", "msg":
        with open("/proc/sysvipc/" + kind) as table:
            head = table.readline().split()
            for line in table:
                row = dict(zip(head, line.split()))
                if str(os.getuid()) in (row["uid"], row["cuid"]):
                    found.append(kind + " " + row["key"])
    return found


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + pid).st_uid == os.getuid() and int(pid) != os.getpid():
                found.append(open("/proc/" + pid + "/comm").read().strip())
        except OSError:
            pass
    return found


def look():
    print(json.dumps({"home": mine(HOME), "mode": oct(os.stat(HOME).st_mode & 0o7777),
                      "files": [name for place in PLACES for name in mine(place)],
                      "objects": objects(), "processes": processes()}))


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def litter():
    for name in ".profile", ".bashrc", ".pythonrc", ".config", "results":
        write(os.path.join(HOME, name), "export PATH=/tmp\n")
    os.makedirs(HOME + "/.cache/jit/deep", 0o700)
    write(HOME + "/.cache/jit/deep/code", "compiled")
    os.chmod(HOME + "/.cache/jit/deep", 0)
    os.chmod(HOME, 0)
    for place in PLACES[:3] + PLACES[4:]:
        write(place + "/crontab.krun", "* * * * * /tmp/job\n")
        write(place + "/odd name\n\\ \udcff", "")
        os.makedirs(place + "/tree" + "/d" * 60)
        write(place + "/tree/d/d/f", "")
        os.chmod(place + "/tree/d/d", 0)
    os.symlink("/etc", "/tmp/link to etc")
    os.symlink("/srv/krund/kept", "/tmp/link to a file")
    os.mkfifo("/tmp/fifo")
    socket.socket(socket.AF_UNIX).bind("/tmp/socket")
    os.mkdir("/tmp/.X11-unix.d")
    libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o600, None)
    libc.shmget(0x1234, 4096, 0o1666)
    libc.semget(0x1235, 1, 0o1666)
    libc.msgget(0x1236, 0o1666)
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()


look()
sys.stdout.flush()


def run_iter(_):
    global litter
    litter()
    litter = lambda: None
