"""The library as text and JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from gradwire.blocks import Block
from gradwire.blocks.registry import registry
from gradwire.runtime.publish.library import block_json, block_parts, parameter_type
from gradwire.runtime.publish.text import plain


class Sample(Block):
    """Scales and adds, ``out = k * x + sum(more)``.

    Second paragraph.
    """

    symbol: ClassVar[str] = "∿"
    formula: ClassVar[str] = "y = k x"
    surrogate: ClassVar[bool] = True

    k: Annotated[int, Field(ge=1, lt=9)] = 2
    """Factor."""
    axis: int | None = None
    mode: Literal["none", "batch"] = "none"
    widths: tuple[Annotated[int, Field(ge=0)] | None, ...] | None = None
    pair: tuple[float, bool] = (1.0, True)

    def forward(self, xp: Any, x: Any, bias: Any = 0.5, mask: Any = None, *more: Any) -> Any:
        return sum(more, self.k * x + bias)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k", "integer ≥ 1 < 9"),
        ("axis", "integer or null"),
        ("mode", "none | batch"),
        ("widths", "list of (integer ≥ 0 or null) or null"),
        ("pair", "(number, true or false)"),
    ],
)
def test_types_in_words(name, text):
    assert parameter_type(Sample.parameters()[name]) == text


def test_details_name_everything():
    text = plain(block_parts(Sample))
    for piece in (
        "Scales and adds",
        "Second paragraph.",
        "y = k x",
        "not the derivative",
        "Factor.",
    ):
        assert piece in text
    lines = [line.split("  ")[0:1] + line.split()[-1:] for line in text.splitlines() if line]
    assert ["x", "value"] in lines  # must be wired or given a value
    assert ["bias", "0.5"] in lines
    assert ["mask", "unconnected"] in lines
    assert ["more …", "wires"] in lines


def test_every_registered_block_can_be_shown():
    for cls in registry().classes.values():
        assert cls.summary() in plain(block_parts(cls))
        json.dumps(block_json(cls), allow_nan=False)
