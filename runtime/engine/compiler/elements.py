"""Writes what is said of one element for all elements of a vector."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native.writer import STORED, TYPES, Writer, number

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.writer import Assembly

_BUNDLE = re.compile(r"%e\d+\b")
_PARTS = re.compile(
    r"splat \([^)]*\)|(?<![\w.%@])(float|double|i1|i8|i16|i32|i64)\b"
    r"|(?<=[ (])(0x[0-9A-F]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false)(?=[,) ]|$)"
)
_INTRINSIC = re.compile(r"call (\w+) @llvm\.(\w+)\.(\w+)\((.*)\)")

STRIDE = 8
"""Elements from one that is read to the next up to which all between them are read at once."""


class ElementWriter(Writer):
    """Instructions on vectors, in the notation of those on elements, and what reads and writes
    vectors of any dtype.

    A name may stand for several vectors: then an instruction is one for each of ``vectors``, one
    after another. While one waits for its result, the others go on; and they share constants.
    """

    def __init__(self, w: Assembly) -> None:
        super().__init__()
        self.w = w
        self.vectors = 0
        """How many vectors a name stands for; 0 for one."""
        self._bundles: dict[str, list[str]] = {}

    def bundle(self, vectors: list[str]) -> str:
        """One name for some vectors."""
        name = f"%e{len(self._bundles)}"
        self._bundles[name] = vectors
        return name

    def each(self, name: str) -> list[str]:
        """The vectors that a name stands for."""
        return self._bundles.get(name) or [name] * max(1, self.vectors)

    def put(self, text: str) -> str:
        """Append an instruction."""
        if not self.vectors:
            return self._put(text)
        return self.bundle([self._put(self._one(text, u)) for u in range(self.vectors)])

    def _one(self, text: str, u: int) -> str:
        """An instruction for one of the vectors that names stand for."""
        return _BUNDLE.sub(lambda found: self._bundles[found[0]][u], text)

    def _put(self, text: str) -> str:
        n = self.w.lanes
        if text.startswith("declare"):  # of vectors as it is
            declared, text = text.split("\n")
            self.w.declare(declared)
            return self.w.put(text)
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

    def if_any(
        self,
        mask: str,
        kinds: Sequence[str],
        then: Callable[[], Sequence[str]],
        other: Callable[[], Sequence[str]],
    ) -> list[str]:
        """What ``then`` writes where the mask of any element is set, else what ``other`` does: so
        many names, of these types.
        """
        w, n = self.w, self.w.lanes
        whole, *more = self.each(mask)
        for x in more:
            whole = w.put(f"or <{n} x i1> {whole}, {x}")
        is_any = w.put(f"icmp ne i{n} {w.put(f'bitcast <{n} x i1> {whole} to i{n}')}, 0")
        names = [f"{is_any[1:]}.{name}" for name in ("then", "other", "end")]
        w.run(f"br i1 {is_any}, label %{names[0]}, label %{names[1]}")
        found = []
        for name, write in zip(names, (then, other), strict=False):
            w.begin(name)
            found.append([self.each(x) for x in write()])
            w.run(f"br label %{names[2]}")
        w.begin(names[2])
        phis = [
            [
                w.put(f"phi <{n} x {kind}> [{a}, %{names[0]}], [{b}, %{names[1]}]")
                for a, b in zip(*both, strict=True)
            ]
            for kind, *both in zip(kinds, *found, strict=True)
        ]
        return [self.bundle(x) if self.vectors else x[0] for x in phis]

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

    def mask(self, some: int | str) -> str:
        """A mask of so many elements; one that is given as it is."""
        if isinstance(some, str):
            return some
        return f"<{', '.join(f'i1 {str(i < some).lower()}' for i in range(self.w.lanes))}>"

    def load(self, dtype: str, place: str, step: int = 1, some: int | str | None = None) -> str:
        """A vector of elements so many apart; perhaps of some, and then anything."""
        w, (kind, size), n = self.w, STORED[dtype], self.w.lanes
        if step == 0:
            found = w.put(f"load {kind}, ptr {w.pointer(place)}, align {size}")
            return self.number(dtype, w.everywhere(kind, found))
        if step == 1 and some is None:
            found = w.put(f"load <{n} x {kind}>, ptr {w.pointer(place)}, align {size}")
            return self.number(dtype, found)
        if isinstance(some, str) or abs(step) > STRIDE:
            return self._masked(dtype, place, step, some)
        count = some or n
        length = (count - 1) * abs(step) + 1
        first = w.add(place, (count - 1) * step * size) if step < 0 else place
        if step == 2 and count == n:  # two vectors, the second of which ends with the last element
            first, second = (
                w.put(f"load <{n} x {kind}>, ptr {w.pointer(x)}, align {size}")
                for x in (place, w.add(place, (n - 1) * size))
            )
            order = [i if i < n else i + 1 for i in range(0, 2 * n, 2)]
            return self.number(dtype, w.put(_chosen(f"<{n} x {kind}>", first, second, order)))
        found = w.put(f"load <{length} x {kind}>, ptr {w.pointer(first)}, align {size}")
        places = [i * step + (length - 1 if step < 0 else 0) for i in range(count)]
        found = self.chosen(kind, found, length, places + [-1] * (n - count))
        return self.number(dtype, found)

    def _masked(self, dtype: str, place: str, step: int, some: int | str | None) -> str:
        """A vector, each element of which is read by itself where they lie apart."""
        w, (kind, size), n = self.w, STORED[dtype], self.w.lanes
        ends = f"i32 {size}, <{n} x i1> {self.mask(n if some is None else some)}, "
        ends += f"<{n} x {kind}> zeroinitializer)"
        name = f"v{n}{kind if kind[0] == 'i' else 'f' + str(8 * size)}"
        if step == 1:
            what, places, suffix = "load", f"ptr {w.pointer(place)}", "p0"
        else:
            what, suffix = "gather", f"v{n}p0"
            counted = ", ".join(f"i64 {i * step * size}" for i in range(n))
            found = f"getelementptr i8, ptr {w.pointer(place)}, <{n} x i64> <{counted}>"
            places = f"<{n} x ptr> {w.put(found)}"
        full = f"@llvm.masked.{what}.{name}.{suffix}"
        of = places.rpartition(" ")[0]
        w.declare(f"declare <{n} x {kind}> {full}({of}, i32, <{n} x i1>, <{n} x {kind}>)")
        return self.number(dtype, w.put(f"call <{n} x {kind}> {full}({places}, {ends}"))

    def number(self, dtype: str, x: str) -> str:
        """What was read."""
        return self._put(f"icmp ne i8 {x}, 0") if dtype == "bool" else x

    def store(self, dtype: str, x: str, place: str, some: int | str | None = None) -> None:
        """Write a vector, or some of its elements."""
        w, (kind, size) = self.w, STORED[dtype]
        x, n, done = self.stored(dtype, x), w.lanes, 0
        if some is None:
            w.run(f"store <{n} x {kind}> {x}, ptr {w.pointer(place)}, align {size}")
            return
        if isinstance(some, str):
            full = f"@llvm.masked.store.v{n}{kind if kind[0] == 'i' else 'f' + str(8 * size)}.p0"
            w.declare(f"declare void {full}(<{n} x {kind}>, ptr, i32, <{n} x i1>)")
            place = f"ptr {w.pointer(place)}, i32 {size}"
            w.run(f"call void {full}(<{n} x {kind}> {x}, {place}, <{n} x i1> {some})")
            return
        while done < some:
            count = 1 << (some - done).bit_length() - 1
            part = self.chosen(kind, x, n, range(done, done + count))
            there = w.pointer(w.add(place, done * size) if done else place)
            w.run(f"store <{count} x {kind}> {part}, ptr {there}, align {size}")
            done += count

    def stored(self, dtype: str, x: str) -> str:
        """As it lies in memory."""
        return self._put(f"zext i1 {x} to i8") if dtype == "bool" else x

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
