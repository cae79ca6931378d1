"""Two iterations, then it writes to a file system that stands still: no signal ends that."""
count = 0


def run_iter(_):
    global count
    count += 1
    if count == 3:
        with open("/mnt/frozen/file", "w") as f:
            f.write("late")
