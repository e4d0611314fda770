"""What is said of the factors of a route does not depend on the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.diagram.paths import WirePath
from runtime.flow.numbers.contributions import RouteFactors

NEAR, FAR = WirePath("near.x"), WirePath("far.x")
BIT = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("factor", [1.0, 1.0 - BIT, 1.0 + BIT])
def test_a_factor_of_1_neither_shrinks_nor_grows(factor: float) -> None:
    route = RouteFactors().behind(NEAR, factor, squashes=False)
    assert not route.changes(grows=True) and not route.changes(grows=False)


def test_a_factor_that_is_not_written_as_1_shrinks_or_grows() -> None:
    assert RouteFactors().behind(NEAR, 0.9999, squashes=False).changes(grows=False)
    assert RouteFactors().behind(NEAR, 1.001, squashes=False).changes(grows=True)


@pytest.mark.parametrize("rounding", [0.0, BIT, -BIT])
def test_of_factors_that_are_equal_up_to_rounding_the_nearest_is_the_worst(rounding: float) -> None:
    route = RouteFactors().behind(FAR, 0.25, squashes=False)
    route = route.behind(NEAR, 0.25 * (1 + rounding), squashes=False)
    assert route.least[1] == route.most[1] == NEAR
    assert route.behind(FAR, 0.2, squashes=False).least[1] == FAR
