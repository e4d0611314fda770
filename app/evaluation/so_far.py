"""What is known of a result while a timeline has not come to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradwire.app.evaluation.badges import NONE
from gradwire.runtime.diagram import InstancePath, PortPath, WirePath

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import Result
    from gradwire.runtime.lessons import Timeline


def unknown(result: Result) -> Result:
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


def known(result: Result, timeline: Timeline, position: int) -> Result:
    """What is known of a result at a position of its timeline; the rest has no key."""
    contributions = _known(
        result.contributions, lambda w: timeline.shows_gradient(WirePath(w), position)
    )
    values = _known(result.values, lambda port: timeline.shows_value(PortPath(port), position))
    gradients = _known(
        result.gradients,
        lambda name: timeline.shows_sum(InstancePath(name).port("out"), position),
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


def _known(arrays: Mapping[str, Any], is_known: Callable[[str], bool]) -> dict[str, Any]:
    return {name: array for name, array in arrays.items() if is_known(name)}
