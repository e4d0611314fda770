"""Exported programs as diagrams: ``torch.export.save`` writes what is read here, without torch."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy import typing as npt

from gradwire.blocks.errors import FileError, reason_of
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.progress import counted
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.torch.calls import ModuleCalls
from gradwire.runtime.interchange.importing.torch.exported.archive import Archive
from gradwire.runtime.interchange.importing.torch.exported.arguments import (
    InnerGraph,
    ValueName,
    argument,
    output_names,
)
from gradwire.runtime.interchange.importing.torch.exported.leaves import Leaves
from gradwire.runtime.interchange.importing.torch.memory import Cut, TrackedTensor
from gradwire.runtime.interchange.importing.torch.nested import mapped
from gradwire.runtime.interchange.importing.torch.performing import Performer, failed
from gradwire.runtime.interchange.importing.torch.places import in_trace

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.scopes import Part
    from gradwire.runtime.interchange.importing.torch.types import Args, Program, Record

MAX_NODES = 200_000
Values: TypeAlias = "dict[str, Any]"
"""Tensors and numbers of a graph by their names."""
_ATEN = "torch.ops.aten."
_HIGHER = "torch.ops.higher_order."
_ON_LENGTHS: dict[str, Program] = {
    f"_operator.{name}": getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "and_", "or_", "not_",
        "eq", "ne", "lt", "le", "gt", "ge",
    )
} | {
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": operator.not_,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "math.trunc": math.trunc,
}  # fmt: skip
"""What exported programs do with lengths."""
_CHECKS = ("_assert", "sym_constrain_range", "_check")
_SHAPE_ERRORS = (AttributeError, KeyError, TypeError, ValueError, IndexError)


def import_pt2(
    path: Path,
    options: ImportOptions = DEFAULTS,
    examples: Mapping[str, npt.ArrayLike] | None = None,
) -> Imported:
    """The diagram of an exported program, with examples for its inputs by name.

    Raises FileError for a file that is damaged or of another version, and UnsupportedError, with
    the line of the model, for an operator that no block can express.
    """
    archive = Archive(path)
    try:
        return _Program(archive, path, options, examples or {}).imported()
    except _SHAPE_ERRORS as error:
        raise FileError(f"The program is damaged: {reason_of(error)}.", path=str(path)) from error
    finally:
        archive.close()


class _Program:
    """One exported program on its way to a diagram."""

    def __init__(
        self,
        archive: Archive,
        path: Path,
        options: ImportOptions,
        examples: Mapping[str, npt.ArrayLike],
    ) -> None:
        self._module: Record = archive.program["graph_module"]
        self._options = options
        self._stage = Stage(path.stem)
        self._performer = Performer(self._stage)
        self._leaves = Leaves(archive, self._stage, options, examples)
        self._calls = ModuleCalls()
        self._count = 0

    def imported(self) -> Imported:
        """The diagram of all outputs that a user sees."""
        signature, graph = self._module["signature"], self._module["graph"]
        values = self._leaves.build(signature["input_specs"], graph)
        self._run(graph, values)
        if self._options.training:
            self._stage.remark(
                "note",
                "The file fixes whether BatchNorm and Dropout are as in training: they are as the "
                "module was when it was exported.",
            )
        outputs = {}
        for spec in signature["output_specs"]:
            ((kind, record),) = spec.items()
            if kind not in ("user_output", "loss_output"):
                continue
            arg = record["arg"] if kind == "user_output" else {"as_tensor": record["arg"]}
            found = argument(arg)
            if isinstance(found, ValueName) and isinstance(values[found.name], TrackedTensor):
                tensor = values[found.name]
                outputs[found.name] = tensor.read()
                self._performer.commit_cut(tensor)
                outputs[found.name] = tensor.read()
        if not outputs:
            raise UnsupportedError("a program without outputs", "none of them is a tensor")
        singles = [name for name, x in outputs.items() if x.is_float and x.size == 1]
        chosen = self._options.loss or (singles[0] if len(singles) == 1 else "")
        return conclude(self._stage, outputs, replace(self._options, loss=chosen))

    def _run(self, graph: Record, values: Values) -> None:
        nodes = graph["nodes"]
        self._count += len(nodes)
        if self._count > MAX_NODES:
            raise FileError(
                "The program has too many operators.",
                expected=f"at most {MAX_NODES:,}",
                got=f"{self._count:,}",
            )
        for node in counted(nodes):
            with self._stage.at(*self._place(node)):
                self._step(node, values)

    def _place(self, node: Record) -> tuple[tuple[Part, ...], str]:
        """The module that an operator is in, and its line."""
        metadata = node.get("metadata") or {}
        stack = _module_stack(metadata.get("nn_module_stack", ""))
        return self._calls.path(stack), in_trace(metadata.get("stack_trace", "")).written

    def _step(self, node: Record, values: Values) -> None:
        names = output_names(node["outputs"])
        try:
            found = self._results(node, values)
        except UnsupportedError as error:
            if not error.written:
                _, written = self._place(node)
                error = UnsupportedError(error.operation, error.why, written=written)
            found = failed(error, len(names))
        values.update((name, x) for name, x in zip(names, found, strict=False) if name)

    def _results(self, node: Record, values: Values) -> Sequence[Any]:
        target: str = node["target"]
        args, kwargs = [], {}
        for given in node["inputs"]:
            value = _looked_up(argument(given["arg"]), values)
            if given.get("kind", 1) == 1:
                args.append(value)
            else:
                kwargs[given["name"]] = value
        if target.startswith(_HIGHER):
            return self._higher(target.removeprefix(_HIGHER), args, node)
        on_lengths = _ON_LENGTHS.get(target)
        if on_lengths is not None:
            return [on_lengths(*(x.read() if isinstance(x, TrackedTensor) else x for x in args))]
        name = target.removeprefix(_ATEN).removesuffix(".default")
        if name.startswith(_CHECKS):
            return []
        if name.partition(".")[0] in ("sym_size", "size"):
            return [args[0].read().shape[args[1]]]
        if name.partition(".")[0] == "sym_numel":
            return [args[0].read().size]
        if not target.startswith(_ATEN):
            raise UnsupportedError(target[:80], "it is no operator of PyTorch's own")
        kwargs = {key: value for key, value in kwargs.items() if value is not None}
        return self._performer.perform(name, args, kwargs)

    def _higher(self, name: str, args: Args, node: Record) -> Sequence[Any]:
        """Operators that run a graph of their own."""
        graphs = [x for x in args if isinstance(x, InnerGraph)]
        if name == "wrap_with_set_grad_enabled":
            with self._grad_mode(bool(args[0]), graphs[0].record):
                return self._inside(graphs[0].record, args[2:])
        if name in (
            "wrap_with_autocast",
            "tag_activation_checkpoint",
            "wrap_activation_checkpoint",
        ):
            return self._inside(graphs[0].record, args[args.index(graphs[0]) + 1 :])
        if name == "cond":
            why = "a branch (torch.cond)"
            picked = args[0]
            if isinstance(picked, TrackedTensor):
                picked = bool(self._stage.numbers(picked.read(), why).all())
            return self._inside(graphs[0 if picked else 1].record, args[3])
        raise UnsupportedError(f"higher_order.{name[:60]}")

    def _inside(self, graph: Record, args: Args) -> list[Any]:
        inputs = output_names(graph["inputs"])
        values: Values = dict(zip(inputs, args, strict=False))
        self._run(graph, values)
        return [_looked_up(x, values) for x in map(argument, graph["outputs"])]

    @contextmanager
    def _grad_mode(self, enabled: bool, graph: Record) -> Iterator[None]:
        before = self._performer.no_grad
        self._performer.no_grad = None if enabled else (before or self._no_grad(graph))
        try:
            yield
        finally:
            self._performer.no_grad = before

    def _no_grad(self, graph: Record) -> Cut:
        """A region without gradient; it begins about where its first operator stands."""
        for path, written in map(self._place, graph["nodes"]):
            if written:
                return Cut("no_grad", path, written)
        return Cut("no_grad")


def _looked_up(argument: Any, values: Values) -> Any:
    """An argument with values in place of their names."""
    return mapped(lambda x: values[x.name] if isinstance(x, ValueName) else x, argument)


def _module_stack(text: str) -> list[tuple[str, str]]:
    """The modules around an operator, outermost first: dotted names, and which call it is."""
    entries = [entry.split(",") for entry in text.split(";") if entry.count(",") >= 2]
    return [(name, key.rpartition("@")[2] if "@" in key else "") for key, name, *_ in entries]
