"""What is said of the factors of a route does not depend on the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.build import build, loss, mul, variable
from gradwire.runtime.diagram.paths import WirePath
from gradwire.runtime.engine import Run, lower
from gradwire.runtime.flow.numbers.contributions import Contributions, RouteFactors
from gradwire.runtime.flow.numbers.magnitudes import measure

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


def test_runs_of_other_sizes_are_measured_alike() -> None:
    """As with feeds of another batch size, of which the program knows nothing."""
    program = lower(build(loss(mul(variable("a", 2.0), variable("b", 3.0), name="m"))))
    one, other = WirePath("m.a"), WirePath("m.b")
    for sizes in ((2, 4), (3, 3), (1, 5), (4, 2)):
        arrays = {
            wire: np.arange(1.0, size + 1) for wire, size in zip((one, other), sizes, strict=True)
        }
        found = Contributions(program, Run(contributions=arrays)).sizes
        for wire, array in arrays.items():
            assert found[wire][1:] == measure(array)[1:]
            assert found[wire].rms == pytest.approx(measure(array).rms)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("measured", [False, True])
def test_it_is_known_whether_all_is_finite(bad: float, measured: bool) -> None:
    program = lower(build(loss(mul(variable("a", 2.0), variable("b", 3.0), name="m"))))
    for last, wanted in ((1.0, True), (bad, False)):
        run = Run(contributions={WirePath("m.a"): np.array([1.0, last]), WirePath("m.b"): None})
        about = Contributions(program, run)
        assert not measured or len(about.sizes) == 1
        assert about.are_finite == wanted
