"""Pieces of source code: names that can't be anything else, numbers, expressions, and loops."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


WIDTH = 100
INDENT = "    "
INLINE = 32
"""Elements up to which an array is written into the source."""
_NOT_PLAIN = re.compile(r"[^0-9A-Za-z]+")
_FUNCTION = re.compile(r"compute_.*|.*_v[0-9]+")
"""Names of functions besides those of pages: of blocks, and of other versions of a page."""
_NOT_SHOWN = re.compile(r"[^\x20-\x7e]+")


class Code(NamedTuple):
    """An expression, and whether it needs no brackets as a part of another."""

    text: str
    atomic: bool = True

    def __format__(self, spec: str) -> str:
        """Formatted with ``p``, it can be an operand or be followed by a dot."""
        return f"({self.text})" if spec == "p" and not self.atomic else self.text


def identifier(text: str) -> str:
    """An identifier that reads like ``text``, which may be anything."""
    name = _NOT_PLAIN.sub("_", text).strip("_") or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def remark(text: str) -> str:
    """Text for a comment or a docstring: one line of plain characters that ends neither."""
    shown = _NOT_SHOWN.sub(" ", text).replace("\\", "/").replace('"', "'")
    return " ".join(shown.split())[:200]


def string(text: str) -> str:
    """A string that reads as ``text`` and can be nothing else, in ASCII."""
    written = ascii(text)
    if written[0] == "'" and '"' not in written:
        return f'"{written[1:-1]}"'
    return written


@dataclass
class Names:
    """Identifiers of one scope; each is given once."""

    taken: set[str] = field(default_factory=set)
    local: bool = False
    """Whether they are inside a function, and must not be what functions may be called."""

    def fresh(self, text: str, between: str = "_") -> str:
        """An identifier like ``text`` that nothing else has: others with that stem are numbered."""
        stem = identifier(text)
        if self.local and _FUNCTION.fullmatch(stem):
            stem += "_"
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}{between}{number}"
        self.taken.add(name)
        return name


def number_text(array: Array) -> str:
    """A number as Python writes it, with the digits that its dtype needs."""
    scalar: Any = array[()]
    if array.dtype.kind != "f":
        return repr(scalar.item())
    if not np.isfinite(scalar):
        return f'float("{float(scalar)}")'
    text = np.format_float_positional(scalar, trim="0")
    if len(text) > 16 or (float(scalar) != 0 and abs(float(scalar)) < 1e-4):
        text = np.format_float_scientific(scalar, trim="0")
    # The fewest digits of the largest number may stand for one that the dtype doesn't hold.
    return text if abs(float(text)) <= float(np.finfo(array.dtype).max) else repr(float(scalar))


def is_nothing(number: Array) -> bool:
    """Whether a number is 0 or false, and not −0."""
    return not any(number.tobytes())


def is_literal(number: Array) -> bool:
    """Whether a number can be an operand as Python writes it: JAX takes none beyond int64."""
    return number.dtype.kind != "u" or int(number) <= np.iinfo(np.int64).max


def nested(array: Array) -> str:
    """An array as nested lists."""
    if not array.ndim:
        return number_text(array)
    return "[" + ", ".join(nested(np.asarray(row)) for row in array) + "]"


def shape_text(shape: Iterable[int]) -> str:
    """A shape or axes as a tuple."""
    return repr(tuple(int(n) for n in shape))


def axes_text(axes: tuple[int, ...]) -> str:
    """One axis as a number, several as a tuple."""
    return str(axes[0]) if len(axes) == 1 else shape_text(axes)


def index_text(index: tuple[slice, ...]) -> str:
    """Slices as they are written between brackets."""
    return ", ".join(_slice_text(part) for part in index)


def slices_text(index: tuple[slice, ...]) -> str:
    """Slices as a tuple."""
    parts = (f"slice({part.start}, {part.stop}, {part.step})" for part in index)
    return "(" + "".join(f"{part}, " for part in parts).strip() + ")"


def _slice_text(part: slice) -> str:
    bounds = part.start, part.stop, part.step
    start, stop, step = ("" if end is None else str(int(end)) for end in bounds)
    ends = [start, stop] if step in ("", "1") else [start, stop, step]
    return ":".join(ends)


def listed(opening: str, items: Sequence[str], closing: str, wide: int = WIDTH - 4) -> str:
    """Items between brackets: in one line if they fit, else a line each."""
    line = f"{opening}{', '.join(items)}{closing}"
    if (len(line) - line.rfind("\n") <= wide and wide) or not items:
        return line
    inner = "".join(f"\n{INDENT}{item}," for item in items)
    return f"{opening}{inner}\n{closing}"


def deeper(lines: Iterable[str]) -> list[str]:
    """Lines, and each line of several, one level further in."""
    return [INDENT + line if line else "" for whole in lines for line in whole.split("\n")]


def indented(lines: Iterable[str]) -> str:
    """Lines as the body of a function."""
    return "\n".join(deeper(lines)) + "\n"


class LoopText(NamedTuple):
    """A loop: the expressions and names of what goes in and out, and the statements of a step."""

    steps: int
    reverse: bool
    initial: Sequence[str]
    carried: Sequence[str]
    """The names of what is carried, in a step and behind the loop."""
    after: Sequence[str]
    """What they become at the end of a step."""
    arrays: Sequence[str]
    rows: Sequence[str]
    """The names of the elements of arrays along axis 0."""
    stacks: Sequence[tuple[str, str]]
    """The names of what is stacked over the steps, each with what a step gives."""
    sums: Sequence[tuple[str, str]]
    """The same for what is added up."""
    lines: Sequence[str]
    step: str
    """What a function of a step may be called."""


WriteLoop: TypeAlias = Callable[[LoopText], list[str]]


def python_loop(stack: str, flip: str) -> WriteLoop:
    """How a system writes loops in Python: templates by which it stacks a list, and begins an array
    with the last element.
    """

    def write(loop: LoopText) -> list[str]:
        lines = [_assigned(loop.carried, loop.initial)] if loop.carried else []
        lines += [f"{name} = []" for name, _ in loop.stacks]
        lines += [f"{name} = 0" for name, _ in loop.sums]
        arrays = [flip.format(x) if loop.reverse else x for x in loop.arrays]
        given = listed("zip(", [*arrays, "strict=True"], ")", 50) if arrays[1:] else "".join(arrays)
        given = given or f"range({loop.steps})"
        names = ", ".join(loop.rows) or "_"
        names = names if len(names) < 50 else listed("(", loop.rows, ")", 50)
        lines.append(f"for {names} in {given}:")
        step = [*loop.lines]
        step += [f"{name}.append({text})" for name, text in loop.stacks]
        step += [f"{name} = {name} + {text}" for name, text in loop.sums]
        step += [_assigned(loop.carried, loop.after)] if loop.carried else []
        lines += deeper(step)
        order = "[::-1]" if loop.reverse else ""
        lines += [f"{name} = {stack.format(name + order)}" for name, _ in loop.stacks]
        return lines

    return write


def jax_loop(loop: LoopText) -> list[str]:
    """A loop as a function of a step, for ``lax.scan``; JAX derives what has sums itself."""
    step = [f"{_tuple(loop.carried)} = carried"] if loop.carried else []
    step += [f"{_tuple(loop.rows)} = row"] if loop.rows else []
    step += loop.lines
    stacked = [text for _, text in loop.stacks]
    step.append(f"return {_tuple(loop.after)}, {_tuple(stacked)}")
    arguments = [
        loop.step,
        _tuple(loop.initial),
        _tuple(loop.arrays) if loop.arrays else "None",
        f"length={loop.steps}",
        *(["reverse=True"] if loop.reverse else []),
    ]
    names = f"{_tuple(loop.carried)}, {_tuple([name for name, _ in loop.stacks])}"
    return [
        f"def {loop.step}(carried, row):",
        *deeper(step),
        "",
        listed(f"{names} = lax.scan(", arguments, ")"),
    ]


def _assigned(names: Sequence[str], texts: Sequence[str]) -> str:
    return f"{', '.join(names)} = {', '.join(texts)}"


def _tuple(texts: Sequence[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
