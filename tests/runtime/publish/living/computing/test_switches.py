"""StopGradients as switches: one for all uses of a page, and a tape for each inside a Gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradwire.runtime.build import Expression, block, build, loss, page, stop_gradient, variable
from gradwire.runtime.publish.living.computing.switches import LOCKED, MOST_INNER, switches_of
from gradwire.runtime.publish.living.computing.verification import Replay, verify
from gradwire.runtime.publish.living.data import living_data

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


def penalties(count: int) -> Diagram:
    """Several stops, through each of which a Gradient block may differentiate."""
    w = variable("w", 2.0, dtype="float64")
    total = w * w
    for k in range(count):
        stopped = stop_gradient(w, name=f"stop{k}") * w
        total = total + block("Gradient", stopped * stopped, w, name=f"grad{k}")
    return build(loss(total))


def test_a_switch_of_a_page_switches_all_its_uses() -> None:
    @page
    def twice(x: Expression) -> Expression:
        return stop_gradient(x, name="stop") * x

    w = variable("w", 3.0)
    found = switches_of(build(loss(twice(twice(w)))))
    assert [(each.page, each.name) for each in found.all] == [("twice", "stop")]
    assert set(found.paths.values()) == {0} and len(found.paths) == 2
    assert [*found.settings(64)] == [(False,), (True,)]


def test_stops_inside_gradients_have_a_tape_for_each_combination() -> None:
    living = living_data(penalties(2))
    assert living.switches.inner == [0, 1] and len(living.tapes) == 4
    verify(living)
    values = {
        setting: Replay(living, setting, [True]).gradients()["w"]
        for setting in living.switches.settings(64)
    }
    assert len({float(value) for value in values.values() if value is not None}) == 3


@pytest.mark.night
def test_stops_beyond_four_inside_gradients_are_locked() -> None:
    living = living_data(penalties(MOST_INNER + 2))
    locked = [switch.locked for switch in living.switches.all]
    assert locked == [""] * MOST_INNER + [LOCKED] * 2
    assert len(living.tapes) == 2**MOST_INNER
    verify(living)


def test_of_very_many_combinations_only_that_of_the_file_is_shipped() -> None:
    found = switches_of(penalties(3))
    assert [*found.settings(4)] == [(False, False, False)]


@pytest.mark.parametrize("is_open", [False, True])
def test_a_switch_starts_as_the_diagram_has_it(is_open: bool) -> None:
    w = variable("w", 3.0)
    living = living_data(build(loss(stop_gradient(w, open=is_open) * w)))
    assert living.data["switches"][0]["open"] is is_open
    expected = 6.0 if is_open else 3.0
    replay = Replay(living, living.switches.open, [True])
    assert replay.gradients()["w"] == expected
