"""Imports Keras files: layers in order of what they read, each a page called like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.keras.call import LayerCall
from gradwire.runtime.interchange.importing.keras.functions import OPERATIONS
from gradwire.runtime.interchange.importing.keras.images import Layouts
from gradwire.runtime.interchange.importing.keras.layers import LAYERS
from gradwire.runtime.interchange.importing.keras.model import (
    KerasEntry,
    KerasNode,
    Layer,
    Model,
    model_of,
)
from gradwire.runtime.interchange.importing.keras.training import TARGET, put_up_loss, with_recipe
from gradwire.runtime.interchange.importing.keras.weights import (
    KerasVariables,
    opened,
    read_archive,
)
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.progress import counted
from gradwire.runtime.interchange.importing.scopes import ModuleCall as Use
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gradwire.runtime.interchange.importing.scopes import Part

_BATCH = 1
"""The length of the batch, unless the user gives one."""
_INPUT = "InputLayer"


def import_keras(
    path: Path,
    options: ImportOptions = DEFAULTS,
    arrays: Mapping[str, ArrayLike] | None = None,
) -> Imported:
    """The diagram of the model in a file, with its loss and its optimiser where they are standard.

    ``arrays`` are numbers of inputs by name, and of the ``target``. Raises FileError for what can't
    be read, UnsupportedError for a layer that no block can express.
    """
    document, data = read_archive(path)
    model = model_of(document)
    stage = Stage(model.name)
    compiled = document.get("compile_config")
    with opened(data) as weights:
        outputs = _Importer(stage, KerasVariables(stage, weights), options, arrays or {}).outputs(
            model
        )
    stage.remark("note", "Weights have their axes in the order of blocks, those of outputs first.")
    y = next(iter(outputs.values()))
    target = (arrays or {}).get(TARGET)
    if len(outputs) == 1 and not options.loss and put_up_loss(stage, y, compiled, target):
        for name, x in outputs.items():
            stage.output(x, name)
        return with_recipe(stage.finish(), compiled)
    return conclude(stage, outputs, options)


@dataclass(eq=False)
class _Importer:
    stage: Stage
    variables: KerasVariables
    options: ImportOptions
    arrays: Mapping[str, ArrayLike]
    inputs: int = 0
    """How many inputs have been put up."""

    def __post_init__(self) -> None:
        self.layouts = Layouts(self.stage)

    def outputs(self, model: Model) -> dict[str, Staged]:
        """What the outermost model gives, by the names of the layers that give it."""
        names = [entry.layer for entry in model.inputs]
        for name in (*self.options.shapes, *self.arrays):
            if name not in (*names, TARGET):
                raise FileError(f"The model has no input {name!r}.", expected=", ".join(names[:20]))
        given = [self._input(model.layers.get(entry.layer), entry.layer) for entry in model.inputs]
        found = self._run(model, (), given)
        by_name: dict[str, Staged] = {}
        for entry, x in zip(model.outputs, found, strict=True):
            name = entry.layer if entry.layer not in by_name else f"{entry.layer}_{len(by_name)}"
            by_name[name] = x
        return by_name

    def _input(self, layer: Layer | None, name: str) -> Staged:
        if layer is None or layer.kind != _INPUT:
            raise FileError(f"The input {name!r} of the model is no layer for one.")
        given = layer.config.json("dtype")
        dtype = given if isinstance(given, str) else "float32"
        if name in self.arrays:
            return self.stage.input(name, np.asarray(self.arrays[name], dtype))
        index, self.inputs = self.inputs, self.inputs + 1
        shape = self.options.shapes.get(name) or self._shape(layer)
        return self.stage.input(name, self.options.example(index, tuple(shape), dtype))

    def _shape(self, layer: Layer) -> tuple[int, ...]:
        lengths = layer.config.list("batch_shape")
        if not lengths or not all(
            n is None or (type(n) is int and 0 <= n < 2**31) for n in lengths
        ):
            raise FileError(f"The input {layer.name!r} has no shape.")
        if None in lengths[1:]:
            raise FileError(
                f"The model leaves the shape of its input {layer.name!r} open.",
                next_step=f"Give it with the file, such as {layer.name}=1,8.",
            )
        return (_BATCH if lengths[0] is None else lengths[0], *lengths[1:])

    def _run(
        self, model: Model, path: tuple[Part, ...], given: Sequence[Staged]
    ) -> tuple[Staged, ...]:
        """What a model gives for values; its layers are put up at a path."""
        if len(given) != len(model.inputs):
            raise FileError(f"The model {model.name!r} is called with other inputs than it has.")
        values = dict(zip(model.inputs, given, strict=True))
        for entry, layer, number in counted(_order(model), "layers"):
            if entry not in values:
                for output, x in enumerate(self._called(layer, number, path, values)):
                    values[KerasEntry(layer.name, number, output)] = x
        missing = [entry for entry in model.outputs if entry not in values]
        if missing:
            raise FileError(f"The model {model.name!r} has no output {tuple(missing[0])}.")
        return tuple(values[entry] for entry in model.outputs)

    def _called(
        self, layer: Layer, number: int, path: tuple[Part, ...], values: Mapping[KerasEntry, Staged]
    ) -> tuple[Staged, ...]:
        node = layer.nodes[number]
        arguments = [_with_values(value, values) for value in node.arguments]
        keywords = {key: _with_values(value, values) for key, value in node.keywords.items()}
        here = (*path, Use(layer.name, number + 1))
        if layer.model is not None:
            return self._inner(layer, layer.model, here, arguments)
        self.variables.module = tuple(part if isinstance(part, str) else part.name for part in path)
        call = LayerCall(
            self.stage, layer, arguments, keywords, self.variables, self.layouts,
            self.options.training,
        )  # fmt: skip
        with self.stage.at(here):
            made = self._made(call)
        return made if isinstance(made, tuple) else (made,)

    def _inner(
        self, layer: Layer, model: Model, path: tuple[Part, ...], arguments: Sequence[object]
    ) -> tuple[Staged, ...]:
        """A model that is a layer: its page, frozen if it is."""
        before = self.variables.frozen
        self.variables.frozen = before or not layer.config.flag("trainable", True)
        flat = arguments[0] if arguments and isinstance(arguments[0], list) else arguments
        found = self._run(model, path, [x for x in flat if isinstance(x, Staged)])
        self.variables.frozen = before
        return found

    def _made(self, call: LayerCall) -> Staged | tuple[Staged, ...]:
        """What a layer gives; settings may name axes and lengths that its inputs don't have."""
        kind = call.layer.kind
        if kind == "TimeDistributed":
            return self._at_each_time(call)
        operator = (OPERATIONS if call.layer.is_operation else LAYERS).get(kind)
        if operator is None:
            raise UnsupportedError(f"The {kind} layer {call.layer.name!r}")
        try:
            return operator(call)
        except (IndexError, ValueError, TypeError, ArithmeticError) as error:
            raise FileError(
                f"The inputs of the {kind} layer {call.layer.name!r} don't fit its settings."
            ) from error

    def _at_each_time(self, call: LayerCall) -> Staged:
        """A layer applied to every element along time, as one batch."""
        x, inner = call.x(), call.layer.inner
        if inner is None:
            raise call.unsupported("it has no layer")
        batch, time = x.shape[:2]
        flat = self.stage.reshape(x, (batch * time, *x.shape[2:]))
        made = self._made(
            LayerCall(self.stage, inner, [flat], {}, self.variables, self.layouts, call.training)
        )
        if isinstance(made, tuple):
            raise call.unsupported("its layer gives several values")
        return self.stage.reshape(made, (batch, time, *made.shape[1:]))


def _order(model: Model) -> list[tuple[KerasEntry, Layer, int]]:
    """All calls of layers, each after those that it reads. Raises FileError for a circle."""
    done = {(entry.layer, entry.call) for entry in model.inputs}
    waiting = [
        (layer, number) for layer in model.layers.values() for number in range(len(layer.nodes))
    ]
    needed = {(a.name, n): _read(a.nodes[n]) for a, n in waiting}
    found: list[tuple[KerasEntry, Layer, int]] = []
    while waiting:
        ready = []
        for layer, number in waiting:
            if needed[layer.name, number] <= done:
                done.add((layer.name, number))
                ready.append((layer, number))
                found.append((KerasEntry(layer.name, number, 0), layer, number))
        if not ready:
            raise FileError(f"Layers of the model {model.name!r} read what is not there.")
        waiting = [(a, n) for a, n in waiting if (a.name, n) not in done]
    return found


def _read(node: KerasNode) -> set[tuple[str, int]]:
    """The calls whose outputs a call reads."""
    pending, found = [*node.arguments, *node.keywords.values()], set()
    while pending:
        value = pending.pop()
        if isinstance(value, KerasEntry):
            found.add((value.layer, value.call))
        elif isinstance(value, list):
            pending += value
    return found


def _with_values(argument: object, values: Mapping[KerasEntry, Staged]) -> object:
    """An argument with values for entries."""
    if isinstance(argument, KerasEntry):
        if argument not in values:
            raise FileError(f"A layer reads output {argument.output} of {argument.layer!r}.")
        return values[argument]
    if isinstance(argument, list):
        return [_with_values(part, values) for part in argument]
    return argument
