"""Factors of small matrices, which all that is solved by a matrix shares."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.copies.small import LARGEST, copies
from gradwire.runtime.engine.plan.jobs import Job, KernelCall
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.small.solving import (
    FACTOR,
    SUBSTITUTE,
    factored,
    substituted,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.tasks import Step


PANEL = 4
"""Vectors of right sides that are solved side by side."""


class Factors:
    """The factors of some matrices in float64, as numpy computes them, in memory of their own."""

    def __init__(self) -> None:
        self.signs: NDArray[np.float64] = np.ones(0)
        """0 for each matrix that is singular, else 1 or −1 by changes of places."""

    @property
    def is_known(self) -> bool:
        """Whether there are steps that compute them."""
        return self.signs.size > 0

    def steps(self, matrices: Array) -> list[Step]:
        """The steps that compute them, of matrices (…, n, n)."""
        *batch, size, _ = matrices.shape
        self.batch, self._size, self._lanes = tuple(batch), size, machine.lanes() // 2
        self._count = prod(batch)
        self._rows = self._apart(size, 1)
        self._pivots = np.zeros((self._count, size), np.int64)
        self.signs = np.ones(self._count)
        frame = machine.frame(FACTOR, **self._numbers())
        kernel = factored(self._lanes)
        call = KernelCall(kernel, machine.address(frame), 0, 0, self._count)
        work = self._count * size**3
        copied = conversion(self._rows[..., :size], matrices)
        return [copied, Job([[call]], work, kept=(self, frame))]

    @property
    def diagonals(self) -> Array:
        """The diagonals of the upper factors."""
        return self._rows[..., : self._size].diagonal(0, -2, -1)

    def solutions(self, right: Array, out: Array, *, is_turned: bool) -> list[Step]:
        """The steps that leave ``matrix⁻¹ @ right`` in ``out``, or that of the transposes."""
        columns = out.shape[-1]
        vectors = PANEL if columns > self._lanes else 1
        sides = self._apart(columns, vectors)
        panels = -(-columns // (self._lanes * vectors))
        numbers = self._numbers()
        frame = machine.frame(
            SUBSTITUTE, **numbers, right=sides, right_row=sides.strides[-2], panels=panels
        )
        kernel = substituted(self._lanes, vectors, is_turned)
        call = KernelCall(kernel, machine.address(frame), 0, 0, self._count * panels)
        work = self._count * self._size**2 * columns
        inside = sides[..., :columns]
        job = Job([[call]], work, kept=(self, sides, frame))
        return [conversion(inside, right), job, conversion(out, inside)]

    def _apart(self, columns: int, vectors: int) -> Array:
        """Memory for matrices with so many columns, in groups of vectors. Where rows are an even
        number of vectors one more is between them, or the same few lines of a cache would have
        them all.
        """
        each = self._lanes * vectors
        length = -(-columns // each) * vectors
        shape = (*self.batch, self._size, (length + (length % 2 == 0)) * self._lanes)
        whole = np.zeros(prod(shape) + self._lanes)
        first = -machine.address(whole) % (8 * self._lanes) // 8  # no vector is in two lines
        return whole[first : first + prod(shape)].reshape(shape)

    def _numbers(self) -> dict[str, Any]:
        return {
            "rows": self._rows,
            "signs": self.signs,
            "pivots": self._pivots,
            "size": self._size,
            "row": self._rows.strides[-2],
        }


def conversion(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of a shape to which it is repeated: a job if it is
    small.
    """
    job = copies([(target, source)]) if 0 < target.size <= LARGEST else None
    return job or partial(np.copyto, target, source, "same_kind")


def logarithms(diagonals: Array, signs: Array, out: Array) -> None:
    """``ln |det|`` by the diagonals of the factors; −∞ of a singular matrix."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(np.abs(diagonals)).sum(-1)
    _write(np.where(_is_singular(signs, found), -np.inf, found), out)


def determinants(diagonals: Array, signs: Array, out: Array) -> None:
    """Determinants by the diagonals of the factors, and signs for changes of places."""
    found = diagonals.prod(-1)
    _write(np.where(_is_singular(signs, found), 0, found * signs.reshape(found.shape)), out)


def determinant_signs(diagonals: Array, signs: Array, out: Array) -> None:
    """−1, 0 or 1, as the determinants are."""
    determinants(np.sign(diagonals), signs, out)


def _is_singular(signs: Array, found: Array) -> Array:
    """Of which matrices: what follows a pivot of 0 in their factors is no number."""
    singular: Array = signs.reshape(found.shape) == 0
    return singular


def _write(found: Array, out: Array) -> None:
    np.copyto(out, found, "same_kind")
