"""What a living page can't compute, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import RunError
from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus.dtypes import INTEGERS, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF, RESHAPE
from gradwire.runtime.publish.living.computing.kernels import KERNELS
from gradwire.runtime.publish.living.computing.numbers import LARGEST_INTEGER
from gradwire.runtime.publish.living.writing.repeats import is_long, repeats

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Primitive
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.publish.living.computing.tape import Tape

MOST_ELEMENTS = 1_000_000
"""Numbers of all arrays that a page keeps in memory: about 8 MB."""
MOST_COMPUTED = 20_000_000
"""Numbers of all arrays in all steps of loops, of which a page keeps only some."""
MOST_OPERATIONS = 20_000
DTYPES = frozenset({"float64", "float32", "bool"}) | frozenset(INTEGERS)
_WITHOUT_KERNEL = frozenset({LEAF.name, CONSTANT.name, RESHAPE.name, "collect"})


def require_program(program: Program) -> None:
    """Raise RunError if the diagram has errors, or nothing to differentiate."""
    for diagnostic in program.diagnostics:
        if diagnostic.severity == "error":
            raise RunError(str(diagnostic), next_step="Repair the diagram first.")
    if not program.heads():
        raise RunError("The diagram has no loss.", next_step="Add a Loss block.")
    for head in program.heads():
        value = program.ports[head]
        if not is_float(value.dtype) or (value.shape and not program.block(head.block).head):
            raise RunError(f"{head} is no number to differentiate.")


def require_data(tapes: Sequence[Tape]) -> None:
    """Raise RunError if the page's script can't compute what a tape says."""
    for tape in tapes:
        for reason in _obstacles(tape):
            raise RunError(reason)


def _obstacles(tape: Tape) -> Iterator[str]:
    count = len(tape.ops)
    computed = total = sum(op.value.size for op in tape.ops)
    uses = (str(path) for paths in tape.program.flat.uses.values() for path in paths)
    if (count > MOST_OPERATIONS or total > MOST_ELEMENTS) and is_long(uses):
        count, total = _as_loops(tape.data["ops"])
    if count > MOST_OPERATIONS:
        yield f"It has {count:,} operations, and a page computes {MOST_OPERATIONS:,}."
    if total > MOST_ELEMENTS:
        yield f"It computes {total:,} numbers, and a page {MOST_ELEMENTS:,}."
    if computed > MOST_COMPUTED:
        yield f"Its loops compute {computed:,} numbers, and those of a page {MOST_COMPUTED:,}."
    for op in tape.ops:
        value = op.value
        if value.dtype not in DTYPES:
            yield f"{value.owner} computes in {value.dtype}, which browsers don't."
        if not _is_computed(value.primitive):
            yield f"The page has no arithmetic for {value.primitive.name!r} of {value.owner}."
        if value.primitive is CONSTANT and not is_exact(value.attributes["array"]):
            yield inexact(str(value.owner))


def _as_loops(ops: Sequence[Sequence[Any]]) -> tuple[int, int]:
    """How many operations a page has, and how many numbers it keeps: those of one period of what
    repeats, and of all periods what is read outside of one. What is summed is added up at once.
    """
    rows, runs = repeats(ops)
    first: list[int] = []
    row_of: list[int] = []
    times = [1] * len(rows)
    for start, width, count, _ in runs:
        row_of += range(row_of[-1] + 1 if row_of else 0, start)
        first.append(len(row_of))
        row_of += [*range(start, start + width)] * count
    row_of += range(row_of[-1] + 1 if row_of else 0, len(rows))
    loops = {
        row: (at, width, count)
        for at, (start, width, count, _) in zip(first, runs, strict=True)
        for row in range(start, start + width)
    }
    for place, (name, inputs, *_) in enumerate(ops):
        at, width, _ = loops.get(row_of[place], (place, 1, 1))
        period = at + (place - at) // width * width
        is_apart = row_of[place] not in loops
        for x in inputs if not (is_apart and name == "collect") else ():
            if is_apart or not period <= x < period + width:
                while ops[x][0] == "reshape":
                    x = ops[x][1][0]
                times[row_of[x]] = loops.get(row_of[x], (0, 1, 1))[2]
    sizes = (prod(row[2]) for row in rows)
    return len(rows), sum(size * count for size, count in zip(sizes, times, strict=True))


def _is_computed(primitive: Primitive) -> bool:
    """A plug-in's is computed as it is spelled, by its name."""
    is_known = primitive.name in KERNELS | _WITHOUT_KERNEL
    return (
        is_known
        if is_own(primitive.kernel)
        else not is_known and bool(primitive.spelling.javascript)
    )


def is_exact(array: Array) -> bool:
    """Whether JavaScript's numbers have all integers of an array; floats are as they are."""
    if array.dtype.kind not in "iu" or not array.size:
        return True
    return max(abs(int(array.max())), abs(int(array.min()))) <= LARGEST_INTEGER


def inexact(place: str) -> str:
    """The reason why integers can't be published."""
    return f"{place} has integers beyond 2⁵³, which JavaScript's numbers don't have."
