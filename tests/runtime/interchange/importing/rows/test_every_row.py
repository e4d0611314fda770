"""Every row of every system's table gives what the system gives: values, dtypes and gradients."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from tests.runtime.interchange.importing.rows.comparing import compare

BY = {
    "torch": "torch", "jax": "jax", "onnx": "onnx", "tensorflow": "torch", "keras": "torch",
    "mxnet": "torch",
}  # fmt: skip
"""The package that gives what the rows of a system are compared with."""
SYSTEMS: dict[str, Any] = {
    name: import_module(f"tests.runtime.interchange.importing.rows.of_{name}")
    for name, package in BY.items()
    if find_spec(package) is not None
}
GUESSES = 60
"""Calls of a row that are guessed: most are refused by both."""


@pytest.mark.sampled(one_in=23)
@pytest.mark.parametrize(
    ("system", "row"), [(name, row) for name, system in SYSTEMS.items() for row in system.ROWS]
)
@pytest.mark.filterwarnings("ignore")  # guessed calls divide by 0, and worse
def test_a_row_gives_what_its_system_gives(system: str, row: str):
    module = SYSTEMS[system]
    tally = compare(module.cases(row, GUESSES), row)
    assert not tally.different
    if row in module.UNREACHED:
        assert not tally.equal, "It is reached: it can go from UNREACHED."
    else:
        assert tally.equal, "No call reaches it: write one, or say in UNREACHED why there is none."


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_no_call_reaches_is_a_row(system: str):
    assert not {*SYSTEMS[system].UNREACHED} - {*SYSTEMS[system].ROWS}
