"""Runs two iterations, then writes to a frozen file system: no signal ends that."""
count = 0


def run_iter(_):
    global count
    count += 1
    if count == 3:
        with open("/mnt/frozen/file", "w") as f:
            f.write("late")
