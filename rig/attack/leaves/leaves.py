"""Reports what it finds of an earlier execution, then leaves deep trees and keys behind."""
import ctypes
import json
import os

HOME = os.environ["HOME"]
ADD_KEY, KEYCTL = 248, 250
GET_PERSISTENT, SEARCH = 22, 10
PROCESS, SESSION, USER, USER_SESSION = -2, -3, -4, -5
libc = ctypes.CDLL(None, use_errno=True)


def rings():
    persistent = libc.syscall(KEYCTL, GET_PERSISTENT, -1, PROCESS, 0, 0)
    return {"session": SESSION, "user": USER, "user session": USER_SESSION, "persistent": persistent}


def look():
    keys = [name for name, ring in rings().items()
            if libc.syscall(KEYCTL, SEARCH, ring, b"user", b"krund-left", 0) > 0]
    print(json.dumps({"home": os.listdir(HOME), "tmp": [n for n in os.listdir("/tmp") if n.startswith("left")],
                      "keys": keys}))


def dig(top, levels):
    os.chdir(top)
    for _ in range(levels):
        os.mkdir("left")
        os.chdir("left")
    os.chdir("/")


look()


def run_iter(levels):
    dig(HOME, levels)
    dig("/tmp", 1000)
    for ring in rings().values():
        if libc.syscall(ADD_KEY, b"user", b"krund-left", b"secret", 6, ring) < 0:
            raise OSError(ctypes.get_errno(), "add_key")
