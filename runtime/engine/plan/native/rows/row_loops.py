"""A region of elementwise arithmetic and reductions of rows as one function for this machine.

Each row goes through one loop after another while it is in the first-level cache: a loop ends where
what follows needs a reduction of it, such as the largest element. What a later loop needs is read
again, computed again where that is cheap, or kept in a row of scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions.singles import FUNCTIONS, decay
from gradwire.runtime.engine.plan.native.loops import (
    INTERLEAVED,
    STORED_TYPES,
    Kernel,
    Operation,
)
from gradwire.runtime.engine.plan.native.operations import emit
from gradwire.runtime.engine.plan.native.rows.folds import FOLDS, ended, step
from gradwire.runtime.engine.plan.native.rows.row_recipe import Order, Place, RowRecipe
from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

HEAD = "define void @rows(ptr %frame, i64 %scratch, i64 %start, i64 %stop) #0 {"
"""The first line of the function."""

_ON_STACK = 1 << 12
"""Columns up to which scratch rows lie on the stack, of which a thread may have little."""

ELEMENTS = STORED_TYPES | {"int32": "i32"}
"""LLVM's type of an element in memory, by dtype."""

_OWN: dict[str, Callable[..., str]] = {
    "decay": lambda w, dtype, x: decay(w, x),
    "reciprocal": lambda w, dtype, x: w.put(f"fdiv {TYPES[dtype]} {number(1, dtype)}, {x}"),
    "without_sign": lambda w, dtype, x: w.put(f"fadd {TYPES[dtype]} {x}, {number(0, dtype)}"),
    "log_of_powers": lambda w, dtype, x: _log_of_powers(w, x),
}
"""Operations that are no primitives: see ``decay``; ``1 / x``; x, but 0 for −0; and ``log x`` of a
float64 from 1 on as float32. Another is "at", which is an element in the column of an index, and 0
in all others.
"""


def scratch_bytes(recipe: RowRecipe) -> int:
    """Bytes of scratch memory whose address a kernel takes as its second argument."""
    return _room(recipe) * len(Order(recipe).stored) if recipe.columns > _ON_STACK else 0


def _room(recipe: RowRecipe) -> int:
    return 8 * recipe.columns


@lru_cache(maxsize=256)
def compiled_rows(recipe: RowRecipe) -> Kernel:
    """The kernel of a recipe: its frame has the arrays, then totals, then what is added to."""
    return Kernel(*machine.function(Rows(recipe).text(), "rows"))


class Rows:
    """Writes the function: the loop over rows, and in it loops over columns."""

    def __init__(self, recipe: RowRecipe) -> None:
        self._recipe = recipe
        self._order = Order(recipe)
        self._w = Writer()
        self._kept: dict[int, str] = {}
        """Names of what is not wide, by number."""
        self._rooms: dict[int, tuple[str, Place]] = {}
        """Addresses of rows that later loops read, and how they lie there, by number."""
        self._parts: list[int] = []
        """Parts of a row, by loop."""
        self._dtypes = [dtype for dtype, _ in recipe.operands]
        self._dtypes += [x.dtype for x in recipe.operations]

    def text(self) -> str:
        """The module in LLVM's assembly language."""
        recipe, first = self._recipe, len(self._recipe.operands)
        self._begin()
        for i, (dtype, place) in enumerate(recipe.operands):
            if place.step or place.by_part:
                self._rooms[i] = f"%row{place.array}", place
            else:
                self._kept[i] = self._loaded(self._one(dtype, place), dtype)
        for i, place in recipe.results:
            if i >= first and recipe.wide[i - first]:
                self._rooms[i] = f"%row{place.array}", place
        self._between(0)
        for loop in range(self._order.count):
            self._loop(loop)
            self._between(loop + 1)
        for i, place in recipe.results:
            if i not in self._rooms:
                self._store(self._one(self._dtypes[i], place), self._kept[i], self._dtypes[i])
        for at, i in enumerate(recipe.totals, start=recipe.arrays):
            if i not in recipe.by_part:
                self._store(f"%row{at}", self._kept[i], "float64")
        return self._whole([recipe.columns // parts for parts in self._parts])

    def _whole(self, lengths: Sequence[int]) -> str:
        """The module with the end of the function, whose loops are over so many columns."""
        w = self._w
        w.lines += [
            "%next = add nuw nsw i64 %number, 1",
            "%again = icmp slt i64 %next, %stop",
            "br i1 %again, label %row, label %end",
            "end:",
            "ret void",
            "}",
            'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'
            " }",
            *_metadata(lengths),
        ]
        return "\n".join([*sorted(w.declared), *w.lines])

    def _begin(self) -> None:
        """The head of the function, with rows of scratch memory, and of a row."""
        w, recipe = self._w, self._recipe
        w.lines += [HEAD, "entry:"]
        for place, i in enumerate(self._order.stored):
            if recipe.columns > _ON_STACK:
                room = w.put(f"add i64 %scratch, {place * _room(recipe)}")
                room = w.put(f"inttoptr i64 {room} to ptr")
            else:
                kind = ELEMENTS[self._dtypes[i]]
                room = w.put(f"alloca {kind}, i64 {recipe.columns}, align 64")
            self._rooms[i] = room, Place(-1)
        self._rows(f"row.{self._order.count}")
        w.lines += ["br label %row.0", "row.0:"]

    def _rows(self, last: str) -> None:
        """The head of a row: addresses. The loop over rows ends in the block named ``last``."""
        w, recipe = self._w, self._recipe
        places = recipe.arrays + len(recipe.totals) + len(recipe.added)
        for i in range(places):
            w.lines += [
                f"%base{i}.at = getelementptr i64, ptr %frame, i64 {2 * i}",
                f"%base{i} = load ptr, ptr %base{i}.at",
                f"%step{i}.at = getelementptr i64, ptr %frame, i64 {2 * i + 1}",
                f"%step{i} = load i64, ptr %step{i}.at",
            ]
        w.lines += [
            "br label %row",
            "row:",
            f"%number = phi i64 [%start, %entry], [%next, %{last}]",
        ]
        for i in range(places):
            w.lines += [
                f"%away{i} = mul i64 %number, %step{i}",
                f"%row{i} = getelementptr i8, ptr %base{i}, i64 %away{i}",
            ]

    def _between(self, level: int) -> None:
        """What has one element in a row and is known before the loop of this level."""
        recipe = self._recipe
        for i, operation in enumerate(recipe.operations, start=len(recipe.operands)):
            if recipe.wide[i - len(recipe.operands)] or operation.name in FOLDS:
                continue
            if self._order.level[i] == level:
                self._kept[i] = self._emit(operation, self._kept)

    def _loop(self, loop: int) -> None:
        """One loop over the columns of each part; folds go on in the block behind it."""
        w, recipe, first = self._w, self._recipe, len(self._recipe.operands)
        at = f"%column{loop}"
        w.lines += [f"br label %part{loop}", f"part{loop}:"]
        start, here = len(w.lines), dict(self._kept)
        here |= self._of_part(loop)
        self._parts.append(recipe.parts if self._needs_parts(loop) else 1)
        w.lines += [f"br label %loop{loop}", f"loop{loop}:"]
        head = len(w.lines)
        phis, parts = list[str](), list[str]()
        ends, totals = list[str](), list[str]()
        for i in range(first + len(recipe.operations)):
            operation = recipe.operations[i - first] if i >= first else None
            computes = loop in self._order.computed.get(i, ())
            if operation is not None and operation.name in FOLDS:
                if computes:
                    part, phi, end = self._fold(i, operation, here[operation.operands[0]], loop)
                    parts += part
                    phis.append(phi)
                    (totals if i in recipe.by_part else ends).extend(end)
            elif computes and operation is not None:
                here[i] = self._emit(operation, here, at)
                if i in self._rooms:
                    self._store(self._element(i, at), here[i], self._dtypes[i], loop)
            elif loop in self._order.needed[i] and i in self._rooms and i not in here:
                here[i] = self._loaded(self._element(i, at), self._dtypes[i], loop)
        for place, i in enumerate(recipe.added, start=recipe.arrays + len(recipe.totals)):
            if self._order.adding(i) == loop:
                self._add(f"%row{place}", here[i], self._dtypes[i], loop)
        back = f"[%column{loop}.next, %loop{loop}]"
        w.lines[head:head] = [f"{at} = phi i64 [%first{loop}, %part{loop}], {back}", *phis]
        w.lines[start:start] = self._part_head(loop, parts)
        w.lines += [
            f"{at}.next = add nuw nsw i64 {at}, 1",
            f"{at}.more = icmp ult i64 {at}.next, %last{loop}",
            f"br i1 {at}.more, label %loop{loop}, label %done{loop}, !llvm.loop !{2 * loop + 1}",
            f"done{loop}:",
            *totals,
        ]
        self._leave_totals(loop)
        w.lines += [
            f"%part{loop}.next = add nuw nsw i64 %part{loop}.number, 1",
            f"%part{loop}.more = icmp ult i64 %part{loop}.next, {self._parts[loop]}",
            f"br i1 %part{loop}.more, label %part{loop}, label %row.{loop + 1}",
            f"row.{loop + 1}:",
            *ends,
        ]

    def _part_head(self, loop: int, folds: list[str]) -> list[str]:
        """The number of a part, the folds of those before, and its first and last column."""
        length = self._recipe.columns // self._parts[loop]
        number = f"%part{loop}.number"
        return [
            f"{number} = phi i64 [0, %row.{loop}], [%part{loop}.next, %done{loop}]",
            *folds,
            f"%first{loop} = mul nuw nsw i64 {number}, {length}",
            f"%last{loop} = add nuw nsw i64 %first{loop}, {length}",
        ]

    def _needs_parts(self, loop: int) -> bool:
        """Whether a loop reads or leaves something of each part; else it goes through all of them
        as one.
        """
        order, recipe = self._order, self._recipe
        reads = any(
            place.by_part and loop in order.needed[i]
            for i, (_, place) in enumerate(recipe.operands)
        )
        return reads or any(loop in order.computed[i] for i in recipe.by_part)

    def _of_part(self, loop: int) -> dict[int, str]:
        """What has one element for each part, of what the loop needs."""
        found = {}
        for i, (dtype, place) in enumerate(self._recipe.operands):
            if place.by_part and loop in self._order.needed[i]:
                kind = ELEMENTS[dtype]
                at = f"getelementptr {kind}, ptr %row{place.array}, i64 %part{loop}.number"
                found[i] = self._loaded(self._w.put(at), dtype)
        return found

    def _leave_totals(self, loop: int) -> None:
        """Write the totals of a part."""
        for at, i in enumerate(self._recipe.totals, start=self._recipe.arrays):
            if i in self._recipe.by_part and loop in self._order.computed[i]:
                place = f"getelementptr double, ptr %row{at}, i64 %part{loop}.number"
                self._store(self._w.put(place), self._kept[i], "float64")

    def _emit(self, operation: Operation, names: dict[int, str], column: str = "") -> str:
        given = [self._dtypes[i] for i in operation.operands]
        inputs = [names[i] for i in operation.operands]
        if operation.name == "at":
            here = self._w.put(
                f"icmp eq i32 {self._w.put(f'trunc i64 {column} to i32')}, {inputs[0]}"
            )
            return self._w.choose(here, operation.dtype, inputs[1], number(0, operation.dtype))
        attributes = dict(operation.attributes)
        if operation.name in _OWN:
            return _OWN[operation.name](self._w, operation.dtype, *inputs)
        return emit(self._w, operation.name, operation.dtype, given, inputs, attributes)

    def _fold(
        self, i: int, operation: Operation, name: str, loop: int
    ) -> tuple[list[str], str, list[str]]:
        """The first instruction of a fold for each part, unless parts are folded apart; that for
        each column, and the last ones; in between, a step for a column.
        """
        given = self._dtypes[operation.operands[0]]
        kind, start, more = step(self._w, operation.name, name, given, f"%fold{i}")
        before = []
        if i not in self._recipe.by_part:
            before = [f"%sofar{i} = phi {kind} [{start}, %row.{loop}], [{more}, %done{loop}]"]
            start = f"%sofar{i}"
        phi = f"%fold{i} = phi {kind} [{start}, %part{loop}], [{more}, %loop{loop}]"
        ends, self._kept[i] = ended(operation.name, operation.dtype, kind, more, f"%end{i}")
        return before, phi, ends

    def _add(self, row: str, name: str, dtype: str, loop: int) -> None:
        """Add to the element of a row in this column."""
        kind = TYPES[dtype]
        place = self._w.put(f"getelementptr {kind}, ptr {row}, i64 %column{loop}")
        before = self._loaded(place, dtype, loop)
        self._store(place, self._w.put(f"fadd {kind} {before}, {name}"), dtype, loop)

    def _element(self, i: int, at: str) -> str:
        room, place = self._rooms[i]
        if place.step != 1:
            at = self._w.put(f"mul nsw i64 {at}, {place.step}")
        if place.offset:
            at = self._w.put(f"add nsw i64 {at}, {place.offset}")
        return self._w.put(f"getelementptr {ELEMENTS[self._dtypes[i]]}, ptr {room}, i64 {at}")

    def _one(self, dtype: str, place: Place) -> str:
        """The address of the only element of a row."""
        row = f"%row{place.array}"
        return self._w.put(f"getelementptr {ELEMENTS[dtype]}, ptr {row}, i64 {place.offset}")

    def _loaded(self, place: str, dtype: str, loop: int | None = None) -> str:
        group = "" if loop is None else f", !llvm.access.group !{2 * loop}"
        found = self._w.put(f"load {ELEMENTS[dtype]}, ptr {place}{group}")
        return self._w.put(f"icmp ne i8 {found}, 0") if dtype == "bool" else found

    def _store(self, place: str, name: str, dtype: str, loop: int | None = None) -> None:
        group = "" if loop is None else f", !llvm.access.group !{2 * loop}"
        if dtype == "bool":
            name = self._w.put(f"zext i1 {name} to i8")
        self._w.lines.append(f"store {ELEMENTS[dtype]} {name}, ptr {place}{group}")


def _metadata(lengths: Sequence[int]) -> list[str]:
    """Two entries for each loop over so many columns, what else it has, and what all share."""
    lanes, after = machine.lanes(), 2 * len(lengths)
    shared = after + 4 * len(lengths)
    lines = []
    for loop, columns in enumerate(lengths):
        turns = next(n for n in (INTERLEAVED, 2, 1) if n == 1 or not columns % (n * lanes))
        masked, is_loop = (str(x).lower() for x in (bool(columns % lanes), columns > 2))
        group, own, others = 2 * loop, 2 * loop + 1, after + 4 * loop
        named = ", ".join(f"!{i}" for i in (*range(others, others + 4), shared, shared + 1))
        lines += [
            f"!{group} = distinct !{{}}",
            f"!{own} = distinct !{{!{own}, {named}}}",
            f'!{others} = !{{!"llvm.loop.parallel_accesses", !{group}}}',
            f'!{others + 1} = !{{!"llvm.loop.interleave.count", i32 {turns}}}',
            f'!{others + 2} = !{{!"llvm.loop.vectorize.predicate.enable", i1 {masked}}}',
            # LLVM unrolls a loop over two columns first, and says that no loop is left.
            f'!{others + 3} = !{{!"llvm.loop.vectorize.enable", i1 {is_loop}}}',
        ]
    return [
        *lines,
        f'!{shared} = !{{!"llvm.loop.vectorize.width", i32 {lanes}}}',
        f'!{shared + 1} = !{{!"llvm.loop.unroll.disable"}}',
    ]


def _log_of_powers(w: Writer, x: str) -> str:
    """``log1p(x − 1)``: next to 1 a float32 has too few digits for the logarithm."""
    rest = w.put(f"fsub double {x}, {number(1, 'float64')}")
    return FUNCTIONS["log1p"](w, w.put(f"fptrunc double {rest} to float"))
