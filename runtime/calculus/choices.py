"""Where systems give different numbers for one block, and what is chosen here: one table.

The manual's table, the notes on blocks and the claims about other systems are made of it. Tests run
PyTorch and JAX against it: a difference that no row describes fails, and so does a row that names
a system which gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]
Quantity = Literal["value", "dtype", "gradient", "second derivative"]
SYSTEMS = ("PyTorch", "JAX", "TensorFlow", "MXNet")


@dataclass(frozen=True, slots=True)
class Choice:
    """One point at which a quantity of some blocks differs from system to system.

    ``at(*inputs)`` marks the point in arrays of the block's inputs, by element or by row.
    ``elsewhere`` has the systems that differ from ``here``, and no other. ``extreme`` marks what
    overflow and rounding of intermediate results do: too much for a first table.
    """

    blocks: tuple[str, ...]
    quantity: Quantity
    point: str
    at: Callable[..., Any]
    here: str
    elsewhere: Mapping[str, str]
    why: str
    extreme: bool = False

    def marks(self, *inputs: Array) -> Any:
        """Whether each place, along the first axis of the inputs, is the point."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.at(*inputs))
        return found.any(axis=tuple(range(1, found.ndim)))

    def __str__(self) -> str:
        return f"{self.quantity} of {', '.join(self.blocks)} at {self.point}"


@dataclass(frozen=True, slots=True)
class Convention:
    """A difference in what is reported or done, not in a number of a block."""

    point: str
    here: str
    elsewhere: str


def _any(test: Callable[[Array], Any]) -> Callable[..., Any]:
    """The point at which some input passes a test."""

    def at(*inputs: Array) -> Any:
        found = [test(x).any(axis=tuple(range(1, x.ndim))) for x in inputs if x.dtype.kind == "f"]
        return np.logical_or.reduce(found)

    return at


def _of(*dtypes: str) -> Callable[..., Any]:
    """Every place where an input has one of some dtypes."""
    return lambda *inputs: np.full(len(inputs[0]), any(x.dtype.name in dtypes for x in inputs))


def _both_true(a: Array, b: Array) -> Any:
    return np.equal(a, True) & np.equal(b, True) & (a.dtype == bool)


def _overflowing_power(a: Array, b: Array) -> Any:
    return (a.dtype == np.int64) & (np.abs(a.astype(float)) ** b.astype(float) >= 2.0**63)


def _huge(x: Array) -> Any:
    """Finite, but the square is not."""
    return np.isfinite(x) & ~np.isfinite(x * x)


def _subnormal(x: Array) -> Any:
    return (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)


def _squares_lost(a: Array, b: Array) -> Any:
    """The sum of the squares of finite numbers is 0 or infinite."""
    total = a * a + b * b
    return np.isfinite(a) & np.isfinite(b) & ((total == 0) | np.isinf(total))


def _saturated(p: Array, target: Array) -> Any:
    step = np.finfo(p.dtype).eps
    return (p < step) | (p > 1 - step)


def _no_length(a: Array, b: Array) -> Any:
    return (a == 0).all(-1) | (b == 0).all(-1)


def _tied_windows(x: Array) -> Any:
    """Windows of 2 by 2 whose largest element is there twice, or that have NaN."""
    windows = sliding_window_view(x, (2, 2), axis=(2, 3)).reshape(*x.shape[:2], -1, 4)
    largest = windows == windows.max(-1, keepdims=True)
    return (largest.sum(-1) > 1) | np.isnan(windows).any(-1)


CHOICES = (
    Choice(
        ("Abs",), "gradient", "x = 0", lambda x: x == 0, "0", {"JAX": "1"},
        "0 is the middle of the slopes on both sides.",
    ),
    Choice(
        ("Abs",), "gradient", "x = NaN", np.isnan, "NaN", {"PyTorch": "0", "JAX": "−1"},
        "What is unknown has no known slope.",
    ),
    Choice(
        ("MeanAbsoluteError",), "gradient", "prediction = target", lambda p, t: p == t, "0",
        {"JAX": "1 for the prediction, −1 for the target"},
        "As for Abs.",
    ),
    Choice(
        ("MeanAbsoluteError",), "gradient", "a difference of NaN", lambda p, t: np.isnan(p - t),
        "NaN", {"PyTorch": "0", "JAX": "−1 for the prediction, 1 for the target"},
        "As for Abs.",
    ),
    Choice(
        ("Sign",), "value", "x = NaN", np.isnan, "NaN", {"PyTorch": "0"},
        "A 0 would hide the NaN.",
    ),
    Choice(
        ("Clip",), "gradient", "x = min or x = max", lambda x: (x == 0) | (x == 1), "1",
        {"JAX": "1/2"},
        "A parameter that starts on a limit can leave it.",
    ),
    Choice(
        ("Relu",), "gradient", "x = NaN", np.isnan, "0", {"PyTorch": "1"},
        "The gradient passes where the output is above 0, and NaN is not.",
    ),
    Choice(
        ("LeakyRelu",), "gradient", "x = 0", lambda x: x == 0, "slope", {"JAX": "1"},
        "Where(x > 0, x, slope · x), as its formula says.",
    ),
    Choice(
        ("Elu",), "second derivative", "x = 0", lambda x: x == 0, "alpha", {"PyTorch": "0"},
        "The formula of x ≤ 0 holds at 0.",
    ),
    Choice(
        ("Elu",), "gradient", "x = NaN", np.isnan, "NaN", {"PyTorch": "1 in float32"},
        "What is unknown has no known slope.",
    ),
    Choice(
        ("Elu",), "second derivative", "x = NaN", np.isnan, "NaN", {"PyTorch": "0 in float32"},
        "What is unknown has no known slope.", extreme=True,
    ),
    Choice(
        ("Gelu",), "value", "x = ∞, or nearly", lambda x: np.isinf(x * x) & (x > 0), "x",
        {"PyTorch": "NaN in float32"},
        "The limit.",
    ),
    Choice(
        ("Gelu",), "second derivative", "|x| so large that its square is infinite", _huge, "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Div",), "gradient", "b so small or large that b² is 0 or ∞",
        lambda a, b: np.isfinite(b) & (b != 0) & ((b * b == 0) | np.isinf(b * b)),
        "−(a/b)/b", {"JAX": "−a/b²: NaN"},
        "The quotient is known already.", extreme=True,
    ),
    Choice(
        ("Div",), "second derivative", "b so small or large that b² is 0 or ∞",
        lambda a, b: np.isfinite(b) & (b != 0) & ((b * b == 0) | np.isinf(b * b)),
        "−(a/b)/b and its derivatives", {"JAX": "−a/b² and its derivatives: NaN"},
        "The quotient is known already.", extreme=True,
    ),
    Choice(
        ("Mod",), "value", "a / b is infinite",
        lambda a, b: np.isfinite(a) & (b != 0) & np.isinf(a / b),
        "the remainder", {"PyTorch": "NaN"},
        "Remainders are exact.", extreme=True,
    ),
    Choice(
        ("Mod",), "gradient", "a = ±∞", lambda a, b: np.isinf(a), "NaN for b", {"JAX": "±∞"},
        "The remainder is NaN.", extreme=True,
    ),
    Choice(
        ("Pow",), "gradient", "b = 0 and a = 0 or NaN",
        lambda a, b: (b == 0) & ((a == 0) | np.isnan(a)), "0 for a", {"JAX": "NaN"},
        "a⁰ is 1 for every a.",
    ),
    Choice(
        ("Pow",), "gradient", "a = 0 and b < 0", lambda a, b: (a == 0) & (b < 0), "±∞ for b",
        {"JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Pow",), "second derivative", "b = 0", lambda a, b: b == 0, "1/a by a and b",
        {"PyTorch": "0"},
        "b·aᵇ⁻¹ depends on b at 0 too.",
    ),
    Choice(
        ("Pow",), "second derivative", "a = 0", lambda a, b: a == 0, "its limit, or 0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Maximum", "Minimum"), "gradient", "a = b", lambda a, b: a == b, "1/2 to each side",
        {"TensorFlow": "1 to one side", "MXNet": "1 to one side"},
        "Symmetric, and as over axes.",
    ),
    Choice(
        ("Maximum", "Minimum"), "gradient", "a side is NaN", _any(np.isnan), "1 to both sides",
        {"JAX": "0 to both sides"},
        "NaN stays visible on the way back.",
    ),
    Choice(
        ("Arctan2",), "gradient", "a = b = 0 (or a² + b² so small that it is 0)",
        lambda a, b: a * a + b * b == 0, "0", {"JAX": "NaN"},
        "One NaN spoils a whole step.",
    ),
    Choice(
        ("Arctan2",), "second derivative", "a² + b² is 0 or infinite", _squares_lost, "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Variance",), "value", "the squares overflow", _any(_huge), "∞", {"PyTorch": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Variance",), "gradient", "an element is infinite, or its square",
        _any(lambda x: ~np.isfinite(x * x)), "NaN", {"PyTorch": "±∞ or a number"},
        "The variance is infinite or NaN.", extreme=True,
    ),
    Choice(
        ("Prod",), "second derivative", "an element or a product is infinite, NaN or subnormal",
        _any(lambda x: ~np.isfinite(x * x) | _subnormal(x)), "the product of the others",
        {"PyTorch": "NaN, or too few terms", "JAX": "NaN"},
        "The product of the others does not depend on the element.", extreme=True,
    ),
    Choice(
        ("LogSumExp",), "gradient", "elements so large that log n is lost in rounding",
        _any(_huge), "softmax(x)",
        {"PyTorch": "1 for each of equal ones", "JAX": "NaN beside ∞"},
        "The shares add up to 1.", extreme=True,
    ),
    Choice(
        ("LogSumExp",), "second derivative", "elements so large that log n is lost in rounding",
        _any(_huge), "0", {"PyTorch": "−1 for each of equal ones"},
        "The shares add up to 1.", extreme=True,
    ),
    Choice(
        ("Norm",), "gradient", "length 0", lambda x: (x == 0).all(-1), "0",
        {"JAX": "NaN", "TensorFlow": "NaN", "MXNet": "NaN"},
        "One NaN spoils a whole step.",
    ),
    Choice(
        ("Norm",), "second derivative", "length 0", lambda x: (x == 0).all(-1), "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Norm",), "second derivative", "the squares overflow", _any(_huge), "NaN",
        {"PyTorch": "0"},
        "The length is infinite.", extreme=True,
    ),
    Choice(
        ("BinaryCrossEntropy",), "value", "a logit is infinite (or overflows times the target)",
        lambda p, t: ~np.isfinite(p * p), "∞ or NaN by softplus(z) − t·z",
        {"PyTorch": "∞ or NaN by another formula"},
        "NaN where the two terms are infinite.", extreme=True,
    ),
    Choice(
        ("BinaryCrossEntropy",), "value", "probability 0 or 1", _saturated,
        "−log of one rounding step", {"PyTorch": "100"},
        "As far as the dtype can tell probabilities apart.",
    ),
    Choice(
        ("BinaryCrossEntropy",), "gradient", "probability 0 or 1", _saturated,
        "0 for the prediction", {"PyTorch": "up to 10¹²"},
        "A saturated output would throw away all else; use logits.",
    ),
    Choice(
        ("BinaryCrossEntropy",), "second derivative", "probability 0 or 1", _saturated, "0",
        {"PyTorch": "up to 10¹²"},
        "As its gradient.", extreme=True,
    ),
    Choice(
        ("CosineSimilarity",), "value", "a side is 0, the other infinite or NaN",
        lambda a, b: _no_length(a, b) & ~np.isfinite(a + b).all(-1), "0", {"PyTorch": "NaN"},
        "0 where a side is 0, without exception.", extreme=True,
    ),
    Choice(
        ("CosineSimilarity",), "gradient", "a side is 0", _no_length, "0 for both sides",
        {"PyTorch": "the other direction · 10⁸ for that side"},
        "0 has no direction that a step could turn.",
    ),
    Choice(
        ("CosineSimilarity",), "second derivative", "a side is 0", _no_length, "0",
        {"PyTorch": "up to 10⁸, or NaN"},
        "As its gradient.", extreme=True,
    ),
    Choice(
        ("CosineSimilarity",), "second derivative", "the squares overflow", _any(_huge), "NaN",
        {"PyTorch": "0"},
        "The length is infinite.", extreme=True,
    ),
    Choice(
        ("MaxPool2D",), "gradient", "ties or NaN in a window", _tied_windows,
        "shared evenly; NaN for all of a window with NaN",
        {"PyTorch": "all to the first", "JAX": "all to the first"},
        "As over axes.",
    ),
    Choice(
        ("Add",), "value", "booleans", _both_true, "2 for two true",
        {"PyTorch": "true", "JAX": "true"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Add", "Mul", "Maximum", "Minimum"), "dtype", "booleans", _of("bool"), "int64",
        {"PyTorch": "bool", "JAX": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Sign",), "dtype", "booleans", _of("bool"), "int64", {"PyTorch": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Abs",), "dtype", "booleans", _of("bool"), "int64", {"JAX": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Square", "Pow", "Mod"), "dtype", "booleans", _of("bool"), "int64", {"JAX": "int32"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Sqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Tanh", "Gelu", "Div", "Arctan2",
         "Mean", "Variance", "LogSumExp", "Norm", "Softmax", "LogSoftmax"),
        "dtype", "int64", _of("int64"), "float32", {"JAX": "float64 with 64 bits enabled"},
        "Integers become float32 where reals come out; the block warns of it.",
    ),
    Choice(
        ("LeakyRelu", "Elu", "Softplus"), "dtype", "integers and booleans",
        _of("bool", "int8", "uint8", "int32", "int64"), "float32",
        {"JAX": "float64 with 64 bits enabled"},
        "Integers become float32 where reals come out; the block warns of it.",
    ),
    Choice(
        ("Exp", "Expm1", "Sin", "Cos"), "value", "large int64",
        lambda x: (x.dtype == np.int64) & (np.abs(x) >= 100), "as of float32",
        {"JAX": "as of float64"},
        "Integers become float32 where reals come out; the block warns of it.",
    ),
    Choice(
        ("Softmax", "LogSoftmax"), "value", "integers",
        _of("int8", "uint8", "int32", "int64"), "as of float32",
        {"JAX": "differences wrap round"},
        "Reals come out.",
    ),
    Choice(
        ("Pow",), "value", "an int64 power that overflows", _overflowing_power, "wraps round",
        {"JAX": "another number"},
        "As products of integers do.", extreme=True,
    ),
    Choice(
        ("Sum", "Prod"), "dtype", "uint8, uint16 and uint32", _of("uint8"), "int64",
        {"JAX": "uint64"},
        "uint64 goes with no signed integer.",
    ),
    Choice(
        ("CumulativeSum",), "dtype", "narrow integers", _of("uint8", "int8", "int32"), "int64",
        {"JAX": "the dtype of x"},
        "As Sum.",
    ),
    Choice(
        ("CumulativeSum",), "value", "narrow integers", _of("uint8", "int8", "int32"), "the sum",
        {"JAX": "wraps round"},
        "As Sum.",
    ),
    Choice(
        ("AllTrue", "AnyTrue"), "dtype", "uint8", _of("uint8"), "bool", {"PyTorch": "uint8"},
        "The answer is true or false.",
    ),
    Choice(
        ("Where",), "gradient", "0 · ∞ or NaN on the way to the side not chosen",
        lambda c, a, b: np.zeros(c.shape, bool), "NaN", {"TensorFlow": "0"},
        "The chain rule; the cure is a Where before the function.",
    ),
    Choice(
        ("Round", "Floor", "Ceil"), "gradient", "everywhere", lambda x: np.ones(x.shape, bool),
        "0, connected", {"TensorFlow": "None"},
        "The derivative of a step is 0 wherever there is one.",
    ),
)  # fmt: skip

CONVENTIONS = (
    Convention(
        "gradient of what is not connected", "None; zeros on request",
        "None in PyTorch and TensorFlow, 0 in JAX and MXNet",
    ),
    Convention(
        "a stop behind a loss head", "a stop always wins", "MXNet lets the head's gradient through"
    ),
    Convention(
        "comparisons, argmax, casts to integers", "None, and the wire says NO RULE", "None or 0"
    ),
    Convention(
        "an optimiser and a None gradient", "the variable is skipped, weight decay included",
        "differs",
    ),
    Convention(
        "an integer modulo 0", "fails when the diagram runs",
        "an error in PyTorch, a number in JAX",
    ),
    Convention(
        "subnormal numbers", "kept", "kept in PyTorch, 0 in JAX on a CPU",
    ),
)  # fmt: skip


def choices_of(block: str, system: str | None = None) -> Iterator[Choice]:
    """The rows of a block type; only those that name ``system``, if one is given."""
    for choice in CHOICES:
        if block in choice.blocks and (system is None or system in choice.elsewhere):
            yield choice


def notes(block: str) -> list[str]:
    """What a block's documentation says about other systems, a line a row."""
    return [
        f"{choice.quantity.capitalize()} at {choice.point}: {choice.here}; {_elsewhere(choice)}."
        for choice in choices_of(block)
        if not choice.extreme
    ]


def table(extreme: bool = False) -> str:
    """The choices as a table in Markdown; with ``extreme`` those of overflow and rounding."""
    lines = ["| block | quantity | point | here | elsewhere | why |", "|---|---|---|---|---|---|"]
    for choice in CHOICES:
        if choice.extreme == extreme:
            cells = (", ".join(choice.blocks), choice.quantity, choice.point, choice.here,
                     _elsewhere(choice), choice.why)  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def conventions() -> str:
    """The conventions as a table in Markdown."""
    lines = ["| point | here | elsewhere |", "|---|---|---|"]
    lines += [f"| {row.point} | {row.here} | {row.elsewhere} |" for row in CONVENTIONS]
    return "\n".join(lines) + "\n"


def _elsewhere(choice: Choice) -> str:
    """``NaN in PyTorch and JAX, 1 in TensorFlow``."""
    systems: dict[str, list[str]] = {}
    for system in SYSTEMS:
        if system in choice.elsewhere:
            systems.setdefault(choice.elsewhere[system], []).append(system)
    return ", ".join(f"{says} in {' and '.join(names)}" for says, names in systems.items())
