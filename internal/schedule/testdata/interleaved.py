"""Computes interleaved.golden from the definition in doc.go.

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


def order(n, seed, number):
    source, turn = PCG(seed, number), list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(source, i + 1)
        turn[i], turn[j] = turn[j], turn[i]
    return turn


for seed in 1, 2, MASK64:
    print("seed", seed)
    for number in range(1, 5):
        print(*order(9, seed, number))
