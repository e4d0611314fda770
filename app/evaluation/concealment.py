"""Results of which only a part is shown: what a learner is to predict, or a timeline has not come
to, is not in them at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gradwire.app.evaluation.badges import NONE
from gradwire.blocks.block import Source
from gradwire.runtime.diagram import InstancePath, PortPath, WirePath, resolve

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import Array, EvaluationResult
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow import State
    from gradwire.runtime.lessons import Timeline

NUMBERS = frozenset({"values", "gradients", "states"})
"""What can be concealed of a result."""

_T = TypeVar("_T")


def concealed(
    result: EvaluationResult, hidden: frozenset[str], painted: Mapping[str, State] | None = None
) -> EvaluationResult:
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


def _given(result: EvaluationResult) -> dict[str, Array]:
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


def unknown(result: EvaluationResult) -> EvaluationResult:
    """A result of which nothing is known yet."""
    return replace(
        result,
        values={},
        gradients={},
        contributions={},
        norms={},
        zeros={},
        states={},
        badges=NONE,
        is_partial=True,
        apart=(),
    )


def known(result: EvaluationResult, timeline: Timeline, position: int) -> EvaluationResult:
    """What is known of a result at a position of its timeline; the rest has no key."""
    contributions = _known(
        result.contributions, lambda w: timeline.shows_gradient(WirePath(w), position)
    )
    values = _known(result.values, lambda port: timeline.shows_value(PortPath(port), position))
    gradients = _known(
        result.gradients, lambda name: timeline.shows_sum(InstancePath(name).port("out"), position)
    )
    return replace(
        result,
        values=values,
        gradients=gradients,
        contributions=contributions,
        norms={wire: result.norms.get(wire) for wire in contributions},
        zeros={wire: share for wire, share in result.zeros.items() if wire in contributions},
        states={wire: state for wire, state in result.states.items() if wire in contributions},
        badges=result.badges if position == len(timeline) else NONE,
        is_partial=result.is_partial or position < len(timeline),
        apart=(),
    )


def _known(arrays: Mapping[str, _T], is_known: Callable[[str], bool]) -> dict[str, _T]:
    return {name: array for name, array in arrays.items() if is_known(name)}
