"""A region of elementwise arithmetic and reductions along an axis that is not the last.

Neighbours along such an axis are far apart: vectors lie across it. Some columns at a time go
through one loop after another, level by level, while they are in the cache; what is reduced has one
element for each of them, in scratch memory, as what a later loop needs has for each level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.loops import Kernel, Operation
from gradwire.runtime.engine.plan.native.rows.folds import FOLDS, ended, step
from gradwire.runtime.engine.plan.native.rows.row_loops import ELEMENTS, HEAD, Rows
from gradwire.runtime.engine.plan.native.rows.row_recipe import Order, Place, RowRecipe
from gradwire.runtime.engine.plan.native.writer import Writer

_BYTES = 8
"""Of an element in scratch memory."""


@lru_cache(maxsize=256)
def compiled_columns(recipe: RowRecipe) -> Kernel:
    """The kernel of a recipe without totals, whose parts are levels: its frame has the arrays."""
    return Kernel(*machine.function(_Columns(recipe).text(), "rows"))


def column_scratch_bytes(recipe: RowRecipe) -> int:
    """Bytes of scratch memory whose address a kernel takes as its second argument."""
    lines = recipe.parts * len(Order(recipe).stored) + len(recipe.operations) * 2
    return _BYTES * recipe.columns * lines


class _Columns(Rows):
    """Writes the function: the loop over blocks of columns, in it loops over levels and columns."""

    def __init__(self, recipe: RowRecipe) -> None:
        super().__init__(recipe)
        self._first = len(recipe.operands)
        self._places = {i: place for i, (_, place) in enumerate(recipe.operands)}
        self._results = dict(recipe.results)
        self._folds: dict[int, str] = {}
        """Lines of scratch memory that what is reduced is collected in, by number."""
        self._taken = 0
        self._loops = 0
        self._block = "row"

    def text(self) -> str:
        """The module in LLVM's assembly language."""
        recipe = self._recipe
        self._w.lines += [HEAD, "entry:"]
        self._rows("row.last")
        for i, (_, place) in enumerate(recipe.operands):
            self._rooms[i] = f"%row{place.array}", place
        for i in self._order.stored:
            self._rooms[i] = self._lines(recipe.parts), Place(-1, depth=recipe.columns)
        for i, operation in enumerate(recipe.operations, start=self._first):
            if not recipe.wide[i - self._first]:
                self._rooms[i] = self._lines(), Place(-1)
            elif i in self._results:
                self._rooms[i] = f"%row{self._results[i].array}", self._results[i]
            if operation.name in FOLDS:
                self._folds[i] = self._lines()
        for loop in range(self._order.count):
            self._between(loop)
            self._levels(loop)
        self._between(self._order.count)
        self._open("row.last")
        return self._whole([recipe.columns] * self._loops)

    def _lines(self, count: int = 1) -> str:
        """The address of lines of scratch memory that nothing else takes."""
        away = self._taken * self._recipe.columns * _BYTES
        self._taken += count
        return self._w.put(f"inttoptr i64 {self._w.put(f'add i64 %scratch, {away}')} to ptr")

    def _open(self, name: str) -> None:
        self._w.lines += [f"br label %{name}", f"{name}:"]
        self._block = name

    @contextmanager
    def _columns(self, name: str) -> Iterator[str]:
        """A vectorised loop over the columns: the number of one."""
        w, number, before, at = self._w, self._loops, self._block, f"%{name}.at"
        self._open(name)
        w.lines.append(f"{at} = phi i64 [0, %{before}], [{at}.next, %{name}]")
        yield at
        w.lines += [
            f"{at}.next = add nuw nsw i64 {at}, 1",
            f"{at}.more = icmp ult i64 {at}.next, {self._recipe.columns}",
            f"br i1 {at}.more, label %{name}, label %{name}.end, !llvm.loop !{2 * number + 1}",
            f"{name}.end:",
        ]
        self._block = f"{name}.end"
        self._loops += 1

    def _between(self, level: int) -> None:
        """What has one element in a column and is known before the loop of this level, and the
        starts of what that loop reduces.
        """
        recipe, order = self._recipe, self._order
        here: dict[int, str] = {}
        with self._columns(f"between{level}") as at:
            for i, operation in enumerate(recipe.operations, start=self._first):
                is_fold = operation.name in FOLDS
                if is_fold and level in order.computed[i]:
                    kind, start, _ = self._step(i, operation, Writer(), "", "")
                    self._put_fold(i, at, kind, start)
                if recipe.wide[i - self._first] or order.level[i] != level:
                    continue
                if is_fold:
                    here[i] = self._finished(i, operation, at)
                else:
                    self._read(operation.operands, here, at)
                    here[i] = self._emit(operation, here)
                self._store(self._element(i, at), here[i], self._dtypes[i], self._loops)
                if i in self._results:
                    row = f"%row{self._results[i].array}"
                    self._store(self._at(row, i, at), here[i], self._dtypes[i], self._loops)

    def _levels(self, loop: int) -> None:
        """One loop over the levels, and in it one over the columns."""
        w, recipe, before = self._w, self._recipe, self._block
        name = f"level{loop}"
        self._open(name)
        w.lines.append(f"%{name}.at = phi i64 [0, %{before}], [%{name}.next, %columns{loop}.end]")
        here: dict[int, str] = {}
        with self._columns(f"columns{loop}") as at:
            for i, operation in enumerate(recipe.operations, start=self._first):
                if loop not in self._order.computed.get(i, ()):
                    continue
                self._read(operation.operands, here, at, f"%{name}.at")
                if operation.name in FOLDS:
                    self._fold_in(i, operation, here[operation.operands[0]], at)
                    continue
                here[i] = self._emit(operation, here)
                if i in self._rooms:
                    place = self._element(i, at, f"%{name}.at")
                    self._store(place, here[i], self._dtypes[i], self._loops)
        w.lines += [
            f"%{name}.next = add nuw nsw i64 %{name}.at, 1",
            f"%{name}.more = icmp ult i64 %{name}.next, {recipe.parts}",
            f"br i1 %{name}.more, label %{name}, label %{name}.end",
            f"{name}.end:",
        ]
        self._block = f"{name}.end"

    def _read(
        self, operands: Iterable[int], here: dict[int, str], at: str, level: str = "0"
    ) -> None:
        """Load what is not in a register."""
        for i in operands:
            if i not in here:
                here[i] = self._loaded(self._element(i, at, level), self._dtypes[i], self._loops)

    def _element(self, i: int, at: str, level: str = "0") -> str:
        room, place = self._rooms[i]
        if not place.step:
            at = "0"
        if place.depth and level != "0":
            down = self._w.put(f"mul nsw i64 {level}, {place.depth}")
            at = self._w.put(f"add nsw i64 {down}, {at}")
        return self._at(room, i, at)

    def _at(self, room: str, i: int, at: str) -> str:
        return self._w.put(f"getelementptr {ELEMENTS[self._dtypes[i]]}, ptr {room}, i64 {at}")

    def _step(
        self, i: int, operation: Operation, w: Writer, name: str, fold: str
    ) -> tuple[str, str, str]:
        return step(w, operation.name, name, self._dtypes[operation.operands[0]], fold)

    def _fold_in(self, i: int, operation: Operation, name: str, at: str) -> None:
        """Reduce one element more."""
        kind, _, _ = self._step(i, operation, Writer(), "", "")
        _, _, more = self._step(i, operation, self._w, name, self._get_fold(i, at, kind))
        self._put_fold(i, at, kind, more)

    def _finished(self, i: int, operation: Operation, at: str) -> str:
        """What was reduced."""
        kind, _, _ = self._step(i, operation, Writer(), "", "")
        fold = self._get_fold(i, at, kind)
        lines, name = ended(operation.name, operation.dtype, kind, fold, f"%end{i}")
        self._w.lines += lines
        return name

    def _get_fold(self, i: int, at: str, kind: str) -> str:
        held = "i8" if kind == "i1" else kind
        place = self._w.put(f"getelementptr {held}, ptr {self._folds[i]}, i64 {at}")
        group = f"!llvm.access.group !{2 * self._loops}"
        found = self._w.put(f"load {held}, ptr {place}, {group}")
        return self._w.put(f"icmp ne i8 {found}, 0") if kind == "i1" else found

    def _put_fold(self, i: int, at: str, kind: str, name: str) -> None:
        held = "i8" if kind == "i1" else kind
        if kind == "i1":
            name = self._w.put(f"zext i1 {name} to i8")
        place = self._w.put(f"getelementptr {held}, ptr {self._folds[i]}, i64 {at}")
        group = f"!llvm.access.group !{2 * self._loops}"
        self._w.lines.append(f"store {held} {name}, ptr {place}, {group}")
