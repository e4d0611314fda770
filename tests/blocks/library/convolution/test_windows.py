"""How parameters of windows are written: for each axis, or one number for all."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gradwire.blocks.library.convolution.windows import Padding2D, Padding3D, Pair, Triple


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (Pair, 2, (2, 2)),
        (Pair, [2, 1], (2, 1)),
        (Triple, 3, (3, 3, 3)),
        (Padding2D, 0, (0, 0)),
        (Padding2D, "same", "same"),
        (Padding2D, [[0, 1], [1, 1]], ((0, 1), (1, 1))),
        (Padding3D, 1, (1, 1, 1)),
    ],
)
def test_one_number_counts_for_each_axis(kind: Any, given: Any, expected: Any) -> None:
    assert TypeAdapter(kind).validate_python(given) == expected


@pytest.mark.parametrize(("kind", "given"), [(Pair, 0), (Pair, True), (Pair, [1]), (Padding2D, -1)])
def test_what_is_no_number_of_steps_is_refused(kind: Any, given: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(given)


def test_the_schema_takes_both() -> None:
    schema = TypeAdapter(Pair).json_schema()
    assert {x["type"] for x in schema["anyOf"]} == {"integer", "array"}
