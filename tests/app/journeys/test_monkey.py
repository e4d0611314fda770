"""A share of the monkey's life: 3,000 acts; ``python -m tests.monkey`` does 100,000."""

from __future__ import annotations

import pytest

from tests.monkey.life import Monkey

ACTS = 750


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_done_the_diagram_is_valid_and_history_exact(qapp, seed):
    monkey = Monkey(seed)
    try:
        monkey.live(range(ACTS))
    finally:
        monkey.close()
