"""A shorter life that ends as badly: ``python -m tests.monkey.shrink --seed 0 --last 3588``.

Halves the number of acts as often as that can be done, in processes of their own, since a bad end
may be a crash. Prints the acts that are left, for ``python -m tests.monkey --only``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys


def ends_badly(seed: int, numbers: list[int], limit: float, every: int) -> bool:
    """Whether a life of these acts breaks a law, or crashes."""
    only = ",".join(map(str, numbers))
    command = [sys.executable, "-m", "tests.monkey", "--seed", str(seed), "--only", only]
    try:
        ended = subprocess.run(
            [*command, "--every", str(every)], capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode != 0


def shortest(seed: int, last: int, tries: int, every: int) -> list[int]:
    """Acts up to ``last`` that end badly, of which no part could be left out within ``tries``."""
    length = 25
    while not ends_badly(seed, numbers := list(range(max(0, last + 1 - length), last + 1)), 600,
                         every):  # fmt: skip
        assert length <= last, "the whole life ends well"
        length *= 2
    size = len(numbers) // 2
    while size and tries:
        start = 0
        while start < len(numbers) and tries:
            rest = numbers[:start] + numbers[start + size :]
            tries -= 1
            if rest and ends_badly(seed, rest, 60, every):
                numbers = rest
            else:
                start += size
        size //= 2
    return numbers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--last", type=int, required=True)
    parser.add_argument("--tries", type=int, default=150)
    parser.add_argument("--every", type=int, default=250)
    chosen = parser.parse_args()
    left = shortest(chosen.seed, chosen.last, chosen.tries, chosen.every)
    print(",".join(map(str, left)))
