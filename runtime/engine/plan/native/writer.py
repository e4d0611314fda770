"""Writes LLVM instructions on one element as text, with short names for those on floats; and
functions on vectors, with loops in loops.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

TYPES = {"float32": "float", "float64": "double", "bool": "i1"}
"""LLVM's type of an element in a register, by dtype."""

STORED = {"float32": ("float", 4), "float64": ("double", 8), "bool": ("i8", 1), "int32": ("i32", 4),
          "int64": ("i64", 8)}  # fmt: skip
"""LLVM's type of an element in memory, and its bytes, by dtype."""

SUFFIXES = {"float32": "f32", "float64": "f64"}
"""What LLVM appends to the names of functions, by dtype."""


class Writer:
    """Appends instructions; each method returns the name of its result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def put(self, text: str) -> str:
        """Append an instruction that has a result."""
        self._count += 1
        self.lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def call(self, name: str, dtype: str, *operands: str) -> str:
        """Call an intrinsic function of floats."""
        kind = TYPES[dtype]
        full = f"@llvm.{name}.{SUFFIXES[dtype]}"
        self.declared.add(f"declare {kind} {full}({', '.join([kind] * len(operands))})")
        return self.put(f"call {kind} {full}({', '.join(f'{kind} {x}' for x in operands)})")

    def compare(self, predicate: str, dtype: str, a: str, b: str) -> str:
        """Compare two floats; ``predicate`` is one of fcmp's, such as "olt"."""
        return self.put(f"fcmp {predicate} {TYPES[dtype]} {a}, {b}")

    def choose(self, condition: str, dtype: str, a: str, b: str) -> str:
        """Select ``a`` where the condition holds, else ``b``."""
        kind = TYPES[dtype]
        return self.put(f"select i1 {condition}, {kind} {a}, {kind} {b}")


def number(x: float, dtype: str) -> str:
    """A constant in LLVM's notation: the bits of the number, rounded to the dtype, as float64."""
    with np.errstate(all="ignore"):
        exact = float(np.dtype(dtype).type(x))
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def _is_number(name: str) -> bool:
    """Whether it is a constant that is not NaN."""
    if not name.startswith("0x"):
        return False
    (found,) = struct.unpack("<d", int(name, 16).to_bytes(8, "little"))
    return bool(found == found)


def _extreme(predicate: str) -> Callable[..., str]:
    """``a`` where the predicate holds or it is NaN, else ``b``, so NaN wins on either side."""

    def emit(w: Writer, dtype: str, a: str, b: str) -> str:
        if _is_number(b):  # one comparison says both
            return w.choose(w.compare(f"u{predicate[1:]}", dtype, a, b), dtype, a, b)
        wins, is_nan = w.compare(predicate, dtype, a, b), w.compare("uno", dtype, a, a)
        return w.choose(w.put(f"or i1 {wins}, {is_nan}"), dtype, a, b)

    return emit


maximum, minimum = _extreme("ogt"), _extreme("olt")


Operand: TypeAlias = str | float
"""The name of a result, or a constant."""


class Arithmetic:
    """Appends instructions on floats of one dtype; each method returns the name of its result."""

    def __init__(self, writer: Writer, dtype: str = "float32") -> None:
        self.w = writer
        self.dtype = dtype
        self._bits = "i32" if dtype == "float32" else "i64"

    def constant(self, x: Operand) -> str:
        """A number in LLVM's notation; names as they are."""
        return x if isinstance(x, str) else number(x, self.dtype)

    def put(self, instruction: str, *operands: Operand) -> str:
        """Append an instruction of this name."""
        given = ", ".join(map(self.constant, operands))
        return self.w.put(f"{instruction} {TYPES[self.dtype]} {given}")

    def call(self, name: str, *operands: Operand) -> str:
        """Call an intrinsic function."""
        return self.w.call(name, self.dtype, *map(self.constant, operands))

    def add(self, a: Operand, b: Operand) -> str:
        """``a + b``."""
        return self.put("fadd", a, b)

    def subtract(self, a: Operand, b: Operand) -> str:
        """``a − b``."""
        return self.put("fsub", a, b)

    def multiply(self, a: Operand, b: Operand) -> str:
        """``a · b``."""
        return self.put("fmul", a, b)

    def divide(self, a: Operand, b: Operand) -> str:
        """``a / b``."""
        return self.put("fdiv", a, b)

    def fused(self, a: Operand, b: Operand, c: Operand) -> str:
        """``a·b + c``, rounded once if the machine has a fused multiply-add."""
        return self.call("fmuladd", a, b, c)

    def polynomial(self, x: str, coefficients: Sequence[Operand]) -> str:
        """Of these coefficients, the highest power first."""
        result = self.constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fused(result, x, coefficient)
        return result

    def compare(self, predicate: str, a: Operand, b: Operand) -> str:
        """Whether a comparison of fcmp's holds."""
        return self.w.compare(predicate, self.dtype, self.constant(a), self.constant(b))

    def select(self, condition: str, then: Operand, other: Operand) -> str:
        """``then`` where a condition holds, else ``other``."""
        return self.w.choose(condition, self.dtype, self.constant(then), self.constant(other))

    def choose(self, predicate: str, a: Operand, b: Operand, then: Operand, other: Operand) -> str:
        """``then`` where a comparison holds, else ``other``."""
        return self.select(self.compare(predicate, a, b), then, other)

    def bits(self, x: str) -> str:
        """As an integer."""
        return self.w.put(f"bitcast {TYPES[self.dtype]} {x} to {self._bits}")

    def of_bits(self, bits: str) -> str:
        """What these bits are."""
        return self.w.put(f"bitcast {self._bits} {bits} to {TYPES[self.dtype]}")

    def integer(self, instruction: str, a: str, b: int | str) -> str:
        """An instruction on integers of as many bits."""
        return self.w.put(f"{instruction} {self._bits} {a}, {b}")

    def at_most(self, x: str, high: float) -> str:
        """``x`` or the limit, if that is less; NaN stays NaN."""
        return self.choose("ogt", x, high, high, x)

    def at_least(self, x: str, low: float) -> str:
        """``x`` or the limit, if that is more; NaN stays NaN."""
        return self.choose("olt", x, low, low, x)

    def size(self, x: str) -> str:
        """``|x|``."""
        return self.call("fabs", x)

    def negative(self, x: str) -> str:
        """``−x``."""
        return self.put("fneg", x)

    def with_sign_of(self, size: str, x: str) -> str:
        """``±size``, also where x is 0."""
        return self.call("copysign", size, x)


def widened(w: Writer, x: str) -> str:
    """A float32 as float64."""
    return w.put(f"fpext float {x} to double")


def rounded(w: Writer, x: str) -> str:
    """A float64 as float32."""
    return w.put(f"fptrunc double {x} to float")


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
