"""Changes the governor of all processors in one iteration, which is another one in each execution.

The speed of an emulated processor does not follow its frequency, so this does so many times more
work as the frequency is lower, which it reads from the kernel. The test has made the governors
writable. Prints the iteration.
"""
import glob
import random

POLICIES = "/sys/devices/system/cpu/cpufreq/policy*/"
HIGHEST = 3000000  # kHz
WORK = 40000

done = 0


def set_governors(name):
    for path in glob.glob(POLICIES + "scaling_governor"):
        with open(path, "w") as f:
            f.write(name)


step = random.randrange(50, 90)
print(step, flush=True)
set_governors("performance")


def run_iter(_):
    global done
    if done == step:
        set_governors("powersave")
    done += 1
    with open(POLICIES.replace("*", "0") + "scaling_cur_freq") as f:
        frequency = int(f.read())
    for _ in range(WORK * HIGHEST // frequency):
        pass
