"""Puts what a comparison with a framework has shown into the diagram, and says it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.measuring import Measured, measured
from gradwire.runtime.diagram.comparison import MAX_DISAGREEMENTS, Comparison, Disagreement
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.fingerprints import Fingerprints, fingerprints, structure_of
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.flow.words.disagreement import disagreement
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.interchange.importing.imported import Imported, Remark

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

LEAST = 1e-2
"""Gradients are compared relative to at least this share of the largest of all."""
_RANDOM = "numbers can't be compared, because they depend on random ones"
_LATER = "numbers are compared where the doctor computes them, or with check=True"
_BEYOND = 1e6
"""A relative difference from which on it says nothing: theirs is 0 but for rounding."""


def with_comparison(
    imported: Imported, comparison: Comparison, *, is_light: bool = False
) -> Imported:
    """The import, its diagram with a comparison that holds for it, and a remark that tells it.

    One that ``is_light`` has left numbers for later, and holds for any numbers.
    """
    flat, losses = flatten(imported.diagram), [PortPath(loss) for loss in comparison.losses]
    if is_light:
        found = Fingerprints(structure_of(flat, losses), "")
    else:
        found = fingerprints(flat, losses)
    held = comparison.model_copy(
        update={
            "structure": found.structure,
            "values": found.values,
            "disagreements": comparison.disagreements[:MAX_DISAGREEMENTS],
        }
    )
    remark = _remark(held, _LATER if is_light else _RANDOM)
    return replace(
        imported,
        diagram=replace(imported.diagram, comparison=held),
        remarks=(*imported.remarks, remark),
    )


def _remark(found: Comparison, why: str) -> Remark:
    if found.unchecked:
        return Remark("checked", f"Not compared with {found.system}: {found.unchecked}.")
    if found.disagreements:
        first = found.disagreements[0]
        others = len(found.disagreements) - 1
        more = f" {others} more {'differs' if others == 1 else 'differ'}." if others else ""
        text = f"{disagreement(found.system, first)}{more}"
        return Remark("checked", text, str(PortPath(first.at).block))
    if not found.numbers:
        return Remark(
            "checked",
            f"Agrees with {found.system} on which of {found.gradients} gradients are None, "
            f"{found.absent} of them; {why}.",
        )
    what = {0: "the values", 1: "the loss"}.get(len(found.losses), f"{len(found.losses)} losses")
    gradients = ""
    if found.losses:
        plural = "" if found.gradients == 1 else "s"
        gradients = f" and {found.gradients} gradient{plural}, {found.absent} of them None,"
    apart = number(found.apart, 2)
    text = f"Agrees with {found.system}: {what}{gradients} differ by at most {apart}."
    return Remark("checked", text)


def apart(ours: Array, theirs: Array | Measured, least: float = 0.0) -> float:
    """The largest difference, relative to the largest of their numbers, or to ``least``; that of
    the sizes of arrays of which one is known in short.

    NaN equals NaN, and ∞ equals ∞; where only one of both is finite, they are ∞ apart.
    """
    if isinstance(theirs, Measured):
        return measured(ours).apart(theirs, least)
    if ours.shape != theirs.shape:
        return math.inf
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return math.inf
    with np.errstate(all="ignore"):
        difference = np.abs(ours[finite].astype(np.float64) - theirs[finite]).max(initial=0)
    return float(difference / max(np.abs(theirs[finite]).max(initial=0), least, 1e-30))


def largest(gradients: Iterable[Array | Measured | None]) -> float:
    """The largest finite number of all gradients, or the largest root mean square."""

    def size(gradient: Array | Measured) -> float:
        if isinstance(gradient, Measured):
            return gradient.size
        return float(np.abs(gradient[np.isfinite(gradient)]).max(initial=0))

    return max((size(gradient) for gradient in gradients if gradient is not None), default=0.0)


def differing(
    what: str,
    loss: str,
    at: str,
    theirs: Array | Measured | None,
    ours: Array | None,
    how_far: float = math.inf,
) -> Disagreement:
    """A disagreement about two arrays, or an array and no gradient."""
    both = [x if x is None or isinstance(x, Measured) else measured(x) for x in (theirs, ours)]
    return Disagreement.model_validate(
        {
            "what": what,
            "of": loss,
            "at": at,
            "theirs": None if both[0] is None else both[0].shown,
            "ours": None if both[1] is None else both[1].shown,
            "apart": how_far if how_far < _BEYOND else None,
            "single": all(x is None or x.elements == 1 for x in both),
        }
    )
