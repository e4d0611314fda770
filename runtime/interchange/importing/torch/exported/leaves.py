"""What an exported program is given: parameters, buffers, constants and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.sizes import require_constant
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.exported.arguments import ValueName, argument
from gradwire.runtime.interchange.importing.torch.memory import TrackedTensor
from gradwire.runtime.interchange.importing.torch.operators.norms import STATISTICS
from gradwire.runtime.interchange.importing.torch.operators.table import DTYPES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.options import ImportOptions
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.torch.exported.archive import Archive
    from gradwire.runtime.interchange.importing.torch.types import JSON, Record

_SHAPING = frozenset({"view", "reshape", "unsqueeze", "squeeze", "flatten", "slice", "to", "clone"})
_INDEXED = {"embedding": (1, 0, 0), "cross_entropy_loss": (1, 0, 1), "nll_loss_nd": (1, 0, 1)}
"""By operator, the argument with indices, the one that is indexed, and along which axis."""


def is_counter(array: Array) -> bool:
    """Whether a buffer is a single whole number, such as the batches that were tracked."""
    return not array.ndim and array.dtype.kind in "iu"


class Leaves:
    """Adds Variable and Input blocks for the inputs of a graph."""

    def __init__(
        self,
        archive: Archive,
        stage: Stage,
        options: ImportOptions,
        examples: Mapping[str, ArrayLike],
    ) -> None:
        self._archive = archive
        self._stage = stage
        self._options = options
        self._examples = examples
        self._known: dict[tuple[str, ...], TrackedTensor] = {}
        """Tensors by what is stored: shared ones are one variable."""
        self._drawn: list[str] = []

    def build(self, specs: list[Record], graph: Record) -> dict[str, TrackedTensor | JSON]:
        """The values of a graph's inputs by name."""
        metas, bounds = graph["tensor_values"], _bounds_of(graph)
        values: dict[str, TrackedTensor | JSON] = {}
        for index, spec in enumerate(specs):
            ((kind, record),) = spec.items()
            if kind == "user_input":
                found = argument(record["arg"])
                if isinstance(found, ValueName):
                    values[found.name] = self._input(index, found.name, metas, bounds)
            elif kind == "parameter":
                values[record["arg"]["name"]] = self._variable(record["parameter_name"])
            elif kind == "buffer":
                values[record["arg"]["name"]] = self._variable(record["buffer_name"], buffer=True)
            elif kind == "tensor_constant":
                array, _ = self._archive.tensor(record["tensor_constant_name"], "constants")
                values[record["arg"]["name"]] = TrackedTensor(self._stage.constant(array))
            elif kind == "constant_input":
                values[record["name"]] = next(iter(record["value"].values()))
            else:
                raise UnsupportedError(f"an input of kind {kind[:40]}")
        self._tell()
        return values

    def _variable(self, name: str, buffer: bool = False) -> TrackedTensor:
        array, trained = self._archive.tensor(name)
        if buffer and is_counter(array):
            return TrackedTensor(self._stage.constant(array))
        shared = self._archive.storage(name)
        if shared in self._known:
            return self._known[shared]
        trained = trained and not buffer and array.dtype.kind == "f"
        *module, own = name.split(".")
        value = self._stage.variable(name, array, trained, module, STATISTICS.get(own, own))
        self._known[shared] = found = TrackedTensor(value, live=trained)
        return found

    def _input(
        self, index: int, name: str, metas: Record, bounds: Mapping[str, int]
    ) -> TrackedTensor:
        if name in self._examples:
            return TrackedTensor(self._stage.input(name, np.asarray(self._examples[name])))
        meta = metas[name]
        shape = tuple(self._archive.whole(n) for n in meta["sizes"])
        shape = tuple(self._options.shapes.get(name, shape))
        require_constant(*shape)
        dtype = DTYPES.get(meta["dtype"])
        if dtype is None:
            raise UnsupportedError("an input", f"{name} has a dtype that no block has")
        self._drawn.append(name)
        return TrackedTensor(
            self._stage.input(name, self._example(index, shape, dtype, bounds.get(name)))
        )

    def _example(self, index: int, shape: tuple[int, ...], dtype: str, bound: int | None) -> Array:
        """Drawn numbers; integers that pick something are spread over all there is to pick."""
        if bound is None or dtype.startswith("float") or dtype == "bool":
            return self._options.example(index, shape, dtype)
        draw = np.random.default_rng([self._options.seed, index])
        return draw.integers(0, max(1, bound), shape).astype(dtype)

    def _tell(self) -> None:
        if self._drawn:
            names = ", ".join(self._drawn)
            self._stage.remark(
                "note",
                f"The numbers of {names} are drawn at random: the file keeps its sample inputs "
                "as a pickle, which is not opened.",
            )


def _bounds_of(graph: Record) -> dict[str, int]:
    """How large the integers of each name that indexes something may be: below the length that they
    index, as far as simple operators show it.
    """
    metas = graph["tensor_values"]
    found: dict[str, int] = {}
    for node in reversed(graph["nodes"]):
        name = str(node["target"]).removeprefix("torch.ops.aten.").partition(".")[0]
        args = [_tensor_name(given) for given in node["inputs"]]
        if name in _SHAPING and args and args[0]:
            results = [_tensor_name({"arg": output}) for output in node["outputs"]]
            _lower(found, args[0], *(found[n] for n in results if n in found))
        elif name in _INDEXED:
            indices, table, axis = _INDEXED[name]
            if max(indices, table) < len(args):
                _lower(found, args[indices], _length(metas, args[table], axis))
        elif name in ("gather", "index_select") and len(args) > 2:
            dim = node["inputs"][1]["arg"].get("as_int", 0)
            _lower(found, args[2], _length(metas, args[0], dim))
    return found


def _tensor_name(given: Record) -> str:
    tensor = given["arg"].get("as_tensor")
    return str(tensor["name"]) if isinstance(tensor, dict) else ""


def _length(metas: Record, name: str, axis: int) -> int:
    sizes = metas.get(name, {}).get("sizes", [])
    if not -len(sizes) <= axis < len(sizes):
        return 1
    length = sizes[axis].get("as_int", 1)
    return length if isinstance(length, int) else 1


def _lower(found: dict[str, int], name: str, *bounds: int) -> None:
    if name and bounds:
        found[name] = min(*bounds, found.get(name, bounds[0]))
