"""A whole elementwise region as one loop, compiled for this machine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.operations import emit
from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

INTERLEAVED = 4
"""Vectors per iteration: while one waits for the result of an operation, the others go on."""

MANY = 64
"""Operations of a loop from which one vector keeps a processor busy; more only take longer to
compile.
"""

STORED_TYPES = {"float32": "float", "float64": "double", "bool": "i8"}
"""LLVM's type of an element in memory, by dtype."""


class Operand(NamedTuple):
    """An array that is read; ``step`` is how many elements it is from column to column, 0 where it
    has one for a whole row.

    Where a row has several axes along which the array lies differently, ``axes`` are the length of
    each and the elements from place to place along it, the last axis first.
    """

    dtype: str
    step: int
    axes: tuple[tuple[int, int], ...] = ()


class Operation(NamedTuple):
    """One primitive; ``operands`` are numbers that count the region's operands, then operations."""

    name: str
    dtype: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Hashable], ...] = ()


class Recipe(NamedTuple):
    """What a kernel computes; equal recipes share one kernel.

    ``results`` are the numbers of the values that are written to arrays. ``folds`` reduce a value
    to one float64 per row: its "sum", the sum of its "squares", or its "largest" element. Rows that
    are short end with a part of a vector.
    """

    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    results: tuple[int, ...]
    folds: tuple[tuple[int, str], ...] = ()
    is_short: bool = False


@dataclass(frozen=True)
class Kernel:
    """``call(frame, columns, start, stop)`` computes the rows from start to stop.

    ``frame`` points to a pair of int64 for every operand, result and fold, in the recipe's order:
    the address of row 0 and the bytes from row to row. Arrays must not overlap, elements of a row
    of results must be contiguous, and a fold has one float64 per row.
    """

    call: Any
    _code: Any
    """Owns the machine code, so it must live as long as ``call``."""


@lru_cache(maxsize=256)
def compiled(recipe: Recipe) -> Kernel:
    """The kernel of a recipe. Compiling ten operations takes some milliseconds, once per recipe."""
    return Kernel(*machine.function(text(recipe), "region"))


def text(recipe: Recipe) -> str:
    """The kernel in LLVM's assembly language: a loop over rows around a vectorised loop."""
    dtypes = [x.dtype for x in recipe.operands] + [x.dtype for x in recipe.operations]
    w = Writer()
    names: list[str] = []
    before: list[str] = []
    for i, operand in enumerate(recipe.operands):
        lines = _load(f"%row{i}", f"%x{i}", operand)
        (w.lines if operand.step or operand.axes else before).extend(lines)
        for length in _powers(operand.axes):
            w.declared.add(f"@below{length} = global i32 {length - 1}")
            before.append(f"%x{i}.below{length} = load i32, ptr @below{length}")
        names.append(f"%x{i}")
    for name, dtype, operands, attributes in recipe.operations:
        given, inputs = [dtypes[i] for i in operands], [names[i] for i in operands]
        names.append(emit(w, name, dtype, given, inputs, dict(attributes)))
    count = len(recipe.operands)
    for place, i in enumerate(recipe.results, start=count):
        w.lines += _store(f"%row{place}", names[i], dtypes[i], place)
    count += len(recipe.results)
    starts, ends = [], []
    for place, (i, how) in enumerate(recipe.folds, start=count):
        fold = _largest if how == "largest" else _sum
        start, end = fold(w, names[i], dtypes[i], how, f"%fold{place}")
        starts.append(start)
        ends.append(f"store double {end}, ptr %row{place}")
    places = count + len(recipe.folds)
    is_narrow = recipe.is_short or len(recipe.operations) >= MANY
    vectors = 1 if is_narrow else INTERLEAVED
    return "\n".join(_frame(w, before, starts, ends, places, vectors, recipe.is_short))


def _load(row: str, name: str, operand: Operand) -> list[str]:
    kind = STORED_TYPES[operand.dtype]
    place = row
    lines = []
    if operand.axes:
        place = f"{name}.at"
        lines += _away(name, operand.axes)
        lines.append(f"{place} = getelementptr {kind}, ptr {row}, i64 {name}.away")
    elif operand.step:
        place, column = f"{name}.at", "%column"
        if operand.step != 1:
            column = f"{name}.column"
            lines.append(f"{column} = mul nsw i64 %column, {operand.step}")
        lines.append(f"{place} = getelementptr {kind}, ptr {row}, i64 {column}")
    if operand.dtype != "bool":
        return [*lines, f"{name} = load {kind}, ptr {place}, !llvm.access.group !0"]
    return [
        *lines,
        f"{name}.byte = load i8, ptr {place}, !llvm.access.group !0",
        f"{name} = icmp ne i8 {name}.byte, 0",
    ]


def _away(name: str, axes: Sequence[tuple[int, int]]) -> list[str]:
    """The elements from the start of a row to its column, as ``name.away``. Columns are counted in
    int32, by which vectors are divided several times as fast.
    """
    rest, total = f"{name}.column", "0"
    lines = [f"{rest} = trunc i64 %column to i32"]
    for i, (length, step) in enumerate(axes):
        place, before = rest, rest
        if i < len(axes) - 1:
            place, rest = f"{name}.place{i}", f"{name}.rest{i}"
            is_power = length in _powers(axes)
            how = (
                f"and i32 {before}, {name}.below{length}"
                if is_power
                else f"urem i32 {before}, {length}"
            )
            lines.append(f"{place} = {how}")
            lines.append(f"{rest} = udiv i32 {before}, {length}")
        if step:
            lines.append(f"{name}.wide{i} = zext i32 {place} to i64")
            lines.append(f"{name}.part{i} = mul nsw i64 {name}.wide{i}, {step}")
            lines.append(f"{name}.sum{i} = add nsw i64 {total}, {name}.part{i}")
            total = f"{name}.sum{i}"
    return [*lines, f"{name}.away = add nsw i64 {total}, 0"]


def _powers(axes: Sequence[tuple[int, int]]) -> set[int]:
    """The lengths by whose remainders LLVM would not vectorise a loop, as it takes them for numbers
    of a few bits that overflow: powers of 2. What is below them is read from memory, so that it
    can't tell.
    """
    return {length for length, _ in axes[:-1] if length & (length - 1) == 0}


def _store(row: str, name: str, dtype: str, place: int) -> list[str]:
    lines, kind = [], STORED_TYPES[dtype]
    if dtype == "bool":
        lines, name = [f"%byte{place} = zext i1 {name} to i8"], f"%byte{place}"
    return [
        *lines,
        f"%out{place} = getelementptr {kind}, ptr {row}, i64 %column",
        f"store {kind} {name}, ptr %out{place}, !llvm.access.group !0",
    ]


def _sum(w: Writer, name: str, dtype: str, how: str, fold: str) -> tuple[str, str]:
    """The initial instruction and the sum after one step; LLVM chooses the order of addition."""
    wide = _wide(w, name, dtype)
    if how == "squares":
        wide = w.put(f"fmul double {wide}, {wide}")
    more = w.put(f"fadd reassoc double {fold}, {wide}")
    return f"{fold} = phi double [0.0, %row], [{more}, %loop]", more


def _largest(w: Writer, name: str, dtype: str, how: str, fold: str) -> tuple[str, str]:
    """The initial instruction and the maximum after one step; NaN wins."""
    more = w.call("maximum", dtype, fold, name)
    start = f"{fold} = phi {TYPES[dtype]} [{number(-inf, dtype)}, %row], [{more}, %loop]"
    return start, _wide(w, more, dtype)


def _wide(w: Writer, name: str, dtype: str) -> str:
    return name if dtype == "float64" else w.put(f"fpext {TYPES[dtype]} {name} to double")


def _frame(
    w: Writer,
    before: list[str],
    starts: list[str],
    ends: list[str],
    places: int,
    vectors: int,
    is_short: bool,
) -> list[str]:
    """The function around the body of the loop."""
    lines = [*sorted(w.declared)]
    lines.append("define void @region(ptr %frame, i64 %columns, i64 %start, i64 %stop) #0 {")
    lines.append("entry:")
    for i in range(places):
        lines += [
            f"%base{i}.at = getelementptr i64, ptr %frame, i64 {2 * i}",
            f"%base{i} = load ptr, ptr %base{i}.at",
            f"%step{i}.at = getelementptr i64, ptr %frame, i64 {2 * i + 1}",
            f"%step{i} = load i64, ptr %step{i}.at",
        ]
    lines += ["br label %row", "row:", "%number = phi i64 [%start, %entry], [%next, %done]"]
    for i in range(places):
        lines += [
            f"%away{i} = mul i64 %number, %step{i}",
            f"%row{i} = getelementptr i8, ptr %base{i}, i64 %away{i}",
        ]
    return [
        *lines,
        *before,
        "br label %loop",
        "loop:",
        "%column = phi i64 [0, %row], [%after, %loop]",
        *starts,
        *w.lines,
        "%after = add nuw nsw i64 %column, 1",
        "%further = icmp slt i64 %after, %columns",
        "br i1 %further, label %loop, label %done, !llvm.loop !1",
        "done:",
        *ends,
        "%next = add nuw nsw i64 %number, 1",
        "%again = icmp slt i64 %next, %stop",
        "br i1 %again, label %row, label %end",
        "end:",
        "ret void",
        "}",
        'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }',
        "!0 = distinct !{}",
        "!1 = distinct !{!1, !2, !3, !4, !5, !6}",
        '!2 = !{!"llvm.loop.vectorize.enable", i1 true}',
        f'!3 = !{{!"llvm.loop.vectorize.width", i32 {machine.lanes()}}}',
        f'!4 = !{{!"llvm.loop.interleave.count", i32 {vectors}}}',
        '!5 = !{!"llvm.loop.parallel_accesses", !0}',
        f'!6 = !{{!"llvm.loop.vectorize.predicate.enable", i1 {str(is_short).lower()}}}',
    ]
