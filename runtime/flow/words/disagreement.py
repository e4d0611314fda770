"""What is said of a diagram that is not the program that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.runtime.diagram.comparison import Comparison, Disagreement


def disagreement(system: str, about: Disagreement, has_its_numbers: bool = True) -> str:
    """What differs and from where on, and that numbers were others then, if they were.

    *PyTorch's gradient of w is 0, this diagram's is 1.3: it is not the same program from mask_hook
    (train.py:31) on.*
    """
    from_there = f" from {about.cause} on" if about.cause else ""
    then = "" if has_its_numbers else "With the numbers of the comparison, "
    return f"{then}{_difference(system, about)}: it is not the same program{from_there}."


def _difference(system: str, about: Disagreement) -> str:
    port = PortPath(about.at)
    place = str(port.block if port.port == "out" else port)
    if about.theirs is None:
        return f"{system} gives {place} no gradient, this diagram gives it one"
    if about.ours is None:
        return f"{system} gives {place} a gradient, this diagram gives it none"
    theirs, ours = _is(about, about.theirs), _is(about, about.ours)
    if theirs != ours:
        return f"{system}'s {about.what} of {place} {theirs}, this diagram's {ours}"
    by = "" if about.apart is None else f" by {number(100.0 * about.apart, 2)} % of it"
    return f"{system}'s {about.what} of {place} differs from this diagram's{by}"


def _is(about: Disagreement, size: float) -> str:
    return f"is {number(size)}" if about.single or not size else f"has rms {number(size)}"


def agreement(comparison: Comparison, is_current: bool) -> str:
    """What a comparison without disagreements adds to a reassurance."""
    if comparison.unchecked:
        return f"Not compared with {comparison.system}: {comparison.unchecked}."
    if not is_current:
        return f"Not compared with {comparison.system} since the edit."
    if not comparison.numbers:
        return f"{comparison.system} agrees on which gradients are None."
    return f"{comparison.system} agrees."
