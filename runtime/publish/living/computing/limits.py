"""What a living page can't compute, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from numpy import typing as npt

from gradwire.blocks.errors import RunError
from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus.dtypes import INTEGERS, is_float
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF, RESHAPE
from gradwire.runtime.publish.living.computing.kernels import KERNELS
from gradwire.runtime.publish.living.computing.numbers import LARGEST_INTEGER
from gradwire.runtime.publish.living.writing.repeats import is_long, repeats

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Primitive
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.publish.living.computing.tape import Tape

MOST_ELEMENTS = 1_000_000
"""Numbers of all arrays that a page keeps in memory: about 8 MB."""
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
    if (count := _operations(tape)) > MOST_OPERATIONS:
        yield f"It has {count:,} operations, and a page computes {MOST_OPERATIONS:,}."
    total = sum(op.value.size for op in tape.ops)
    if total > MOST_ELEMENTS:
        yield f"It computes {total:,} numbers, and a page {MOST_ELEMENTS:,}."
    for op in tape.ops:
        value = op.value
        if value.dtype not in DTYPES:
            yield f"{value.owner} computes in {value.dtype}, which browsers don't."
        if not _is_computed(value.primitive):
            yield f"The page has no arithmetic for {value.primitive.name!r} of {value.owner}."
        if value.primitive is CONSTANT and not is_exact(value.attributes["array"]):
            yield inexact(str(value.owner))


def _operations(tape: Tape) -> int:
    """How many operations a page has: of what repeats with the steps of a long loop, one period."""
    uses = (str(path) for paths in tape.program.flat.uses.values() for path in paths)
    if len(tape.ops) <= MOST_OPERATIONS or not is_long(uses):
        return len(tape.ops)
    return len(repeats(tape.data["ops"]).rows)


def _is_computed(primitive: Primitive) -> bool:
    """A plug-in's is computed as it is spelled, by its name."""
    is_known = primitive.name in KERNELS | _WITHOUT_KERNEL
    return (
        is_known
        if is_own(primitive.kernel)
        else not is_known and bool(primitive.spelling.javascript)
    )


def is_exact(array: npt.NDArray[Any]) -> bool:
    """Whether JavaScript's numbers have all integers of an array; floats are as they are."""
    if array.dtype.kind not in "iu" or not array.size:
        return True
    return max(abs(int(array.max())), abs(int(array.min()))) <= LARGEST_INTEGER


def inexact(place: str) -> str:
    """The reason why integers can't be published."""
    return f"{place} has integers beyond 2⁵³, which JavaScript's numbers don't have."
