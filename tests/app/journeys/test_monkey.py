"""A share of the monkey's life; ``python -m tests.monkey`` does 100,000 acts."""

from __future__ import annotations

import pytest

from tests.monkey.life import Monkey

AT_NIGHT = [pytest.param(seed, 750, marks=pytest.mark.night) for seed in range(4)]


@pytest.mark.night
@pytest.mark.parametrize("seed, acts", [(4, 60), *AT_NIGHT])
def test_whatever_is_done_the_diagram_is_valid_and_history_exact(qapp, seed, acts):
    monkey = Monkey(seed)
    try:
        monkey.live(range(acts))
    finally:
        monkey.close()
