"""Loops as source: those of Python, and ``lax.scan``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from gradwire.runtime.interchange.export.code import indented, listed


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
        lines += _indented(step)
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
        *_indented(step),
        "",
        listed(f"{names} = lax.scan(", arguments, ")"),
    ]


def _assigned(names: Sequence[str], texts: Sequence[str]) -> str:
    return f"{', '.join(names)} = {', '.join(texts)}"


def _tuple(texts: Sequence[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _indented(lines: Sequence[str]) -> list[str]:
    return indented(lines).rstrip("\n").split("\n")
