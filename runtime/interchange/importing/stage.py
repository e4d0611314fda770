"""The stage: where importers build a diagram, block by block.

Each block's own ``forward`` is traced as it is added. So shapes, dtypes and what is constant are
known to the importer at once, and no importer has a second table of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.block import MAX_WRITTEN
from gradwire.blocks.errors import GradwireError, Location
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.names import snake_case
from gradwire.blocks.registry import registry
from gradwire.blocks.values import Tensor
from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.interchange.importing.imported import (
    Imported,
    Remark,
    RemarkKind,
    UnsupportedError,
)
from gradwire.runtime.interchange.importing.paging import Paging
from gradwire.runtime.interchange.importing.scopes import ModuleScope, Part, own_name
from gradwire.runtime.interchange.importing.settling import settle
from gradwire.runtime.interchange.importing.staged import (
    Staged,
    StagedBlock,
    inputs_by_port,
    leaves_of,
    require_few,
    require_holdable,
)
from gradwire.runtime.progress_bars import Bar

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.importing.staged import Operation

Body: TypeAlias = Callable[
    [Mapping[str, Staged]], tuple[Mapping[str, Staged], Mapping[str, Staged]]
]
"""What a loop does in a step: from what it gets to what it carries on and what is stacked."""
NEVER_FOLDED = frozenset({"StopGradient", "Dropout"})
"""Blocks that stay although all their inputs are constant: they are what a user looks for."""
CHOSEN = (
    "No gradient comes through it to what decides it: weigh by a Sigmoid or Softmax where that is "
    "to be trained."
)
"""What numbers that decide something mean for what they are computed from."""


class Stage:
    """A diagram under construction.

    Everything that is added belongs to the current scope, which ``at`` sets, and is marked with
    the current place in the program. Not thread-safe.
    """

    def __init__(self, title: str = "", shown: Bar | None = None) -> None:
        self.title = title
        self.shown = shown or Bar()
        """Says how many operations have come."""
        self.remarks: list[tuple[RemarkKind, str, StagedBlock | None, str]] = []
        self._trace = Trace()
        self._samples: dict[Value, Array] = {}
        """The numbers of leaves: of variables, and of inputs that have an example."""
        self._root = ModuleScope()
        self._scope = self._root
        self._written = ""
        self._operation: Operation | None = None
        self._operations = 0
        self._blocks: list[StagedBlock] = []
        self._known: dict[Value, Array] = {}
        self._specialised: set[Value] = set()
        self._trained: set[Value] = set()
        """The leaves that are to be trained."""
        self._outputs: dict[str, Staged] = {}
        self._held = 0
        """Elements of all constants, those that no block reads any more included."""

    @property
    def written(self) -> str:
        """The place of the model's code that what is added now stands for; empty for none."""
        return self._written

    @contextmanager
    def at(self, path: Sequence[Part], written: str | None = None) -> Iterator[None]:
        """Add blocks in the module at ``path``, counted from the model or the loop around it.

        ``("encoder", "layers", "0")`` is the page ``encoder/layers/0``. ``written`` is the place of
        a program that they stand at, ``model.py:42``; None keeps that of around.
        """
        before = self._scope, self._written
        loops = [scope for scope in self._scope.line if scope.is_loop]
        self._scope = (loops[-1] if loops else self._root).at(path)
        if written is not None:
            self._written = _on_one_line(written)
        try:
            yield
        finally:
            self._scope, self._written = before

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Add the blocks of one operation of the model, which may get a page of their own."""
        before = self._operation
        self._operations += 1
        self._operation = before or (name, self._operations)
        try:
            yield
        finally:
            self._operation = before

    def constant(self, array: Any) -> Staged:
        """Fixed numbers, in the dtype of the array; LimitError where there are too many."""
        array = np.asarray(array)
        self._held = require_few(self._held + array.size)
        value = self._trace.xp.asarray(array, array.dtype.name)
        return Staged(self, value, array=array)

    def input(
        self,
        name: str,
        example: Any = None,
        shape: Shape | None = None,
        dtype: str | None = None,
        stand_in: bool = False,
    ) -> Staged:
        """Data that is fed: an Input block on the main page, by default with an example's numbers.

        Without an example, its shape and dtype must be given. Nothing is specialised to the numbers
        of one that is a ``stand_in`` for those that the user has.
        """
        array = None if example is None else np.asarray(example)
        if array is None:
            given: dict[str, Any] = {"shape": shape, "dtype": dtype}
        else:
            shape, dtype = array.shape, array.dtype.name
            given = {"value": array, "dtype": dtype}
        assert shape is not None and dtype is not None
        sample = None if stand_in else array
        return self._leaf("Input", name, self._traced_leaf(shape, dtype), sample, given)

    def variable(
        self,
        name: str,
        array: Any,
        trainable: bool = True,
        module: Sequence[str] = (),
        own: str = "",
    ) -> Staged:
        """A parameter of the model: ``name`` is its name there, ``module`` where it belongs.

        ``own`` is its name in the module; by default what follows the module's name in ``name``.
        The block has the very array of a Tensor.
        """
        value = array if isinstance(array, Tensor) else Tensor(array)
        array = value.array
        given = {"value": value, "dtype": value.dtype, "trainable": trainable}
        leaf = self._traced_leaf(array.shape, array.dtype.name)
        return self._leaf("Variable", name, leaf, array, given, module, own)

    def drawn(
        self,
        name: str,
        shape: Shape,
        initialiser: str,
        module: Sequence[str] = (),
        own: str = "",
        dtype: str = "float32",
        **more: Any,
    ) -> Staged:
        """A parameter whose numbers an initialiser draws; they are not known.

        ``more`` are other parameters of the Variable block; see ``variable``.
        """
        given = {"shape": tuple(shape), "initialiser": initialiser, "dtype": dtype, **more}
        leaf = self._traced_leaf(shape, dtype)
        return self._leaf("Variable", name, leaf, None, given, module, own)

    def block(self, kind: str, *inputs: Staged | None, name: str = "", **parameters: Any) -> Staged:
        """The only output of a new block; None leaves an input open.

        Blocks of constants are computed now and leave only their numbers. Raises UnsupportedError
        where no block of that type is installed, and the block's own errors.
        """
        return self.blocks(kind, *inputs, name=name, **parameters)[0]

    def blocks(
        self, kind: str, *inputs: Staged | None, name: str = "", **parameters: Any
    ) -> tuple[Staged, ...]:
        """All outputs of a new block, in order; see ``block``."""
        cls = registry().find(kind)
        if cls is None:
            raise UnsupportedError(kind, "no such block is installed", written=self._written)
        block = cls(**parameters)
        given = inputs_by_port(block, inputs)
        values = self._forward(block, given)
        if given and kind not in NEVER_FOLDED and all(x.array is not None for x in given.values()):
            require_holdable(values, kind)
            return tuple(self.constant(array) for array in self._computed(values))
        return self._add(block, given, name, values)

    # ---- the same numbers in other shapes, where something would change at all ---------------

    def cast(self, x: Staged, dtype: str) -> Staged:
        """``x`` in another dtype; itself where it has it."""
        return x if x.dtype == dtype else self.block("Cast", x, dtype=dtype)

    def reshape(self, x: Staged, shape: Sequence[int]) -> Staged:
        """``x`` in another shape; itself where it has it."""
        shape = tuple(int(length) for length in shape)
        source = x.source
        if source is not None and source.block.type_name() == "Reshape":
            before = source.inputs["x"]
            x = before if before.shape == shape else x
        return x if x.shape == shape else self.block("Reshape", x, shape=shape)

    def transpose(self, x: Staged, order: Sequence[int]) -> Staged:
        """The axes of ``x`` in another order; itself where they are in it."""
        perm = tuple(int(axis) % x.ndim for axis in order)
        return x if perm == tuple(range(x.ndim)) else self.block("Transpose", x, perm=perm)

    def broadcast(self, x: Staged, shape: Sequence[int]) -> Staged:
        """``x`` repeated to a shape; itself where it has it."""
        shape = tuple(int(length) for length in shape)
        return x if x.shape == shape else self.block("Broadcast", x, shape=shape)

    def take(self, x: Staged, indices: Any, axis: int) -> Staged:
        """Elements of ``x`` at integer indices, given as a value or as numbers, along an axis."""
        picked = indices
        if not isinstance(indices, Staged):
            picked = self.constant(np.asarray(indices, np.int64))
        return self.block("Gather", x, picked, axis=axis % x.ndim)

    def cut(
        self, x: Staged, axis: int, start: int | None, stop: int | None, step: int = 1
    ) -> Staged:
        """``x[start:stop:step]`` along an axis, with Python's meaning of the bounds."""
        axis %= x.ndim
        places = range(*slice(start, stop, step).indices(x.shape[axis]))
        if places == range(x.shape[axis]):
            return x
        if step != 1:
            return self.take(x, list(places), axis)
        begin, size = [0] * x.ndim, [-1] * x.ndim
        begin[axis], size[axis] = (places.start if len(places) else 0), len(places)
        return self.block("Slice", x, begin=tuple(begin), size=tuple(size))

    def select(self, x: Staged, axis: int, index: int) -> Staged:
        """``x[index]`` along an axis, which is left out."""
        axis %= x.ndim
        index %= x.shape[axis]
        part = self.cut(x, axis, index, index + 1)
        return self.reshape(part, part.shape[:axis] + part.shape[axis + 1 :])

    # ---- losses, outputs and loops -------------------------------------------------------------

    def loss(self, x: Staged, name: str = "loss", **parameters: Any) -> Staged:
        """Mark a value as a loss, on the main page; ``parameters`` are those of the Loss block."""
        with self.at(()):
            loss = self.block("Loss", x, name=name, **parameters)
        self._outputs[name] = loss
        return loss

    @property
    def has_loss(self) -> bool:
        """Whether a Loss has been added."""
        return any(block.block.head for block in self._blocks)

    def output(self, x: Staged, name: str) -> Staged:
        """Show a value under the name that the model gives it, on the main page."""
        with self.at(()):
            block = registry().get("Display")()
            given = {"x": x}
            (shown,) = self._add(block, given, name, self._forward(block, given))
        self._outputs[name] = shown
        return shown

    def scan(
        self,
        name: str,
        steps: int,
        body: Body,
        carry: Mapping[str, Staged],
        over: Mapping[str, Staged],
        reverse: bool = False,
    ) -> dict[str, Staged]:
        """A Scan that runs ``body`` once for each element of ``over``, along axis 0.

        ``body`` gets what is carried and the elements by name, and returns what is carried to the
        next step, by the same names, and what is stacked. The result has the last of what is
        carried and all that is stacked, by name. What else the body uses comes from around it.
        """
        scope = self._scope.loop(name)
        before, self._scope = self._scope, scope
        try:
            inside = {key: self._page_input(key, x.shape, x.dtype) for key, x in carry.items()}
            inside |= {key: self._page_input(key, x.shape[1:], x.dtype) for key, x in over.items()}
            carried, stacked = body(inside)
            ends = {f"{key}_next": x for key, x in carried.items()} | dict(stacked)
            for key, x in ends.items():
                page_output = PageOutput()
                self._add(page_output, {"x": x}, key, self._forward(page_output, {"x": x}))
        finally:
            self._scope = before
        block = registry().get("Scan")(
            steps=steps,
            carry={key: f"{key}_next" for key in carry},
            over=tuple(over),
            reverse=reverse,
        )
        staged = StagedBlock(block, {**carry, **over}, before, name, body=scope)
        self._blocks.append(staged)
        last = {
            key: Staged(self, self._traced_leaf(x.shape, x.dtype), staged, f"{key}_next")
            for key, x in carried.items()
        }
        all_of = {
            key: Staged(self, self._traced_leaf((steps, *x.shape), x.dtype), staged, key)
            for key, x in stacked.items()
        }
        return last | all_of

    def numbers(self, x: Staged, why: str) -> Array:
        """The numbers of a value that must be known when the diagram is made.

        They are those of the example inputs, which a remark says unless the value is constant.
        Raises UnsupportedError where an input has no example, or a loop computes them.
        """
        known = self.example(x)
        if known is None:
            raise UnsupportedError(
                why, "it depends on numbers that are known only in a run", written=self._written
            )
        if x.array is None and x.value not in self._specialised:
            self._specialised.add(x.value)
            text = f"{why}: it depends on numbers, and holds for those of the example."
            self.remark("specialised", f"{text} {self.way_back(x)}".rstrip())
        return known

    def way_back(self, x: Staged) -> str:
        """That what is decided by the numbers of a value trains nothing, where they are trained."""
        return CHOSEN if leaves_of(x.value) & self._trained else ""

    def example(self, x: Staged) -> Array | None:
        """The numbers that the example inputs give; None where one is missing, or in a loop."""
        if x.array is not None:
            return x.array
        if any(leaf not in self._samples for leaf in leaves_of(x.value)):
            return None
        if x.value not in self._known:
            (self._known[x.value],) = self._computed([x.value])
        return self._known[x.value]

    def settle(self) -> None:
        """Move each variable to the module that reads it, named by what follows in its name."""
        settle(self._root, self._blocks)

    def remark(self, kind: RemarkKind, text: str, about: Staged | None = None) -> None:
        """Tell the user something about a value's block, if it is needed, or about the model."""
        source = None if about is None else about.source
        self.remarks.append((kind, text, source, self._written))

    def finish(self, outputs: Mapping[str, Staged] | None = None) -> Imported:
        """The diagram of everything that the outputs and losses need.

        ``outputs`` are named where they are, without a block that shows them.
        """
        paging = self._paging = Paging(self._root, self._blocks)
        named = {**self._outputs, **(outputs or {})}
        made = paging.diagram(self.title, named.values())
        remarks = dict.fromkeys(
            Remark(kind, text, paging.path(source) if source else "", written)
            for kind, text, source, written in self.remarks
            if source is None or paging.path(source)
        )
        leaves = [block for block in self._blocks if block.parameter and paging.path(block)]
        return Imported(
            made,
            tuple(remarks),
            {b.parameter: paging.path(b) for b in leaves if b.block.type_name() == "Variable"},
            {b.parameter: paging.path(b) for b in leaves if b.block.type_name() == "Input"},
            {name: paging.port(x) for name, x in named.items() if x.source is not None},
        )

    @property
    def so_far(self) -> Sequence[StagedBlock]:
        """All blocks that have been added."""
        return self._blocks

    def reroute(self, value: Staged, through: Staged) -> None:
        """Let all blocks that read a value read it behind another block."""
        for block in self._blocks:
            if block is not through.source and any(x is value for x in block.inputs.values()):
                block.inputs = {
                    port: through if x is value else x for port, x in block.inputs.items()
                }

    def is_read(self, value: Staged) -> bool:
        """Whether a block reads a value."""
        return any(x is value for block in self._blocks for x in block.inputs.values())

    def path(self, block: StagedBlock) -> str:
        """The path of a block in the finished diagram; empty where nothing needs it."""
        return self._paging.path(block)

    def port(self, block: StagedBlock, output: str) -> str:
        """The path of an output in the finished diagram; empty where nothing needs its block."""
        path = self.path(block)
        return str(InstancePath(path).port(output)) if path else ""

    def _add(
        self, block: Block, inputs: Mapping[str, Staged], name: str, values: Sequence[Value]
    ) -> tuple[Staged, ...]:
        if self._written:
            block = block.model_copy(update={"written": self._written})
        staged = StagedBlock(block, inputs, self._scope, name, operation=self._operation)
        self._blocks.append(staged)
        ports = zip(values, block.output_names(), strict=True)
        return tuple(Staged(self, value, staged, port) for value, port in ports)

    def _forward(self, block: Block, inputs: Mapping[str, Staged]) -> list[Value]:
        """Trace a block; its errors get the place in the program."""
        ports = block.input_ports()
        arguments: list[Any] = []
        for port in ports:
            if port.variadic:
                arguments += [
                    x.value for key, x in inputs.items() if key.startswith(f"{port.name}.")
                ]
            elif port.name in inputs:
                arguments.append(inputs[port.name].value)
            elif port.required:
                raise UnsupportedError(block.type_name(), f"its input {port.name!r} is missing")
            else:
                default = port.default
                arguments.append(None if default is None else self._trace.xp.scalar(default))
        try:
            results = block.forward(self._trace.xp, *arguments)
        except GradwireError as error:
            place = InstancePath.of(*self._scope.names, snake_case(block.type_name()))
            error.at(Location(block=place))
            raise
        several = results if isinstance(results, tuple) else (results,)
        return [self._trace.xp.asarray(result) for result in several]

    def _computed(self, values: Sequence[Value]) -> list[Array]:
        plan = Plan(values, ())
        for leaf, buffer in plan.leaves.items():
            np.copyto(buffer, self._samples[leaf])
        plan.run()
        return [plan.read(value) for value in values]

    def _traced_leaf(self, shape: Shape, dtype: str) -> Value:
        return self._trace.apply(LEAF, shape=tuple(shape), dtype=dtype)

    def _leaf(
        self,
        kind: str,
        name: str,
        value: Value,
        array: Array | None,
        given: Mapping[str, Any],
        module: Sequence[str] = (),
        own: str = "",
    ) -> Staged:
        """Add the block of an input or a variable, of which numbers may be known."""
        if array is not None:
            self._samples[value] = array
        if kind == "Variable" and given.get("trainable", True):
            self._trained.add(value)
        written = {"written": self._written} if self._written else {}
        block = registry().get(kind)(**given, **written)
        own = own or own_name(name, module)
        staged = StagedBlock(block, {}, self._root.at(module), own, parameter=name)
        self._blocks.append(staged)
        return Staged(self, value, staged)

    def _page_input(self, name: str, shape: Shape, dtype: str) -> Staged:
        staged = StagedBlock(PageInput(), {}, self._scope, name)
        self._blocks.append(staged)
        return Staged(self, self._traced_leaf(shape, dtype), staged)


def _on_one_line(text: str) -> str:
    """A place of a program as a block keeps it."""
    return "".join(c if c.isprintable() else " " for c in text).strip()[:MAX_WRITTEN]
