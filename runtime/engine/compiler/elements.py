"""Writes what is said of one element for all elements of a vector."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.assembly import Assembly

STORED = {"float32": ("float", 4), "float64": ("double", 8), "bool": ("i8", 1), "int32": ("i32", 4)}
"""LLVM's type of an element in memory, and its bytes, by dtype."""

_PARTS = re.compile(
    r"splat \([^)]*\)|(?<![\w.%@])(float|double|i1|i8|i16|i32|i64)\b"
    r"|(?<=[ (])(0x[0-9A-F]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false)(?=[,) ]|$)"
)
_INTRINSIC = re.compile(r"call (\w+) @llvm\.(\w+)\.(\w+)\((.*)\)")
_OF_REGISTERS = re.compile(r"call float @avx512\.(\w+)\(float ([^)]+)\)")

STRIDE = 8
"""Elements from one that is read to the next up to which all between them are read at once."""


class Elements(Writer):
    """Instructions on vectors, in the notation of those on elements, and what reads and writes
    vectors of any dtype.
    """

    def __init__(self, w: Assembly) -> None:
        super().__init__()
        self.w = w

    def put(self, text: str) -> str:
        """Append an instruction."""
        n = self.w.lanes
        if found := _OF_REGISTERS.match(text):
            name, x = found.groups()
            return self.w.put(f"call <{n} x float> @avx512.{name}.{n}(<{n} x float> {x})")
        if found := _INTRINSIC.match(text):
            kind, name, suffix, operands = found.groups()
            kinds = ", ".join(f"<{n} x {x.split()[0]}>" for x in operands.split(", "))
            full = f"@llvm.{name}.v{n}{suffix}"
            self.w.declare(f"declare <{n} x {kind}> {full}({kinds})")
            return self.w.put(f"call <{n} x {kind}> {full}({self._wide(operands)})")
        return self.w.put(self._wide(text))

    def _wide(self, text: str) -> str:
        last = ""

        def part(found: re.Match[str]) -> str:
            nonlocal last
            if found[1]:
                last = found[1]
                return f"<{self.w.lanes} x {last}>"
            return f"splat ({last} {found[2]})" if found[2] else found[0]

        return _PARTS.sub(part, text)

    def constant(self, x: float, dtype: str) -> str:
        """A vector of equal elements."""
        return f"splat ({TYPES[dtype]} {number(x, dtype)})"

    def all_of(self, kind: str, vector: str, fold: Callable[[str, str], str]) -> str:
        """A vector whose elements all are the fold of those of a vector."""
        apart = self.w.lanes // 2
        while apart:
            others = [i ^ apart for i in range(self.w.lanes)]
            vector = fold(vector, self.chosen(kind, vector, self.w.lanes, others))
            apart //= 2
        return vector

    def chosen(self, kind: str, vector: str, length: int, places: Sequence[int]) -> str:
        """The elements at these places of a vector of so many."""
        return self.w.put(_chosen(f"<{length} x {kind}>", vector, "poison", places))

    def counted(self, first: str | int) -> str:
        """int32 numbers that are counted from the first one."""
        n = self.w.lanes
        start = self.w.everywhere("i32", self.w.put(f"trunc i64 {first} to i32"))
        counted = ", ".join(f"i32 {i}" for i in range(n))
        return self.w.put(f"add <{n} x i32> {start}, <{counted}>")

    # memory

    def load(self, dtype: str, place: str, step: int = 1, count: int | None = None) -> str:
        """A vector of elements so many apart; with ``count``, of so many, and then anything."""
        w, (kind, size) = self.w, STORED[dtype]
        n, some = w.lanes, count or w.lanes
        if step == 0:
            found = w.put(f"load {kind}, ptr {w.pointer(place)}, align {size}")
            found = w.everywhere(kind, found)
        elif step == 1 and some == n:
            found = w.put(f"load <{n} x {kind}>, ptr {w.pointer(place)}, align {size}")
        elif 0 < step <= STRIDE:
            length = (some - 1) * step + 1
            found = w.put(f"load <{length} x {kind}>, ptr {w.pointer(place)}, align {size}")
            places = [i * step if i < some else -1 for i in range(n)]
            found = self.chosen(kind, found, length, places)
        else:
            found = "poison"
            for i in range(some):
                here = w.pointer(w.add(place, i * step * size) if i else place)
                x = w.put(f"load {kind}, ptr {here}, align {size}")
                found = w.put(f"insertelement <{n} x {kind}> {found}, {kind} {x}, i64 {i}")
        return self._number(dtype, found)

    def _number(self, dtype: str, x: str) -> str:
        return self.put(f"icmp ne i8 {x}, 0") if dtype == "bool" else x

    def store(self, dtype: str, x: str, place: str, count: int | None = None) -> None:
        """Write a vector, or so many of its elements."""
        w, (kind, size) = self.w, STORED[dtype]
        x, n, done = self.stored(dtype, x), w.lanes, 0
        if count in (None, n):
            w.run(f"store <{n} x {kind}> {x}, ptr {w.pointer(place)}, align {size}")
            return
        assert count is not None, "it is less than all"
        while done < count:
            some = 1 << (count - done).bit_length() - 1
            part = self.chosen(kind, x, n, range(done, done + some))
            there = w.pointer(w.add(place, done * size) if done else place)
            w.run(f"store <{some} x {kind}> {part}, ptr {there}, align {size}")
            done += some

    def stored(self, dtype: str, x: str) -> str:
        """As it lies in memory."""
        return self.put(f"zext i1 {x} to i8") if dtype == "bool" else x

    def store_beside(
        self, dtype: str, vectors: Sequence[str], place: str, count: int | None
    ) -> None:
        """Write the elements of some vectors in turns, or so many of each."""
        w, (kind, size) = self.w, STORED[dtype]
        n, step, some = w.lanes, len(vectors), count or w.lanes
        whole, length = self.stored(dtype, vectors[0]), n
        for x in vectors[1:]:
            wider = [*range(n), *[-1] * (length - n)]
            other = self.stored(dtype, x)
            other = self.chosen(kind, other, n, wider) if length > n else other
            places = [*range(length), *range(length, length + n)]
            whole = w.put(_chosen(f"<{length} x {kind}>", whole, other, places))
            length += n
        order = [j * n + i for i in range(some) for j in range(step)]
        whole = self.chosen(kind, whole, length, order)
        w.run(f"store <{len(order)} x {kind}> {whole}, ptr {w.pointer(place)}, align {size}")

    def store_apart(self, dtype: str, x: str, place: str, step: int, count: int | None) -> None:
        """Write the elements of a vector so far apart, or so many of them."""
        w, (kind, size) = self.w, STORED[dtype]
        x = self.stored(dtype, x)
        for i in range(count or w.lanes):
            one = w.put(f"extractelement <{w.lanes} x {kind}> {x}, i64 {i}")
            there = w.pointer(w.add(place, i * step * size) if i else place)
            w.run(f"store {kind} {one}, ptr {there}, align {size}")

    def store_first(self, dtype: str, x: str, place: str) -> None:
        """Write the first element of a vector."""
        w, (kind, size) = self.w, STORED[dtype]
        x = self.stored(dtype, x)
        first = w.put(f"extractelement <{w.lanes} x {kind}> {x}, i64 0")
        w.run(f"store {kind} {first}, ptr {w.pointer(place)}, align {size}")


def _chosen(kind: str, a: str, b: str, places: Sequence[int]) -> str:
    indices = ", ".join("i32 poison" if i < 0 else f"i32 {i}" for i in places)
    return f"shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{indices}>"
