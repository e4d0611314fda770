"""Writes LLVM functions on vectors, with loops in loops, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from gradwire.runtime.engine.plan.native.writer import SUFFIXES, TYPES, number


class Assembly:
    """The body of a function ``(frame, scratch, start, stop)`` on vectors of ``lanes`` elements.

    ``frame`` points to int64 numbers, whose names are given: each is ``%name`` in the body.
    """

    def __init__(self, name: str, dtype: str, lanes: int, frame: tuple[str, ...]) -> None:
        self.lanes = lanes
        self._dtype = dtype
        self.element = TYPES[dtype]
        self.bytes = int(dtype[5:]) // 8
        self.vector = f"<{lanes} x {self.element}>"
        self._suffix = f"v{lanes}{SUFFIXES[dtype]}"
        self._declared: set[str] = set()
        self._count = 0
        self._block = "entry"
        self._lines = [
            f"define void @{name}(ptr %frame, i64 %scratch, i64 %start, i64 %stop) #0 {{",
            "entry:",
        ]
        for i, entry in enumerate(frame):
            place = self.put(f"getelementptr i64, ptr %frame, i64 {i}")
            self._lines.append(f"%{entry} = load i64, ptr {place}")

    def put(self, text: str) -> str:
        """Append an instruction; returns the name of its result."""
        self._count += 1
        self._lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def run(self, text: str) -> None:
        """Append an instruction that has no result."""
        self._lines.append(text)

    def begin(self, name: str) -> None:
        """Begin a block of this name."""
        self._lines.append(f"{name}:")
        self._block = name

    def declare(self, text: str) -> None:
        """Declare a function; once is enough."""
        self._declared.add(text)

    def add(self, a: str, b: str | int) -> str:
        """``a + b`` of int64."""
        return self.put(f"add i64 {a}, {b}")

    def multiply(self, a: str | int, b: str | int) -> str:
        """``a · b`` of int64."""
        return self.put(f"mul i64 {a}, {b}")

    def subtract(self, a: str | int, b: str | int) -> str:
        """``a - b`` of int64."""
        return self.put(f"sub i64 {a}, {b}")

    def least(self, a: str, b: str | int) -> str:
        """The lesser of two int64."""
        return self._call("i64", "llvm.smin.i64", f"i64 {a}", f"i64 {b}")

    def most(self, a: str, b: str | int) -> str:
        """The greater of two int64."""
        return self._call("i64", "llvm.smax.i64", f"i64 {a}", f"i64 {b}")

    def kept(self, number: str) -> str:
        """An int64 that is held in a register, and not computed anew wherever it is used."""
        return self.put(f'call i64 asm "", "=r,0"(i64 {number})')

    def entry(self, address: str, index: str | int) -> str:
        """The int64 of this index in the table at an address."""
        place = self.pointer(address, self.multiply(str(index), 8))
        return self.put(f"load i64, ptr {place}")

    def load(self, address: str) -> str:
        """A vector."""
        return self.put(f"load {self.vector}, ptr {self.pointer(address)}, align {self.bytes}")

    def load_converted(self, address: str, dtype: str) -> str:
        """A vector of elements of another dtype, converted."""
        kind, size = f"<{self.lanes} x {TYPES[dtype]}>", int(dtype[5:]) // 8
        found = self.put(f"load {kind}, ptr {self.pointer(address)}, align {size}")
        how = "fpext" if size < self.bytes else "fptrunc"
        return self.put(f"{how} {kind} {found} to {self.vector}")

    def spread(self, address: str) -> str:
        """The element at an address, as a vector of equals."""
        return self.everywhere(self.element, self.load_element(address))

    def load_element(self, address: str) -> str:
        """One element."""
        return self.put(f"load {self.element}, ptr {self.pointer(address)}")

    def copy(self, source: str, target: str) -> None:
        """Copy one element from an address to another."""
        self.store_element(self.load_element(source), target)

    def copy_row(self, source: str, target: str, length: int) -> None:
        """Copy elements that lie side by side, by whole vectors."""
        done, some = 0, self.lanes
        while done < length:
            while some > length - done:
                some //= 2
            places = (self.pointer(x, done * self.bytes) for x in (source, target))
            kind = f"<{some} x {self.element}>, ptr"
            found = self.put(f"load {kind} {next(places)}, align {self.bytes}")
            self._lines.append(
                f"store <{some} x {self.element}> {found}, ptr {next(places)}, align {self.bytes}"
            )
            done += some

    def store_element(self, element: str, address: str, kind: str | None = None) -> None:
        """Write one element, or a number of another LLVM type ``kind``."""
        self._lines.append(f"store {kind or self.element} {element}, ptr {self.pointer(address)}")

    def size(self, element: str) -> str:
        """The absolute value of one element."""
        name = f"llvm.fabs.{SUFFIXES[self._dtype]}"
        return self._call(self.element, name, f"{self.element} {element}")

    def total(self, vector: str) -> str:
        """The sum of the elements of a vector, added in pairs."""
        name = f"llvm.vector.reduce.fadd.{self._suffix}"
        operands = f"{self.element} {number(-0.0, self._dtype)}", f"{self.vector} {vector}"
        return self._call(self.element, name, *operands, how="reassoc ")

    def everywhere(self, kind: str, number: str) -> str:
        """A vector of equal elements."""
        vector = f"<{self.lanes} x {kind}>"
        first = self.put(f"insertelement {vector} poison, {kind} {number}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.put(f"shufflevector {vector} {first}, {vector} poison, {zeros}")

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """The columns of as many vectors as each has elements."""
        found, apart = list(rows), self.lanes // 2
        while apart:
            chosen = [i if not i & apart else self.lanes + i - apart for i in range(self.lanes)]
            for i in range(self.lanes):
                if not i & apart:
                    a, b = found[i], found[i + apart]
                    found[i] = self._shuffled(a, b, chosen)
                    found[i + apart] = self._shuffled(a, b, [x + apart for x in chosen])
            apart //= 2
        return found

    def store(self, vector: str, address: str) -> None:
        """Write a vector."""
        self._lines.append(
            f"store {self.vector} {vector}, ptr {self.pointer(address)}, align {self.bytes}"
        )

    def stream(self, vector: str, address: str) -> None:
        """Write a vector past the caches, to a multiple of its length; see ``wait``."""
        length = self.lanes * self.bytes
        place = f"ptr {self.pointer(address)}, align {length}, !nontemporal !0"
        self._lines.append(f"store {self.vector} {vector}, {place}")

    def wait(self) -> None:
        """Let nothing that follows overtake what was streamed."""
        self._lines.append("fence seq_cst")

    def plus(self, a: str, b: str) -> str:
        """``a + b`` of vectors."""
        return self.put(f"fadd {self.vector} {a}, {b}")

    def over(self, a: str, b: str) -> str:
        """``a / b`` of vectors."""
        return self.put(f"fdiv {self.vector} {a}, {b}")

    def constant(self, x: float) -> str:
        """A vector of equal elements."""
        return self.everywhere(self.element, number(x, self._dtype))

    def fused(self, a: str, b: str, c: str) -> str:
        """``a·b + c``, rounded once if the machine has a fused multiply-add."""
        operands = (f"{self.vector} {x}" for x in (a, b, c))
        return self._call(self.vector, f"llvm.fmuladd.{self._suffix}", *operands)

    def lanes_from(self, lane: str) -> str:
        """A mask of the lanes from this one on."""
        whole = f"<{self.lanes} x i64>"
        counted = ", ".join(f"i64 {i}" for i in range(self.lanes))
        return self.put(f"icmp sge {whole} <{counted}>, {self.everywhere('i64', lane)}")

    def lanes_before(self, count: str) -> str:
        """A mask of the first so many lanes."""
        whole = f"<{self.lanes} x i64>"
        counted = ", ".join(f"i64 {i}" for i in range(self.lanes))
        return self.put(f"icmp slt {whole} <{counted}>, {self.everywhere('i64', count)}")

    def fetch(self, address: str, *, for_writing: bool) -> None:
        """Bring what lies at an address into a cache, the first-level one for writing."""
        how, level = f"i32 {int(for_writing)}", f"i32 {3 if for_writing else 2}"
        self._run("llvm.prefetch.p0", f"ptr {self.pointer(address)}", how, level, "i32 1")

    def masked(self, mask: str, vector: str) -> str:
        """A vector, 0 where the mask is not set."""
        kind = self.vector
        zeros = f"{kind} zeroinitializer"
        return self.put(f"select <{self.lanes} x i1> {mask}, {kind} {vector}, {zeros}")

    @contextmanager
    def loop(
        self,
        name: str,
        start: str | int,
        stop: str | int,
        carried: Mapping[str, str] | None = None,
        further: Mapping[str, str] | None = None,
        kind: str | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> Iterator[str]:
        """A loop over int64 from start to stop; the body follows.

        ``carried`` are vectors, or of another LLVM type ``kind``, or each of its own of ``kinds``,
        with their first values: once the body has run, ``%x`` is what ``further`` names, or else
        ``%x.next``, also after the loop.
        """
        last = {x: f"{x}.next" for x in carried or {}} | dict(further or {})
        before, kind, kinds = self._block, kind or self.vector, kinds or {}
        self._lines += [
            f"br label %{name}.head", f"{name}.head:",
            f"%{name} = phi i64 [{start}, %{before}], [%{name}.next, %{name}.last]",
            *(f"{x} = phi {kinds.get(x, kind)} [{first}, %{before}], [{last[x]}, %{name}.last]"
              for x, first in (carried or {}).items()),
            f"%{name}.more = icmp slt i64 %{name}, {stop}",
            f"br i1 %{name}.more, label %{name}.body, label %{name}.end", f"{name}.body:",
        ]  # fmt: skip
        self._block = f"{name}.body"
        yield f"%{name}"
        self._lines += [
            f"br label %{name}.last", f"{name}.last:",
            f"%{name}.next = add nuw nsw i64 %{name}, 1",
            f"br label %{name}.head", f"{name}.end:",
        ]  # fmt: skip
        self._block = f"{name}.end"

    @contextmanager
    def again(self, name: str) -> Iterator[list[str]]:
        """A loop whose body runs once more as long as the i1 that it appends at its end is set."""
        self.run(f"br label %{name}")
        self.begin(name)
        goes_on: list[str] = []
        yield goes_on
        self.run(f"br i1 {goes_on[0]}, label %{name}, label %{name}.end")
        self.begin(f"{name}.end")

    @contextmanager
    def steps(self, name: str, length: str, step: str) -> Iterator[tuple[str, str]]:
        """A loop over parts of a length, the last of which may be shorter: start and length."""
        count = self.put(f"udiv i64 {self.add(self.add(length, step), -1)}, {step}")
        with self.loop(name, 0, count) as i:
            start = self.multiply(i, step)
            yield start, self.least(self.subtract(length, start), step)

    def name(self, result: str, name: str) -> str:
        """Give the result of the last instruction a name of its own, and return that."""
        assert self._lines[-1].startswith(f"{result} ="), "that was the last instruction"
        self._lines[-1] = self._lines[-1].replace(result, name, 1)
        return name

    def text(self) -> str:
        """The whole module."""
        return "\n".join(
            [*sorted(self._declared), *self._lines, "ret void", "}",
             'attributes #0 = { nounwind "prefer-vector-width"="512" }', "!0 = !{i32 1}"]
        )  # fmt: skip

    def _shuffled(self, a: str, b: str, chosen: Sequence[int]) -> str:
        """The elements of these indices, which go on from a to b."""
        indices = ", ".join(f"i32 {i}" for i in chosen)
        kind = self.vector
        return self.put(f"shufflevector {kind} {a}, {kind} {b}, <{len(chosen)} x i32> <{indices}>")

    def pointer(self, address: str, offset: str | int = 0) -> str:
        """The pointer to an address, or to what is so many bytes behind it."""
        place = self.put(f"inttoptr i64 {address} to ptr")
        return self.put(f"getelementptr i8, ptr {place}, i64 {offset}") if offset else place

    def _call(self, kind: str, name: str, *operands: str, how: str = "") -> str:
        self._declare(kind, name, operands)
        return self.put(f"call {how}{kind} @{name}({', '.join(operands)})")

    def _run(self, name: str, *operands: str) -> None:
        self._declare("void", name, operands)
        self._lines.append(f"call void @{name}({', '.join(operands)})")

    def _declare(self, kind: str, name: str, operands: Sequence[str]) -> None:

        kinds = ", ".join(x.rpartition(" ")[0] for x in operands)
        self._declared.add(f"declare {kind} @{name}({kinds})")
