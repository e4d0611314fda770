"""Numbers and sizes as sentences write them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from gradwire.runtime.engine.norms import rms

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


DIGITS = 4
"""Significant digits of a number, where there is room."""
_WRITTEN_OUT = 1e5
"""Below this magnitude a number is given at least to its whole part."""


def number(value: SupportsFloat, digits: int = DIGITS) -> str:
    """``6``, ``0.5207``, ``−57.72``, ``12346``, ``5.5e−6``, ``0``, ``NaN``, ``−∞``, ``true``.

    The one form of a number on faces, lanes, in panels and in sentences: rounded to ``digits``
    significant digits, without trailing zeros, and below 100,000 at least to the whole part.
    Zeros at the end would claim digits that are not known to be 0. Only zero is written as 0.
    Integers and booleans are exact.
    """
    if isinstance(value, np.bool_ | bool):
        return "true" if value else "false"
    if isinstance(value, np.integer | int):
        return f"{int(value)}".replace("-", "−")
    real = float(value) + 0.0  # -0.0 becomes 0.0
    whole = abs(real) < _WRITTEN_OUT and round(abs(real)) >= 10**digits
    text = f"{real:.0f}" if whole else f"{real:.{digits}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("nan", "NaN").replace("inf", "∞").replace("-", "−")


def size(array: Array | None) -> str:
    """``None``, the value of a scalar, else the root mean square: ``rms 0.52``."""
    if array is None:
        return "None"
    if array.size == 1:
        return number(array.reshape(())[()])
    return f"rms {number(rms(array))}"


def apart(by_loss: Mapping[str, Array], total: Array | None) -> str:
    """``3 for L1, −2 for L2 and 1 for the sum of losses``, and which losses contradict each other
    most, if any do; of one loss ``3 for L1``.
    """
    each = [f"{size(array)} for {loss}" for loss, array in by_loss.items()]
    if len(each) == 1:
        return each[0]
    text = f"{', '.join(each)} and {size(total)} for the sum of losses"
    pairs = [(cosine(a, b), x, y) for (x, a), (y, b) in combinations(by_loss.items(), 2)]
    angle, one, other = min(
        ((c, x, y) for c, x, y in pairs if c is not None), default=(0.0, "", "")
    )
    if angle < 0:
        return f"{text}; {one} and {other} pull against each other (cosine {number(angle)})"
    return text


def wild(array: Array) -> str:
    """What is not finite in an array: ``NaN`` if anything is, else ``∞``, ``−∞``, or ``±∞``."""
    parts = np.stack([array.real, array.imag])
    found = {number(x) for x in np.unique(parts[~np.isfinite(parts)])}
    return "NaN" if "NaN" in found else "".join(found) if len(found) < 2 else "±∞"


def share(part: float) -> str:
    """``37 %``: a part of a whole, 0 … 1; only all of it is 100 %, and only none of it 0 %."""
    text = f"{100.0 * part:.0f} %"
    if 0.0 < part < 1.0 and text in ("0 %", "100 %"):
        return "<1 %" if part < 0.5 else ">99 %"
    return text


def percent(before: Array | None, after: Array | None) -> float | None:
    """How much larger (in root mean square) ``after`` is, in percent; None from or to None or 0."""
    if before is None or after is None or not rms(before) > 0:
        return None
    return 100.0 * (rms(after) / rms(before) - 1.0)


def cosine(a: Array | None, b: Array | None) -> float | None:
    """The cosine of the angle between two arrays, in float64; None where one is None or 0."""
    if a is None or b is None:
        return None
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
        lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
        if not lengths > 0:
            return None
        return float(np.clip(float(x @ y) / lengths, -1.0, 1.0))
