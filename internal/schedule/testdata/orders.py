"""Computes interleaved.golden and blocked.golden from the definitions in doc.go.

The generator: O'Neill, "PCG: A Family of Simple Fast Space-Efficient
Statistically Good Algorithms for Random Number Generation", HMC-CS-2014-0905,
with the DXSM output permutation and the "cheap" multiplier.
"""

MASK64, MASK128 = (1 << 64) - 1, (1 << 128) - 1
MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341
INCREMENT = 6364136223846793005 << 64 | 1442695040888963407
CHEAP = 0xDA942042E4DD58B5


class PCG:
    def __init__(self, high, low):
        self.state = high << 64 | low

    def draw(self):
        self.state = (self.state * MULTIPLIER + INCREMENT) & MASK128
        high, low = self.state >> 64, self.state & MASK64
        high ^= high >> 32
        high = high * CHEAP & MASK64
        high ^= high >> 48
        return high * (low | 1) & MASK64


def below(source, n):
    while True:
        product = source.draw() * n
        if product & MASK64 >= (1 << 64) % n:
            return product >> 64


def shuffled(turn, source):
    for i in range(len(turn) - 1, 0, -1):
        j = below(source, i + 1)
        turn[i], turn[j] = turn[j], turn[i]
    return turn


def interleaved(seed, number):
    return shuffled(list(range(9)), PCG(seed, number))


def blocked(seed, number):
    """Three groups of three, two and four arms."""
    source = PCG(seed, number)
    groups = shuffled([["0a", "0b", "0c"], ["1a", "1b"], ["2a", "2b", "2c", "2d"]], source)
    return [arm for group in groups for arm in shuffled(group, source)]


def layout(seed, number):
    """The random layout of a round: the offset, and the seed of experiment.relink."""
    source = PCG(seed ^ MASK64, number)
    return 16 * below(source, 256), below(source, 1 << 31)


print("layouts of seed 2026:", [layout(2026, number) for number in range(1, 6)])
for name, order in ("interleaved", interleaved), ("blocked", blocked):
    with open(name + ".golden", "w") as file:
        for seed in 1, 2, MASK64:
            print("seed", seed, file=file)
            for number in range(1, 5):
                print(*order(seed, number), file=file)
