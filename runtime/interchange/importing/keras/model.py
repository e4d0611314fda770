"""The layers of a model as its configuration has them, and how they are connected."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.keras.call import Config

MODELS = frozenset({"Sequential", "Functional", "Model"})
_OPERATIONS = ("keras.src.ops.", "keras.ops")
MAX_LAYERS = 50_000
"""Layers of a model, those of models inside it included, at most."""
MAX_DEPTH = 30
"""Models inside one another, at most."""


class KerasEntry(NamedTuple):
    """One output of one call of a layer."""

    layer: str
    call: int
    output: int


@dataclass(frozen=True, eq=False)
class KerasNode:
    """A call of a layer: its arguments, in which entries stand for the outputs of others."""

    arguments: Sequence[object]
    keywords: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer, or a model that is used as one.

    ``place`` is where its weights are, ``layers/dense_1``. ``model`` has the layers inside it,
    ``inner`` the layer that it applies at each time.
    """

    kind: str
    config: Config
    place: str
    nodes: tuple[KerasNode, ...] = ()
    model: Model | None = None
    inner: Layer | None = None
    is_operation: bool = False
    """Whether it is a function of ``keras.ops``."""

    @property
    def name(self) -> str:
        """The name that the user gave it, or Keras."""
        return self.config.text("name", self.kind)


@dataclass(frozen=True, eq=False)
class Model:
    """Layers by name, in order, with the entries that are its inputs and outputs."""

    name: str
    layers: Mapping[str, Layer] = field(default_factory=dict)
    inputs: tuple[KerasEntry, ...] = ()
    outputs: tuple[KerasEntry, ...] = ()


def model_of(record: object, place: str = "", depth: int = 0) -> Model:
    """The model of a configuration; raises FileError for none, UnsupportedError for code."""
    kind, config = checked(record)
    if kind not in MODELS or depth > MAX_DEPTH:
        raise UnsupportedError(f"The model {kind!r}", "it is neither Sequential nor Functional")
    layers = _layers(config, f"{place}/layers" if place else "layers", depth)
    name = config.text("name", kind.lower())
    if kind == "Sequential":
        return _sequential(name, layers)
    inputs, outputs = (_entries(config.json(key)) for key in ("input_layers", "output_layers"))
    return Model(name, layers, tuple(inputs), tuple(outputs))


def checked(record: object) -> tuple[str, Config]:
    """The class and the configuration of an object of Keras's own.

    Raises UnsupportedError for one of the user's, which only code can make.
    """
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        raise FileError("The configuration of a layer is no object.")
    kind, config = str(record.get("class_name", "")), Config(record["config"])
    module = str(record.get("module") or "")
    own = module == "keras" or module.startswith("keras.")
    if not own or record.get("registered_name") not in (None, kind):
        name = str(record["config"].get("name", ""))[:80]
        raise UnsupportedError(
            f"The layer {name!r} of the class {kind[:80]!r}", "it is not of Keras"
        )
    if kind == "Lambda":
        raise UnsupportedError(f"The Lambda layer {config.text('name', '')[:80]!r}", "it is code")
    return kind, config


def snake_case(kind: str) -> str:
    """The name of a class as Keras writes it in the file of weights: ``conv2d_transpose``."""
    split = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", kind))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", split).lower()


def _layers(config: Config, place: str, depth: int) -> dict[str, Layer]:
    records = config.list("layers")
    if len(records) > MAX_LAYERS:
        raise FileError(f"The model has more than {MAX_LAYERS:,} layers.")
    used: Counter[str] = Counter()
    found: dict[str, Layer] = {}
    for record in records:
        kind, settings = checked(record)
        stem = snake_case(kind)
        own = f"{place}/{stem}_{used[stem]}" if used[stem] else f"{place}/{stem}"
        used[stem] += 1
        inner = model_of(record, own, depth + 1) if kind in MODELS else None
        nodes = tuple(map(_node, record.get("inbound_nodes") or ()))
        operation = str(record.get("module", "")).startswith(_OPERATIONS)
        layer = Layer(kind, settings, own, nodes, inner, _wrapped(kind, settings, own), operation)
        if layer.name in found:
            raise FileError(f"Two layers have the name {layer.name!r}.")
        found[layer.name] = layer
    return found


def _wrapped(kind: str, config: Config, place: str) -> Layer | None:
    """The layer that a layer applies at each time; its variables are under its own name."""
    if kind != "TimeDistributed":
        return None
    inner, settings = checked(config.json("layer"))
    name = f"{config.text('name', kind)}/{settings.text('name', inner)}"
    return Layer(inner, Config({**settings.settings, "name": name}), f"{place}/layer")


def _sequential(name: str, layers: dict[str, Layer]) -> Model:
    """A chain of layers; the first one is its input."""
    names = list(layers)
    if not names or layers[names[0]].kind != "InputLayer":
        raise FileError(
            f"The model {name!r} doesn't say what goes in.",
            next_step="Build it, or begin it with an Input, before it is saved.",
        )
    chained = {names[0]: layers[names[0]]}
    for before, after in itertools.pairwise(names):
        layer, node = layers[after], KerasNode((KerasEntry(before, 0, 0),), {})
        chained[after] = replace(layer, nodes=(node,))
    return Model(name, chained, (KerasEntry(names[0], 0, 0),), (KerasEntry(names[-1], 0, 0),))


def _node(record: object) -> KerasNode:
    if not isinstance(record, dict):
        raise FileError("The file is of an older Keras.", next_step="Save it with Keras 3.")
    arguments, keywords = record.get("args", ()), record.get("kwargs", {})
    if not isinstance(arguments, list) or not isinstance(keywords, dict):
        raise FileError("A call of a layer has no arguments.")
    resolved = tuple(map(_resolved, arguments))
    return KerasNode(resolved, {str(key): _resolved(value) for key, value in keywords.items()})


def _resolved(value: object) -> object:
    """An argument with the outputs of other layers as entries."""
    if isinstance(value, list):
        return [_resolved(part) for part in value]
    if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        config = value.get("config")
        history = config.get("keras_history") if isinstance(config, dict) else None
        return _entry(history)
    return value


def _entries(value: object) -> list[KerasEntry]:
    """The entries of a list of them, or of a single one; of a dict, in the order of its names."""
    if isinstance(value, dict):
        return [entry for key in value for entry in _entries(value[key])]
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [_entry(value)]
    if not isinstance(value, list):
        raise FileError("The inputs or outputs of a model are no list.")
    return [entry for part in value for entry in _entries(part)]


def _entry(value: object) -> KerasEntry:
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not isinstance(value[0], str)
        or not all(type(n) is int and 0 <= n < MAX_LAYERS for n in value[1:])
    ):
        raise FileError("A layer reads what is no output of another.", got=str(value)[:80])
    return KerasEntry(value[0], value[1], value[2])
