"""The result of a run: values, gradients and contributions, by path. Immutable, and never aliased;
some are computed when they are first read, as if the run had kept them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.briefly import MOST, few, lines
from gradwire.runtime.engine.norms import combined_rms_by_name, rms, rms_of_each
from gradwire.runtime.engine.plan.sparse_rows import WholeOnRead, compact

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.flat import Flat
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows


T = TypeVar("T")


class ByPath(Mapping[str, T], Generic[T]):
    """Iterates over each result once, but finds the shared ``enc1/W`` also as ``enc2/W``, and the
    own variable ``fc/weight`` also as ``fc.weight``; an output of a page or Formula block is that
    of the block inside, ``enc.y`` that of ``enc/y.out``.
    """

    def __init__(self, results: Mapping[str, T], flat: Flat) -> None:
        self._results = results
        self._flat = flat

    def __getitem__(self, name: str) -> T:
        return self._results[name if name in self._results else self._flat.canonical(name)]

    def of_rows(self) -> ByPath[SparseRows]:
        """The results that are known by rows."""
        return ByPath(rows_among(self._results), self._flat)

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return repr(self._results)


def by_path(results: Mapping[str, T], flat: Flat) -> Mapping[str, T]:
    """Wrap results in a ByPath unless each has only one name."""
    return ByPath(results, flat) if flat.aliases or flat.owned else results


def rows_among(results: Mapping[str, Any]) -> Mapping[str, SparseRows]:
    """The results that are known by rows."""
    if isinstance(results, ByPath):
        return results.of_rows()
    return results.rows if isinstance(results, WholeOnRead) else {}


class LazyResults(Mapping[str, T], Generic[T]):
    """Results by path, of which those in ``known`` are there, and the others come from ``rest``,
    which raises what running raises: reading one raises RunError if a block fails that nothing else
    needed. All names are found out once they are asked for, or one that is not known.
    """

    def __init__(
        self,
        names: Callable[[], Iterable[str]],
        known: Mapping[str, T],
        rest: Callable[[], Mapping[str, T]],
    ) -> None:
        self._find = names
        self._known = known
        self._rest = rest

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(self._find())

    def __getitem__(self, name: str) -> T:
        if name in self._known:
            return self._known[name]
        if name not in self:
            raise KeyError(name)
        return self._rest()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, T]], tuple[dict[str, T]]]:
        """Copies and pickles are of the results, and need neither the session nor the program."""
        return dict, (dict(self),)


class Accumulated(MutableMapping[str, "Array | None"]):
    """Gradients by variable. Those that the last backward wrote are its own, and nobody copies
    them for this: they are computed again if they are read here.
    """

    __slots__ = ("_arrays", "_written")

    def __init__(self, arrays: Mapping[str, Array | None]) -> None:
        self._arrays = dict(arrays)
        self._written: dict[tuple[str, ...], Callable[[], Mapping[str, Array | None]]] = {}

    def write(
        self, names: tuple[str, ...], compute: Callable[[], Mapping[str, Array | None]]
    ) -> None:
        """From now on the gradients with these names are those that ``compute`` returns."""
        written = self._written
        if names not in written or len(written) > 1:
            new = frozenset(names)
            for before in [before for before in written if new.issuperset(before)]:
                del written[before]
        written[names] = compute

    def _settle(self) -> dict[str, Array | None]:
        for names in list(self._written):
            self._arrays |= self._written[names]()
            del self._written[names]
        return self._arrays

    def __getitem__(self, name: str) -> Array | None:
        return self._settle()[name]

    def __setitem__(self, name: str, gradient: Array | None) -> None:
        self._settle()[name] = gradient

    def __delitem__(self, name: str) -> None:
        del self._settle()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settle())

    def __len__(self) -> int:
        return len(self._settle())

    def __repr__(self) -> str:
        return repr(self._settle())

    def __reduce__(self) -> tuple[type[dict[str, Array | None]], tuple[dict[str, Array | None]]]:
        """Copies and pickles are of the gradients."""
        return dict, (dict(self._settle()),)


@dataclass(frozen=True, eq=False)
class Run:
    """Results by path. None means no gradient, which is not the same as a gradient of zero.

    - ``values``: by port (``mul1.out``), in the port's shape and dtype.
    - ``gradients``: dL/d(variable) by variable, or by port if a port was requested; L is the sum
      of the heads, each multiplied by its output gradient.
    - ``adjoints``: dL/d(port) by requested port, everything else being constant. At the output of
      a StopGradient it is the gradient that arrives there and is discarded.
    - ``contributions``: by wire (its target, ``mul1.a``), the gradient that it carries back; None
      if it carries nothing to a trainable variable. The contributions of all wires that leave a
      port add up to its adjoint.
    - ``losses``: the heads that backward started from.
    - ``seeds``: the output gradients that were given, by head; the others are 1.
    - ``step``: the step number that random blocks counted by.
    - ``trees``, ``wire_trees``: the structure of ports and wires that carry a tree. Its leaves are
      the names, such as ``pack1.out:encoder/w``, of its arrays in all of the above.
    """

    values: Mapping[str, Array] = field(default_factory=dict)
    gradients: Mapping[str, Array | None] = field(default_factory=dict)
    adjoints: Mapping[str, Array | None] = field(default_factory=dict)
    contributions: Mapping[str, Array | None] = field(default_factory=dict)
    losses: tuple[PortPath, ...] = ()
    seeds: Mapping[PortPath, Array] = field(default_factory=dict)
    step: int = 0
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """Requested norms by wire; see ``norms``."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    wire_trees: Mapping[str, Tree] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()
    """The reasons why some blocks of a partial session have no values."""

    def __repr__(self) -> str:
        losses = [f"{loss.block} = {float(np.sum(self.values[loss])):.4g}" for loss in self.losses]
        gradients = []
        for name, gradient in islice(self.gradients.items(), MOST):
            gradients.append(f"{name}: {None if gradient is None else f'rms {rms(gradient):.4g}'}")
        more = [""] * (len(self.gradients) - len(gradients))  # only counted
        head = f"<Run: {few(losses, 'loss', 'losses')}; gradients of"
        return lines(head, [*gradients, *more]) + ">"

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Run:
        """A run with all of these fields, in a fifth of the time that __init__ takes."""
        run = object.__new__(cls)
        object.__setattr__(run, "__dict__", fields)
        return run

    @property
    def sparse(self) -> Mapping[str, SparseRows]:
        """Gradients as rows, by variable: those of large tables from which few rows were looked up.

        ``gradients`` has them as arrays, which are made when they are read. Empty on JAX.
        """
        return rows_among(self.gradients)

    @cached_property
    def norms(self) -> dict[str, float | None]:
        """Root mean square of each requested contribution, to five digits or better.

        None for a wire that carries no gradient back. The norm of a tree is over all elements of
        the leaves that carry one.
        """
        arrays = {w: a for w, a in compact(self.contributions).items() if a is not None}
        sizes = rms_of_each(list(arrays.values())).tolist()
        found: dict[str, float | None] = dict.fromkeys(self.contributions)
        found |= dict(zip(arrays, sizes, strict=True))
        found |= self.measured
        trees = {
            wire: [(found[leaf], arrays[leaf].size) for leaf in leaves if leaf in arrays]
            for wire, tree in self.wire_trees.items()
            if (leaves := [leaf for leaf in tree.arrays.values() if leaf in self.contributions])
        }
        return found | combined_rms_by_name(trees) | dict(self.measured)

    def tree(self, port: str) -> Any:
        """The value of a port as nested dicts and lists of arrays and other leaves.

        Raises KeyError for a port that has no value in this run.
        """
        if port not in self.trees:
            return self.values[port]
        return self.trees[port].plain(self.values.__getitem__)


@dataclass(frozen=True)
class InferredShapes:
    """Inferred shapes: of sources by path, and of all ports that could be traced."""

    arguments: Mapping[str, Shape | None]
    ports: Mapping[str, Shape]


def accumulate(
    total: Mapping[str, Array | None],
    requests: Mapping[str, str],
    fresh: Mapping[str, Array | None],
    into: MutableMapping[str, Array | None] | None,
) -> dict[str, Array | None]:
    """Gradients by variable: for "write" the fresh one, for "add" its sum with that in ``total``,
    for "null" None.

    Copies of them, except for "null", are stored ``into`` the accumulated gradients, if given.
    """
    result: dict[str, Array | None] = {}
    for name, how in requests.items():
        gradient = fresh.get(name)
        before = total.get(name) if how == "add" else None
        if before is not None:
            gradient = np.array(before) if gradient is None else before + gradient
        result[name] = gradient
        if into is not None and how != "null":
            into[name] = None if gradient is None else np.array(gradient)
    return result
