"""Results without what a learner is to predict; what is hidden is not in them at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.app.evaluation.badges import NONE
from gradwire.blocks.block import Source
from gradwire.runtime.diagram import PortPath, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.evaluation.result import Array, Result
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow import State

NUMBERS = frozenset({"values", "gradients", "states"})
"""What can be concealed of a result."""


def concealed(
    result: Result, hidden: frozenset[str], painted: Mapping[str, State] | None = None
) -> Result:
    """``result`` without what is ``hidden``, of ``NUMBERS``; with the states that were painted.

    What sources are given stays, since predictions start from it. States are found by gradients,
    and so go with them wherever their reasons would give a gradient away.
    """
    hidden = hidden & NUMBERS
    if not hidden:
        return result
    bare = replace(
        result,
        hidden=hidden,
        is_partial=True,
        norms={},
        zeros={},
        badges=NONE,
        apart=(),
        flow=None,
        verdict=_no_verdict,
        variable=_no_verdict,
        contributions={},
        diagnostics=tuple(each for each in result.diagnostics if each.severity == "error"),
    )
    if "values" in hidden:
        bare = replace(bare, values=_given(result))
    if "gradients" in hidden:
        bare = replace(bare, gradients={})
    if "states" in hidden:
        bare = replace(bare, states=dict(painted or {}), wire_trees={})
    return bare


def _given(result: Result) -> dict[str, Array]:
    """The values that sources are given."""
    return {
        port: value
        for port, value in result.values.items()
        if _is_given(result.diagram, PortPath(port))
    }


def _is_given(diagram: Diagram, port: PortPath) -> bool:
    address = resolve(diagram, port.block)
    return address is not None and isinstance(address.block(diagram), Source)


def _no_verdict(name: str, loss: str | None = None) -> None:
    return None
