"""Writes the packing of operands: what a tile reads is laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.assembly import Assembly


class DeepRows(NamedTuple):
    """Rows whose terms lie side by side: the address of the first one, the bytes from row to row,
    the number of the last one that is there, and how many are packed.
    """

    place: str
    step: str
    last: str
    number: int


def lay_across(w: Assembly, name: str, rows: DeepRows, terms: str, target: str, width: int) -> None:
    """Copy rows so that, for each term, their elements lie side by side, in whole vectors.

    The last row stands also for those that are not there. Up to a vector of terms more is written.
    """
    vectors = -(-rows.number // w.lanes)
    groups = w.put(f"udiv i64 {w.add(terms, w.lanes - 1)}, {w.lanes}")
    with w.loop(f"{name}.vector", 0, vectors) as v:
        first = w.multiply(v, w.lanes)
        places = [
            w.add(rows.place, w.multiply(w.least(w.add(first, a), rows.last), rows.step))
            for a in range(min(rows.number, w.lanes))
        ]
        whole = w.put(f"udiv i64 {terms}, {w.lanes}")
        place = w.add(target, w.multiply(v, w.lanes * w.bytes))
        for part, start, stop in (("whole", "0", whole), ("rest", whole, groups)):
            with w.loop(f"{name}_{part}", start, stop) as some:
                k = w.multiply(some, w.lanes)
                away = w.multiply(k, w.bytes)
                if part == "whole":
                    found = [w.load(w.add(x, away)) for x in places]
                else:
                    (mask,) = w.lanes_before(w.subtract(terms, k), 1)
                    found = [w.load_where(mask, w.add(x, away)) for x in places]
                found += ["zeroinitializer"] * (w.lanes - len(found))
                there = w.add(place, w.multiply(k, width * w.bytes))
                for a, vector in enumerate(w.transposed(found)):
                    w.store(vector, w.add(there, a * width * w.bytes))


def copy_vectors(w: Assembly, source: str, target: str, masks: Sequence[str]) -> None:
    """Copy vectors that lie side by side, 0 where their masks are not set."""
    for v, mask in enumerate(masks):
        away = v * w.lanes * w.bytes
        w.store(w.load_where(mask, w.add(source, away)), w.add(target, away))


def copy_whole(w: Assembly, source: str, target: str, vectors: int) -> None:
    """Copy so many vectors that lie side by side."""
    for v in range(vectors):
        away = v * w.lanes * w.bytes
        w.store(w.load(w.add(source, away)), w.add(target, away))
