"""Regions: arithmetic, and folds of rows or of columns, and their loops as LLVM's text.

Each row goes through one loop after another while it is in the first-level cache: a loop ends where
what follows needs a fold of it, such as the largest element. What a later loop needs is read again,
or kept in scratch memory. Vectors lie along rows, whose folds are folded across lanes at the end;
or across columns, of which a few vectors go through all lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.runtime.engine.compiler.elements import ElementWriter
from gradwire.runtime.engine.plan.memory import LINE
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions import FUNCTIONS, decay
from gradwire.runtime.engine.plan.native.operations import emit
from gradwire.runtime.engine.plan.native.writer import (
    STORED,
    TYPES,
    Assembly,
    Writer,
    maximum,
    minimum,
    number,
)

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.machine import Kernel
    from gradwire.runtime.engine.plan.native.operations import Operation


FOLDS = frozenset({"sum", "short_sum", "squares", "max", "min", "top", "union", "any", "all"})
"""Operations that make one element of many. Sums are added in float64, a "short_sum" in its own
dtype; "top" is the largest one, where NaN may be the least; "union" has the bits of all elements.
"""


class MemoryPlace(NamedTuple):
    """Where a value is in memory: in which array of the frame, from which element on, and how many
    elements it is from column to column and from line to line: 0 where it has one for all.
    """

    array: int
    step: int = 1
    offset: int = 0
    depth: int = 0


class Recipe(NamedTuple):
    """What a kernel computes of rows, of which each has ``lines`` of ``columns`` elements, or one
    of as many as its second argument says where that is 0; equal recipes share one kernel.

    ``operands`` have a dtype and a place each. ``wide`` tells of each operation whether it has an
    element for every place. ``results`` are numbers, as operands of operations are, with the place
    to which they are written. Folds are of whole rows; where they are ``across`` columns, each
    column has its own. Of what ``is_short`` there is one vector at a time. ``totals`` are the
    numbers of what is written as one float64 for each row, or for each line of those in
    ``by_line``; ``added`` are those of what is added to a row, so that it has the sum of each
    column.
    """

    columns: int
    operands: tuple[tuple[str, MemoryPlace], ...]
    operations: tuple[Operation, ...]
    wide: tuple[bool, ...]
    results: tuple[tuple[int, MemoryPlace], ...]
    totals: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    lines: int = 1
    by_line: frozenset[int] = frozenset()
    across: bool = False
    is_short: bool = False
    is_listed: bool = False
    """Whether a table, at the end of the frame, says to which rows they are added."""

    @property
    def is_fold(self) -> bool:
        """Whether it is one fold alone."""
        return len(self.operations) == 1 and self.operations[0].name in FOLDS

    @property
    def arrays(self) -> int:
        """The number of arrays of operands and results."""
        places = [place for _, place in (*self.operands, *self.results)]
        return 1 + max((place.array for place in places), default=-1)


class Order:
    """In which loops each operation is computed and needed, by its number.

    Folds belong to the loop that reads them; what is not wide is computed between loops, before
    that of its level.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._first = len(recipe.operands)
        self._wide = recipe.wide
        self._written = {i for i, _ in recipe.results}
        self.level = [0] * self._first
        for operation in recipe.operations:
            levels = [self.level[i] for i in operation.operands]
            self.level.append(max(levels, default=0) + (operation.name in FOLDS))
        self.needed: dict[int, set[int]] = defaultdict(set)
        self.computed: dict[int, int] = {}
        ends = {*(i for i, _ in recipe.results), *recipe.totals, *recipe.added}
        for at in reversed(range(len(recipe.operations))):
            i, operation = at + self._first, recipe.operations[at]
            if operation.name in FOLDS:
                self.computed[i] = self.level[i] - 1
            elif recipe.wide[at]:
                needed = self.needed[i] or ({self.level[i]} if i in ends else set())
                self.needed[i] = needed
                if needed:
                    self.computed[i] = min(needed)
            for x in operation.operands if i in self.computed else ():
                self.needed[x].add(self.computed[i])
        for i in recipe.added:
            if i < self._first and not self.needed[i]:
                self.needed[i] = {0}
        self.count = 1 + max(self.computed.values(), default=0)

    def adding(self, i: int) -> int:
        """The loop in which a value is added to its row."""
        return self.computed[i] if i in self.computed else min(self.needed[i])

    @property
    def stored(self) -> list[int]:
        """What a later loop reads of an earlier one that is no result."""
        return [i for i in sorted(self.computed) if self._wide[i - self._first]
                and max(self.needed[i]) > self.computed[i] and i not in self._written]  # fmt: skip


UNITS = 4
"""Vectors at once: while one waits for the result of an operation, the others go on."""

WIDE = 8
"""The same across columns, of functions: what lies far apart is read in longer stretches."""

MANY = 64
"""Operations from which one vector keeps a processor busy; more only take longer to compile."""

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

_INTEGERS = {"float32": "i32", "float64": "i64"}


def scratch_bytes(recipe: Recipe) -> int:
    """Bytes of scratch memory whose address a kernel takes as its second argument."""
    return _room(recipe) * len(Order(recipe).stored)


def _room(recipe: Recipe) -> int:
    """Bytes for a value of a row, or of the columns that go through all lines at once."""
    lanes, columns = machine.lanes(), recipe.columns
    if recipe.across:
        columns = lanes * min(units(recipe), -(-columns // lanes))
    return -(-8 * columns * recipe.lines // LINE) * LINE


def units(recipe: Recipe) -> int:
    """Vectors at once."""
    if recipe.is_short or len(recipe.operations) >= MANY:
        return 1
    is_slow = any(x.name in FUNCTIONS or x.name == "decay" for x in recipe.operations)
    return WIDE if recipe.across and (is_slow or recipe.is_fold) else UNITS


@lru_cache(maxsize=256)
def compiled_region(recipe: Recipe) -> Kernel:
    """The kernel of a recipe: its frame has the address and the bytes from row to row of each
    array, then of totals, then of what is added to.
    """
    return machine.function(Regions(recipe).text(), "region")


_SCRATCH = -1
"""The number of no array: of scratch memory."""

_Room: TypeAlias = "tuple[str, MemoryPlace]"
"""The address of a row, and how a value lies there."""

_Sums: TypeAlias = "Mapping[int, list[str]]"
"""Vectors of folds, by number."""


class _Fold(NamedTuple):
    """What a loop carries from one element to the next."""

    how: str
    given: str
    """The dtype of elements,"""
    dtype: str
    """and of what they are folded to."""

    @property
    def wide(self) -> str:
        """The dtype in which they are folded."""
        return "float64" if self.how in ("sum", "squares") else self.given

    @property
    def start(self) -> str:
        """The fold of no element."""
        if self.how in ("any", "all"):
            return f"splat (i1 {str(self.how == 'all').lower()})"
        nothing = {"max": -inf, "top": -inf, "min": inf, "sum": -0.0, "short_sum": -0.0}.get(
            self.how, 0
        )
        return f"splat ({TYPES[self.wide]} {number(nothing, self.wide)})"

    def one(self, e: ElementWriter, x: str) -> str:
        """The fold of one element."""
        if self.wide != self.given:
            x = e.put(f"fpext {TYPES[self.given]} {x} to double")
        return e.put(f"fmul double {x}, {x}") if self.how == "squares" else x

    def two(self, e: ElementWriter, a: str, b: str) -> str:
        """Two folds as one."""
        kind = TYPES[self.wide]
        match self.how:
            case "sum" | "squares" | "short_sum":
                return e.put(f"fadd {kind} {a}, {b}")
            case "any":
                return e.put(f"or i1 {a}, {b}")
            case "all":
                return e.put(f"and i1 {a}, {b}")
            case "top":
                return e.choose(e.compare("ogt", self.wide, b, a), self.wide, b, a)
            case "union":
                bits = _INTEGERS[self.wide]
                some = (e.put(f"bitcast {kind} {x} to {bits}") for x in (a, b))
                return e.put(f"bitcast {bits} {e.put(f'or {bits} ' + ', '.join(some))} to {kind}")
        return (maximum if self.how == "max" else minimum)(e, self.wide, b, a)

    def end(self, e: ElementWriter, x: str) -> str:
        """The result."""
        return e.put(f"fptrunc double {x} to float") if self.wide != self.dtype else x


class _Here(NamedTuple):
    """Some vectors of a line: the first element, how many, and what counts of the last one."""

    line: str | int
    column: str | int
    vectors: int
    cut: int | str | None

    def lanes(self, u: int) -> int | str | None:
        """How many elements of a vector count, or a mask of those that do; None for all."""
        return self.cut if u == self.vectors - 1 else None


class Regions:
    """The loops of a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.order = recipe, Order(recipe)
        places = recipe.arrays + len(recipe.totals) + len(recipe.added) + recipe.is_listed
        frame = tuple(f"{x}{i}" for i in range(places) for x in ("base", "step"))
        self.w = Assembly("region", "float32", machine.lanes(), frame)
        self.e = ElementWriter(self.w)
        self.units = units(recipe)
        self._first = len(recipe.operands)
        self._dtypes = [dtype for dtype, _ in recipe.operands]
        self._dtypes += [x.dtype for x in recipe.operations]
        self._kept: dict[int, str] = {}
        """What is not wide, by number: one vector of equals, or across columns, several."""
        self._rooms: dict[int, tuple[str, MemoryPlace]] = {}
        """Addresses of rows that loops read or write, and how they lie there, by number."""
        self._count = 0
        self._rows: list[str] = []

    def text(self) -> str:
        """The function ``region``: ``(frame, scratch, start, stop)`` computes rows."""
        w, recipe = self.w, self.recipe
        with w.loop("row", "%start", "%stop") as number:
            rows = [number] * (recipe.arrays + len(recipe.totals))
            last = len(rows) + len(recipe.added)
            to = w.entry(f"%base{last}", number) if recipe.is_listed else number
            rows += [to] * len(recipe.added)
            self._rows = [
                w.add(f"%base{i}", w.multiply(row, f"%step{i}")) for i, row in enumerate(rows)
            ]
            if not recipe.across:
                self._whole(_Here(0, 0, 1, None))
            else:
                width = self.units * w.lanes
                tiles, left = divmod(recipe.columns, width)
                if tiles:
                    with w.loop("tile", 0, tiles) as tile:
                        self._whole(_Here(0, w.multiply(tile, width), self.units, None))
                if left:
                    count, cut = -(-left // w.lanes), left % w.lanes or None
                    self._whole(_Here(0, tiles * width, count, cut))
        return self.w.text()

    def _whole(self, here: _Here) -> None:
        """All loops for a row, or for some vectors across columns."""
        recipe, order = self.recipe, self.order
        self._kept, self._rooms = {}, {}
        width = here.vectors * self.w.lanes if recipe.across else recipe.columns
        for at, i in enumerate(order.stored):
            scratch = self.w.add("%scratch", at * _room(recipe))
            self._rooms[i] = scratch, MemoryPlace(_SCRATCH, depth=width)
        for i, (dtype, place) in enumerate(recipe.operands):
            room = self._rows[place.array], place
            if place.depth or (place.step and not recipe.across):
                self._rooms[i] = room
            elif place.step:
                self._kept[i] = self._read(dtype, room, here)
            else:
                self._kept[i] = self.e.load(dtype, self._address(dtype, room, 0, 0), 0)
        for i, place in recipe.results:
            if i >= self._first and recipe.wide[i - self._first]:
                self._rooms[i] = self._rows[place.array], place
        self.e.vectors = here.vectors if recipe.across else 0
        self._between(0)
        for loop in range(order.count):
            self._loop(loop, here)
            self._between(loop + 1)
        for i, place in recipe.results:
            room = self._rows[place.array], place._replace(depth=0)
            if i not in self._rooms and recipe.across:
                self._write(self._dtypes[i], room, here, self._kept[i])
            elif i not in self._rooms:
                address = self._address(self._dtypes[i], room, 0, 0)
                self.e.store_first(self._dtypes[i], self._kept[i], address)
        for at, i in enumerate(recipe.totals, start=recipe.arrays):
            if i not in recipe.by_line:
                self.e.store_first("float64", self._kept[i], self._rows[at])

    def _between(self, level: int) -> None:
        """What is not wide, and is known before the loop of this level."""
        for i, operation in enumerate(self.recipe.operations, start=self._first):
            if self.recipe.wide[i - self._first] or operation.name in FOLDS:
                continue
            if self.order.level[i] == level:
                self._kept[i] = self._computed(operation, self._kept, None)

    # loops

    def _loop(self, loop: int, here: _Here) -> None:
        """One loop: across columns over lines; else over the vectors of each line, or of all lines
        as one.
        """
        recipe, folds = self.recipe, self._folds(loop)
        if recipe.across:
            starts = {i: [fold.start] * here.vectors for i, fold in folds.items()}
            found = self._repeated(
                recipe.lines, folds, starts,
                lambda line, sums: self._body(loop, here._replace(line=line), folds, sums, {}),
            )  # fmt: skip
            for i, some in found.items():
                self._kept[i] = folds[i].end(self.e, self.e.bundle(some))
            return
        lines = recipe.lines if self._needs_lines(loop) else 1
        columns = recipe.columns * recipe.lines // lines
        vectors = -(-columns // self.w.lanes) or self.units
        chains = max(1, min(self.units, vectors) // max(1, len(folds)))
        starts = {i: [fold.start] * chains for i, fold in folds.items()}
        whole = {i: fold for i, fold in folds.items() if i not in recipe.by_line}

        def line(number: str | int, sums: _Sums) -> _Sums:
            found = self._line(loop, number, columns, folds, {**starts, **sums})
            for i in (i for i in folds if i not in whole):
                row = self._rows[recipe.arrays + recipe.totals.index(i)]
                place = self.w.add(row, self.w.multiply(number, 8))
                self.e.store_first("float64", self._ended(folds[i], found[i]), place)
            return {i: found[i] for i in whole}

        found = self._repeated(lines, whole, {i: starts[i] for i in whole}, line)
        self._kept |= {i: self._ended(whole[i], some) for i, some in found.items()}

    def _folds(self, loop: int) -> dict[int, _Fold]:
        """The folds of a loop, by number."""
        found = {}
        for i, operation in enumerate(self.recipe.operations, start=self._first):
            if operation.name in FOLDS and loop == self.order.computed[i]:
                given = self._dtypes[operation.operands[0]]
                found[i] = _Fold(operation.name, given, operation.dtype)
        return found

    def _needs_lines(self, loop: int) -> bool:
        """Whether a loop reads or leaves something of each line, or lines are not in one row."""
        recipe, order = self.recipe, self.order
        places = [(i, place) for i, (_, place) in enumerate(recipe.operands)] + [*recipe.results]
        return any(loop == order.computed[i] for i in recipe.by_line) or any(
            place.depth
            and place.depth != place.step * recipe.columns
            and (loop in order.needed[i] or loop == order.computed.get(i))
            for i, place in places
        )

    def _line(
        self, loop: int, line: str | int, columns: int, folds: Mapping[int, _Fold], sums: _Sums
    ) -> _Sums:
        """The vectors of a line: some at once, and then those that are left."""
        first = _Here(line, 0, 1, None)
        given = {
            i: self._read(dtype, self._rooms[i], first)
            for i, (dtype, place) in enumerate(self.recipe.operands)
            if place.depth and not place.step and loop in self.order.needed[i]
        }
        width = self.units * self.w.lanes

        def turn(number: str | int, sums: _Sums) -> _Sums:
            column = number * width if isinstance(number, int) else self.w.multiply(number, width)
            return self._body(loop, _Here(line, column, self.units, None), folds, sums, given)

        if not columns:
            return self._any_length(loop, folds, sums, turn)
        turns, left = divmod(columns, width)
        if turns:
            sums = self._repeated(turns, folds, sums, turn)
        if left:
            count, cut = -(-left // self.w.lanes), left % self.w.lanes or None
            sums = self._body(loop, _Here(line, turns * width, count, cut), folds, sums, given)
        return sums

    def _any_length(
        self,
        loop: int,
        folds: Mapping[int, _Fold],
        sums: _Sums,
        turn: Callable[[str | int, _Sums], _Sums],
    ) -> _Sums:
        """The vectors of a line whose length is an argument: those that are left one by one."""
        w, lanes = self.w, self.w.lanes
        turns = w.put(f"udiv i64 %scratch, {self.units * lanes}")
        sums = self._repeated(turns, folds, sums, turn)
        done = w.multiply(turns, self.units * lanes)
        left = w.subtract("%scratch", done)

        def rest(number: str | int, sums: _Sums) -> _Sums:
            away = w.multiply(number, lanes)
            mask = w.lanes_before(w.subtract(left, away))
            here = _Here(0, w.add(done, away), 1, mask)
            return self._body(loop, here, folds, sums, {})

        return self._repeated(
            w.put(f"udiv i64 {w.add(left, lanes - 1)}, {lanes}"), folds, sums, rest
        )

    def _repeated(
        self,
        count: int | str,
        folds: Mapping[int, _Fold],
        sums: _Sums,
        body: Callable[[str | int, _Sums], _Sums],
    ) -> _Sums:
        """What folds are after so many turns of a loop, of which each makes the next ones."""
        if count == 1:
            return body(0, sums)
        self._count += 1
        name = f"loop{self._count}"
        names = {i: [f"%{name}.x{i}.{k}" for k, _ in enumerate(x)] for i, x in sums.items()}
        kinds = {
            x: f"<{self.w.lanes} x {TYPES[folds[i].wide]}>"
            for i, some in names.items()
            for x in some
        }
        first = {x: y for i in sums for x, y in zip(names[i], sums[i], strict=True)}
        with self.w.loop(name, 0, count, first, kinds=kinds) as number:
            found = body(number, names)
            for i, some in names.items():
                for x, y in zip(some, found[i], strict=True):
                    self.w.run(f"{x}.next = bitcast {kinds[x]} {y} to {kinds[x]}")
        return names

    def _ended(self, fold: _Fold, chains: Sequence[str]) -> str:
        """A vector of equals: the fold of all elements of some vectors."""
        whole = reduce(partial(fold.two, self.e), chains)
        kind = TYPES[fold.wide]
        return fold.end(self.e, self.e.all_of(kind, whole, partial(fold.two, self.e)))

    # what is computed in a loop

    def _body(
        self,
        loop: int,
        here: _Here,
        folds: Mapping[int, _Fold],
        sums: _Sums,
        given: Mapping[int, str],
    ) -> _Sums:
        """What is computed of some vectors; what folds are then."""
        recipe, order, names = self.recipe, self.order, {**self._kept, **given}
        found = {i: list(some) for i, some in sums.items()}
        before, self.e.vectors = self.e.vectors, here.vectors
        for i, operand in enumerate(recipe.operands):
            if loop in order.needed[i] and i not in names:
                names[i] = self._read(operand[0], self._rooms[i], here)
                if recipe.across and not recipe.is_fold and loop == min(order.needed[i]):
                    self._fetch(operand[0], self._rooms[i], here, for_writing=False)
        beside: dict[MemoryPlace, dict[int, tuple[str, str]]] = {}
        for i, operation in enumerate(recipe.operations, start=self._first):
            if i in folds:
                self._fold(folds[i], names[operation.operands[0]], here, found[i])
            elif loop == order.computed.get(i):
                names[i] = self._computed(operation, names, here)
                if i not in self._rooms:
                    continue
                place = self._rooms[i][1]
                if place.step == 1:
                    self._write(self._dtypes[i], self._rooms[i], here, names[i])
                    if recipe.across and place.array != _SCRATCH:
                        self._fetch(self._dtypes[i], self._rooms[i], here, for_writing=True)
                else:
                    some = beside.setdefault(place._replace(offset=0), {})
                    some[place.offset] = self._dtypes[i], names[i]
            elif loop in order.needed[i] and i in self._rooms and i not in names:
                names[i] = self._read(self._dtypes[i], self._rooms[i], here)
        for place, some in beside.items():
            self._write_apart(place, some, here)
        for at, i in enumerate(recipe.added, recipe.arrays + len(recipe.totals)):
            if order.adding(i) == loop:
                room, dtype = (self._rows[at], MemoryPlace(at)), self._dtypes[i]
                sum_ = f"fadd {TYPES[dtype]} {self._read(dtype, room, here)}, {names[i]}"
                self._write(dtype, room, here, self.e.put(sum_))
        self.e.vectors = before
        return found

    def _fold(self, fold: _Fold, name: str, here: _Here, sums: list[str]) -> None:
        """Fold some vectors more."""
        vectors = self.e.each(fold.one(self.e, name))
        self.e.vectors, before = 0, self.e.vectors
        for u, x in enumerate(vectors):
            if (some := here.lanes(u)) and not self.recipe.across:
                n, kind = self.w.lanes, f"<{self.w.lanes} x {TYPES[fold.wide]}>"
                mask = f"<{n} x i1> {self.e.mask(some)}"
                x = self.w.put(f"select {mask}, {kind} {x}, {kind} {fold.start}")
            sums[u % len(sums)] = fold.two(self.e, sums[u % len(sums)], x)
        self.e.vectors = before

    def _computed(self, operation: Operation, names: Mapping[int, str], here: _Here | None) -> str:
        """What an operation makes of some vectors."""
        given = [self._dtypes[i] for i in operation.operands]
        inputs, dtype = [names[i] for i in operation.operands], operation.dtype
        if operation.name == "at":
            assert here is not None, "it is wide"
            columns = [self._plus(here.column, u * self.w.lanes) for u in range(here.vectors)]
            number = self.e.bundle([self.e.counted(x) for x in columns])
            is_here = self.e.put(f"icmp eq i32 {number}, {inputs[0]}")
            return self.e.choose(is_here, dtype, inputs[1], self.e.constant(0, dtype))
        if operation.name in _OWN:
            return _OWN[operation.name](self.e, dtype, *inputs)
        attributes = dict(operation.attributes)
        x = emit(self.e, operation.name, dtype, given, inputs, attributes)
        return f"splat ({TYPES[dtype]} {x})" if x.startswith("0x") else x

    # memory

    def _plus(self, a: str | int, b: str | int) -> str | int:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return str(a) if b == 0 else str(b) if a == 0 else self.w.add(str(a), b)

    def _times(self, a: str | int, b: int) -> str | int:
        return a * b if isinstance(a, int) else 0 if b == 0 else self.w.multiply(a, b)

    def _address(
        self, dtype: str, room: _Room, line: str | int, column: str | int, unit: int = 0
    ) -> str:
        """The address of an element, so many vectors further."""
        row, place = room
        size = STORED[dtype][1]
        if place.array == _SCRATCH and self.recipe.across:
            column = 0
        away = self._plus(
            self._times(line, place.depth * size), self._times(column, place.step * size)
        )
        away = self._plus(away, (place.offset + unit * self.w.lanes * place.step) * size)
        return str(self._plus(row, away))

    def _read(self, dtype: str, room: _Room, here: _Here) -> str:
        """Some vectors."""
        step = room[1].step
        if step == 0:
            return self.e.load(dtype, self._address(dtype, room, here.line, 0), 0)
        places = [
            self._address(dtype, room, here.line, here.column, u) for u in range(here.vectors)
        ]
        return self.e.bundle(
            [self.e.load(dtype, x, step, here.lanes(u)) for u, x in enumerate(places)]
        )

    def _fetch(self, dtype: str, room: _Room, here: _Here, *, for_writing: bool) -> None:
        """Bring what lies beside some vectors, which is next, into the first-level cache."""
        size = STORED[dtype][1] * self.w.lanes
        for u in range(here.vectors if room[1].step else 0):
            if u * size % LINE == 0:
                place = self._address(dtype, room, here.line, here.column, here.vectors + u)
                self.w.fetch(place, for_writing=for_writing)

    def _write(self, dtype: str, room: _Room, here: _Here, name: str) -> None:
        for u, x in enumerate(self.e.each(name)):
            place = self._address(dtype, room, here.line, here.column, u)
            self.e.store(dtype, x, place, here.lanes(u))

    def _write_apart(
        self, whole: MemoryPlace, some: Mapping[int, tuple[str, str]], here: _Here
    ) -> None:
        """Write vectors whose elements lie so far apart in an array, by where they begin: those
        that fill all of it in turns.
        """
        first, (dtype, _) = min(some.items())
        is_all = sorted(some) == list(range(first, first + whole.step))
        each = {away: self.e.each(name) for away, (_, name) in sorted(some.items())}
        for u in range(here.vectors):
            lanes = here.lanes(u)
            assert not isinstance(lanes, str), "the length is known"
            for away in [first] if is_all else each:
                room = self._rows[whole.array], whole._replace(offset=away)
                place = self._address(dtype, room, here.line, here.column, u)
                if is_all:
                    vectors = [x[u] for x in each.values()]
                    self.e.store_beside(dtype, vectors, place, lanes)
                else:
                    self.e.store_apart(dtype, each[away][u], place, whole.step, lanes)


def _log_of_powers(w: Writer, x: str) -> str:
    """``log1p(x − 1)``: next to 1 a float32 has too few digits for the logarithm."""
    rest = w.put(f"fsub double {x}, {number(1, 'float64')}")
    return FUNCTIONS["log1p"](w, w.put(f"fptrunc double {rest} to float"))
