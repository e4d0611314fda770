"""Imports frozen graphs and SavedModel folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.checkpoint import TensorFlowCheckpoint
from gradwire.runtime.interchange.importing.tensorflow.evaluation import GraphEvaluation, GraphFrame
from gradwire.runtime.interchange.importing.tensorflow.frozen import FrozenConstants
from gradwire.runtime.interchange.importing.tensorflow.graph import (
    FunctionLibrary,
    NodeReference,
    library_of,
    reference,
)
from gradwire.runtime.interchange.importing.tensorflow.items import ChangedVariable
from gradwire.runtime.interchange.importing.tensorflow.messages import Message, parse
from gradwire.runtime.interchange.importing.tensorflow.recognition import SAVED_MODEL
from gradwire.runtime.interchange.importing.tensorflow.variables import TensorFlowVariables

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

MAX_BYTES = 2**31 - 1
"""Bytes of a file of messages, at most; protobuf reads no more either."""
SIGNATURE = "serving_default"
_SILENT = frozenset({"NoOp", "Const", "Placeholder", "Assert", "VarHandleOp"})
"""Nodes that are no outputs although nothing reads them."""
_UNKNOWN_LENGTH = 1
"""The length of an axis that the model leaves open, unless the user gives one."""


def import_graph_def(
    path: Path,
    options: ImportOptions = DEFAULTS,
    arrays: Mapping[str, ArrayLike] | None = None,
) -> Imported:
    """The diagram of a frozen graph: constants that its variables became are variables again.

    ``arrays`` are numbers of inputs by name. Raises FileError for what can't be read,
    UnsupportedError for an operator that no block can express.
    """
    library = library_of(parse("Graph", read_regular(path, MAX_BYTES), str(path)))
    stage = Stage(path.stem)
    variables = TensorFlowVariables(stage, None, {})
    constants = FrozenConstants(library.graph)
    names = {n.name: n.name for n in library.graph.nodes.values() if n.operator == "Placeholder"}
    inputs = _Inputs(options, arrays or {}, names)
    extra = {"Const": constants.put_up, "Placeholder": inputs.put_up}
    evaluation = GraphEvaluation(stage, library.functions, variables, options.training, extra)
    outputs = {name: reference(name) for name in _outputs_of(library)}
    return _concluded(stage, evaluation, library, outputs, options)


def import_saved_model(
    path: Path,
    options: ImportOptions = DEFAULTS,
    arrays: Mapping[str, ArrayLike] | None = None,
) -> Imported:
    """The diagram of the serving signature of a SavedModel, a folder or the file of its graphs.

    ``arrays`` are numbers of inputs by name. Raises FileError for what can't be read,
    UnsupportedError for an operator that no block can express.
    """
    folder = path if path.is_dir() else None
    file = path if folder is None else folder / SAVED_MODEL
    message = parse("SavedModel", read_regular(file, MAX_BYTES, folder), str(file))
    if not message.meta_graphs:
        raise FileError("The SavedModel has no graph.", path=str(file))
    meta = message.meta_graphs[0]
    library, stage = library_of(meta.graph), Stage(file.parent.name)
    signature = _signature(meta, file)
    prefix = file.parent / "variables" / "variables"
    has_some = prefix.with_suffix(".index").exists()
    checkpoint = TensorFlowCheckpoint(prefix, file.parent) if has_some else None
    variables = TensorFlowVariables(stage, checkpoint, _trainable(meta))
    names = {reference(info.name).node: name for name, info in sorted(signature.inputs.items())}
    extra = {"Placeholder": _Inputs(options, arrays or {}, names).put_up}
    evaluation = GraphEvaluation(stage, library.functions, variables, options.training, extra)
    restore = reference(meta.saver.restore).node
    if restore in library.graph.nodes:
        evaluation.put_up(GraphFrame(library.graph, {}), restore)
    variables.are_restored = True
    outputs = {name: reference(info.name) for name, info in sorted(signature.outputs.items())}
    return _concluded(stage, evaluation, library, outputs, options)


def _concluded(
    stage: Stage,
    evaluation: GraphEvaluation,
    library: FunctionLibrary,
    outputs: Mapping[str, NodeReference],
    options: ImportOptions,
) -> Imported:
    """The diagram of outputs. Raises UnsupportedError for a variable that has changed."""
    items = evaluation.get(GraphFrame(library.graph, {}), list(outputs.values()))
    for item in items:
        if isinstance(item, ChangedVariable):
            raise item.error
    pairs = zip(outputs, items, strict=True)
    found = {name: item for name, item in pairs if isinstance(item, Staged)}
    if not found:
        raise FileError("The model gives no numbers.")
    return conclude(stage, found, options)


class _Inputs:
    """The inputs of a model, in order of their placeholders; ``names`` are theirs by node.

    A placeholder without a name is that of a file's path, which nothing computes with.
    """

    def __init__(
        self, options: ImportOptions, arrays: Mapping[str, ArrayLike], names: Mapping[str, str]
    ) -> None:
        known = set(names.values())
        for name in (*options.shapes, *arrays):
            if name not in known:
                raise FileError(
                    f"The model has no input {name!r}.", expected=", ".join(sorted(known)[:20])
                )
        self._options = options
        self._arrays = arrays
        self._names = names
        self._order = {node: place for place, node in enumerate(names)}

    def put_up(self, call: TensorFlowCall) -> Item:
        """The Input of a placeholder."""
        name = self._names.get(call.node.name)
        if name is None:
            return None
        dtype = call.attributes.dtype("dtype")
        if name in self._arrays:
            return call.stage.input(name, np.asarray(self._arrays[name], dtype))
        shape = self._shape(call, name)
        return call.stage.input(
            name, self._options.example(self._order[call.node.name], shape, dtype)
        )

    def _shape(self, call: TensorFlowCall, name: str) -> Shape:
        known = call.attributes.shape("shape")
        if name in self._options.shapes:
            return tuple(self._options.shapes[name])
        if known is None:
            raise FileError(
                f"The model doesn't say which shape its input {name!r} has.",
                next_step=f"Give it with the file, such as {name}=1,3.",
            )
        if -1 in known:
            call.stage.remark(
                "specialised",
                f"The input {name!r} has open lengths, which became {_UNKNOWN_LENGTH}.",
            )
        return tuple(_UNKNOWN_LENGTH if length == -1 else length for length in known)


def _outputs_of(library: FunctionLibrary) -> list[str]:
    """The nodes of a graph that nothing reads."""
    nodes = library.graph.nodes
    read = Counter(r.node for node in nodes.values() for r in node.inputs)
    outputs = [n.name for n in nodes.values() if not read[n.name] and n.operator not in _SILENT]
    if not outputs:
        raise FileError("The graph gives nothing.")
    return outputs


def _signature(message: Message, file: Path) -> Message:
    """What a SavedModel serves; by default, else the first that gives something."""
    if SIGNATURE in message.signatures:
        return message.signatures[SIGNATURE]
    for name in sorted(message.signatures):
        if not name.startswith("__") and message.signatures[name].outputs:
            return message.signatures[name]
    raise FileError(
        "The SavedModel has no signature, so it gives nothing.",
        path=str(file),
        next_step="Save it with signatures=function.get_concrete_function(...).",
    )


def _trainable(message: Message) -> dict[str, bool]:
    """Which variables are trained, by name; one that any says is trained, is."""
    found: dict[str, bool] = {}
    for node in message.objects.nodes:
        if node.HasField("variable"):
            name = node.variable.name
            found[name] = found.get(name, False) or node.variable.trainable
    return found
