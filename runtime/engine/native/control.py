"""Functions of LLVM with loops and conditions, over integers, addresses and whole registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from runtime.engine.native.writer import Writer

Word: TypeAlias = "str | int"
"""An int64: the name of one, or a constant."""


class Procedure(Writer):
    """A function that returns nothing; its body is appended in order."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self._head = head
        self._counters: list[str] = []

    @property
    def text(self) -> list[str]:
        """All of its lines; counters lie in memory here, and LLVM makes them registers."""
        start = [f"define {self._head} {{", "entry:", *self._counters]
        return [*start, *self.lines, "ret void", "}"]

    def do(self, line: str) -> None:
        """An instruction without a result."""
        self.lines.append(line)

    @contextmanager
    def loop(self, start: Word, stop: Word, step: int = 1) -> Iterator[str]:
        """The body for each number from ``start`` on, before ``stop``."""
        mark = self._label()
        self._counters.append(f"%count{mark} = alloca i64")
        self.do(f"store i64 {start}, ptr %count{mark}")
        self.do(f"br label %head{mark}")
        self.do(f"head{mark}:")
        number = self.put(f"load i64, ptr %count{mark}")
        further = self.put(f"icmp slt i64 {number}, {stop}")
        self.do(f"br i1 {further}, label %body{mark}, label %end{mark}")
        self.do(f"body{mark}:")
        yield number
        self.do(f"store i64 {self.add(number, step)}, ptr %count{mark}")
        self.do(f"br label %head{mark}")
        self.do(f"end{mark}:")

    @contextmanager
    def when(self, condition: str, otherwise: bool = False) -> Iterator[None]:
        """The body where the condition holds, or where it does not."""
        mark = self._label()
        ways = (f"%then{mark}", f"%end{mark}")
        yes, no = reversed(ways) if otherwise else ways
        self.do(f"br i1 {condition}, label {yes}, label {no}")
        self.do(f"then{mark}:")
        yield
        self.do(f"br label %end{mark}")
        self.do(f"end{mark}:")

    def is_true(self, how: str, a: Word, b: Word) -> str:
        """A truth value; ``how`` is one of LLVM's comparisons of integers."""
        return self.put(f"icmp {how} i64 {a}, {b}")

    def add(self, a: Word, b: Word) -> str:
        """``a + b``."""
        return self.put(f"add nsw i64 {a}, {b}")

    def subtract(self, a: Word, b: Word) -> str:
        """``a − b``."""
        return self.put(f"sub nsw i64 {a}, {b}")

    def multiply(self, a: Word, b: Word) -> str:
        """``a · b``."""
        return self.put(f"mul nsw i64 {a}, {b}")

    def smaller(self, a: Word, b: Word) -> str:
        """The smaller of two."""
        return self.put(f"select i1 {self.is_true('slt', a, b)}, i64 {a}, i64 {b}")

    def at(self, place: str, away: Word) -> str:
        """The address so many bytes on."""
        return self.put(f"getelementptr i8, ptr {place}, i64 {away}")

    def load(self, kind: str, place: str) -> str:
        """What lies there, wherever that is."""
        return self.put(f"load {kind}, ptr {place}, align 4")

    def store(self, kind: str, x: str, place: str) -> None:
        """Write it there, wherever that is."""
        self.do(f"store {kind} {x}, ptr {place}, align 4")

    def prefetch(self, place: str) -> None:
        """Have what lies there brought near to be written; any address may be asked for."""
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")

    def _label(self) -> int:
        self._count += 1
        return self._count
