"""The computed plan of the manual is what its inputs give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.assets import scale


def test_the_page_has_the_numbers_that_are_computed():
    text = scale.PAGE.read_text(encoding="utf-8")
    assert scale.written(text) == text, "run python -m tests.assets.scale --write"


def test_what_the_page_concludes_follows():
    assert scale.memory_table()[1][-1] == "fits"
    one, every = scale.checkpoint_table()[1:]
    assert 2.5 < float(one[-1].rstrip("%")) < 3 and float(every[-1].rstrip("%")) < 0.5


@pytest.mark.parametrize("name", scale.INPUTS)
def test_every_input_counts(name, monkeypatch):
    before = [table() for table in scale.TABLES.values()][1:]
    given = scale.INPUTS[name]
    monkeypatch.setitem(scale.INPUTS, name, replace(given, value=given.value / 4))
    assert [table() for table in scale.TABLES.values()][1:] != before


def test_an_all_reduce_costs_nothing_alone_and_twice_the_bytes_among_many():
    assert scale.ring_time(1e9, 1, 1e9) == 0
    assert scale.ring_time(1e9, 2, 1e9) == pytest.approx(1 + 2 * scale.value("latency"))
    assert scale.ring_time(1e12, 1000, 1e9) == pytest.approx(2000, rel=2e-3)
    assert scale.all_reduce_time(1) == 0
    assert scale.all_reduce_time(8) < scale.all_reduce_time(16) < scale.all_reduce_time(1000)


def test_the_best_interval_loses_least():
    write, mean = 6.0, scale.failure_time()

    def lost(between):
        return write / between + between / (2 * mean)

    best = scale.interval(write)
    assert lost(best) < min(lost(best / 2), lost(best * 2))


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (1.5e9, "B", "1.5 GB"), (999.9e6, "B", "1 GB"), (0.0125, "s", "12.5 ms"),
        (90, "s", "1.5 min"), (7200, "s", "2 h"), (3e6, "s", "34.7 d"), (0.4, "", "0.4"),
        (1000, "", "1,000"), (2.5e9, "", "2.5 · 10⁹"), (5e-6, "s", "5 µs"),
    ],
)  # fmt: skip
def test_quantities_have_three_digits(number, unit, text):
    assert scale.quantity(number, unit) == text
