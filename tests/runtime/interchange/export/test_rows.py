"""Every primitive has a row for every target: how it is written, or why it can't be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from gradwire.runtime.calculus import Primitive, Trace, Value
from gradwire.runtime.calculus.spelling import Refused
from gradwire.runtime.interchange.export.rows import ExportError, ExportTarget
from gradwire.runtime.interchange.export.source import TARGETS
from gradwire.runtime.interchange.export.systems.jax_rows import JAX
from gradwire.runtime.interchange.export.systems.numpy_rows import NUMPY
from gradwire.runtime.interchange.export.systems.onnx.rows import ROWS as ONNX_ROWS
from gradwire.runtime.interchange.export.systems.onnx.writing import row_of
from gradwire.runtime.interchange.export.systems.torch_rows import TORCH
from tests.runtime.calculus.test_primitives import table
from tests.runtime.calculus.tracing import leaf

TABLES = [NUMPY, TORCH, JAX]
NEVER_COMPUTED = {"leaf", "constant"}
WITHOUT_OPERATOR = {"inverse", "solve", "cholesky"}
"""Primitives that ONNX has no operator for."""


def test_every_target_has_a_table():
    assert [target.name for target in TABLES] == list(TARGETS)


@pytest.mark.parametrize(
    ("target", "rows"), [*((t.name, t.rows) for t in TABLES), ("onnx", ONNX_ROWS)]
)
def test_every_primitive_is_spelled_or_has_a_row_or_a_reason(
    target: str, rows: Mapping[str, object]
):
    texts = {primitive.name: getattr(primitive.spelling, target) for primitive in table()}
    refused = {name: text.reason for name, text in texts.items() if isinstance(text, Refused)}
    assert set(refused) == NEVER_COMPUTED | (WITHOUT_OPERATOR if target == "onnx" else set())
    assert all(refused.values())
    assert {name for name, text in texts.items() if text is None} == set(rows)


@pytest.mark.parametrize(
    "row", [*(target.row for target in TABLES), row_of], ids=[*TARGETS, "onnx"]
)
def test_a_primitive_without_a_row_is_refused_by_its_block(row: Callable[[Value], object]):
    unknown = Primitive("bessel", lambda x: (x.shape, x.dtype), lambda x, *, out: None, (None,))
    trace = Trace()
    trace.owner = "wave"
    value = trace.apply(unknown, leaf(trace))
    with pytest.raises(ExportError, match=r"wave[\s\S]*bessel can't be written for") as caught:
        row(value)
    assert caught.value.location is not None and caught.value.location.block == "wave"


@pytest.mark.parametrize("target", TABLES, ids=lambda target: target.name)
def test_every_helper_is_called_by_some_row_or_helper(target: ExportTarget):
    for name, text in target.helpers.items():
        assert text.count(f"\ndef {name}(") + text.count(f"\nclass {name}(") == 1
        compile(text, name, "exec")
