"""Costs of a page: what blocks take, with all that they contain, and shared work divided."""

import pytest

from gradwire.app.canvas.state.costs import HeatMeasure, page_costs
from gradwire.runtime.diagram.paths import ROOT, InstancePath
from gradwire.runtime.engine.profile import BETWEEN_BLOCKS, Cost, Profile

PROFILE = Profile(
    costs=(
        Cost(("mul1",), forward=3e-6, backward=5e-6, bytes=2048),
        Cost(("enc/a", "enc/b"), forward=1e-6, bytes=100),
        Cost(("enc/b", "sum1", "sum2", "sum3"), backward=4e-6, bytes=400),
        Cost((BETWEEN_BLOCKS,), forward=9e-6),
    ),
    call=20e-6, tracing=0.0, planning=0.0, runs=1, steps=4, bytes=1, losses=(),
)  # fmt: skip


def test_a_page_block_costs_what_it_contains_and_shared_work_is_divided():
    costs = page_costs(PROFILE, ROOT)
    assert set(costs.blocks) == {"mul1", "enc", "sum1", "sum2", "sum3"}
    assert costs.blocks["mul1"].seconds == pytest.approx(8e-6)
    assert costs.blocks["enc"].seconds == pytest.approx(2e-6)
    assert costs.blocks["enc"].bytes == pytest.approx(200)
    total = sum(cost.seconds for cost in costs.blocks.values())
    assert total == pytest.approx(13e-6)


def test_inside_a_page_only_its_own_blocks_count():
    costs = page_costs(PROFILE, InstancePath("enc"))
    assert {n: round(1e6 * c.seconds, 3) for n, c in costs.blocks.items()} == {"a": 0.5, "b": 1.5}


def test_labels_have_a_unit_and_say_where_they_are_estimates():
    time, memory = page_costs(PROFILE, ROOT), page_costs(PROFILE, ROOT, HeatMeasure.MEMORY)
    assert (time.label("mul1"), memory.label("mul1")) == ("8 µs", "2 KiB")
    assert (time.label("sum1"), memory.label("sum1")) == ("≈ 1 µs", "≈ 100 B")
    assert time.label("elsewhere") == ""


def test_heat_grows_from_nothing_to_the_largest():
    costs = page_costs(PROFILE, ROOT)
    assert costs.heat("mul1") == 1.0
    assert costs.heat("enc") == pytest.approx(0.5)
    assert costs.heat("elsewhere") == 0.0
    assert costs.hottest(2) == ["mul1", "enc"]
    assert page_costs(PROFILE, InstancePath("dec")).most == 0.0
