"""The layers of Keras by class."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from gradwire.runtime.interchange.importing.keras.call import Config
from gradwire.runtime.interchange.importing.keras.functions import ACTIVATIONS, activated, by_name
from gradwire.runtime.interchange.importing.keras.images import CONVOLUTIONS, POOLINGS
from gradwire.runtime.interchange.importing.meanings import normalisation, recurrent, shapes
from gradwire.runtime.interchange.importing.meanings.elementwise import fold
from gradwire.runtime.interchange.importing.meanings.indexing import whole
from gradwire.runtime.interchange.importing.staged import Staged, put

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator, Result


_AUGMENTING = (
    "RandomBrightness", "RandomContrast", "RandomCrop", "RandomFlip", "RandomHeight",
    "RandomRotation", "RandomTranslation", "RandomWidth", "RandomZoom",
)  # fmt: skip
"""Layers that change images in training alone."""


def _dense(call: LayerCall) -> Staged:
    """An affine map of the last axis, then an activation."""
    weight = call.variable(0, "kernel", np.transpose)
    bias = call.variable(1, "bias") if call.config.flag("use_bias", True) else None
    return activated(call, put("Linear", call.x(), weight, bias))


def _einsum(call: LayerCall) -> Staged:
    kernel = call.variable(0, "kernel")
    y = put("Einsum", call.x(), kernel, subscripts=call.config.text("equation", ""))
    has_bias = call.config.json("bias_axes") is not None
    return activated(call, y + call.variable(1, "bias") if has_bias else y)


def _embedding(call: LayerCall) -> Staged:
    if call.config.flag("mask_zero", False):
        call.stage.remark(
            "lost", f"The layer {call.layer.name!r} masks zeros, the diagram doesn't."
        )
    return put("Embedding", whole(call.x()), call.variable(0, "embeddings"))


def _dropout(call: LayerCall) -> Staged:
    """Drops in training, passes everything in use; elements that share noise drop together."""
    x, rate = call.x(), call.config.number("rate", 0.5)
    shape = call.config.list("noise_shape")
    if shape and len(shape) != x.ndim:
        raise call.unsupported(f"its noise has the shape {str(shape)[:80]}")
    shared = tuple(n for n, given in enumerate(shape) if given == 1 != x.shape[n])
    return _dropped(call, rate, shared)


def _dropped(call: LayerCall, rate: float, shared: tuple[int, ...] = ()) -> Staged:
    """The input without what is dropped; along the shared axes all of it, or nothing."""
    x = call.x()
    mode = "train" if call.training else "eval"
    if shared and call.training:
        ones = [1 if axis in shared else n for axis, n in enumerate(x.shape)]
        kept = call.stage.constant(np.ones(ones, x.dtype))
        return x * put("Dropout", kept, rate=rate, mode=mode)
    known = call.layouts.known(x)
    dropped = put("Dropout", x if known is None else known, rate=rate, mode=mode)
    return dropped if known is None else call.layouts.last(dropped)


def _over_features(shared: slice, call: LayerCall) -> Staged:
    """Drops whole channels, or whole samples: along these axes all of it, or nothing."""
    key = "drop_path_rate" if "drop_path_rate" in call.config.settings else "rate"
    axes = range(call.x().ndim)[shared]
    return _dropped(call, call.config.number(key, 0.5), tuple(axes))


def _passing(call: LayerCall) -> Staged:
    """What does nothing in use; in training it would add noise, or to the loss."""
    if call.training:
        call.stage.remark("lost", f"The {call.layer.kind} {call.layer.name!r} only passes values.")
    return call.x()


def _rescaling(call: LayerCall) -> Staged:
    """One scale and offset, or one of each for every channel."""
    x = call.stage.cast(call.x(), "float32") if not call.x().is_float else call.x()
    scaled = x * call.constant("scale", 1.0, x.dtype)
    offset = call.constant("offset", 0.0, x.dtype)
    return scaled + offset if offset.array is not None and offset.array.any() else scaled


_EPSILON = 1e-3
_LEAST = 1e-7
"""The least standard deviation that Normalization divides by."""
_STATISTICS = ((0, "mean"), (1, "variance"))


def _parameters(call: LayerCall) -> tuple[Staged | None, Staged | None, int]:
    """Scale and bias, as far as there are some, and how many variables they are."""
    scales, shifts = call.config.flag("scale", True), call.config.flag("center", True)
    scale = call.variable(0, "gamma") if scales else None
    bias = call.variable(int(scales), "beta") if shifts else None
    return scale, bias, scales + shifts


def _axes(call: LayerCall, rank: int) -> list[int]:
    given = call.config.json("axis")
    axes = [-1 if given is None else given] if not isinstance(given, list) else given
    found = [axis % rank for axis in axes if type(axis) is int and -rank <= axis < rank]
    if len(found) != len(axes):
        raise call.unsupported(f"its axes are {str(axes)[:80]}")
    return found


def _batch(call: LayerCall) -> Staged:
    """By the running statistics; in training, unless it is frozen, by those of the batch."""
    x = call.x()
    scale, bias, count = _parameters(call)
    mean = call.variable(count, "moving_mean", trainable=False)
    variance = call.variable(count + 1, "moving_variance", trainable=False)
    axes = _axes(call, x.ndim)
    if len(axes) != 1:
        raise call.unsupported(f"its axes are {axes}")
    known = call.layouts.known(x) if axes[0] == x.ndim - 1 else None
    by_batch = call.training and call.config.flag("trainable", True)
    out = normalisation.batch_norm(
        x if known is None else known, scale, bias, mean, variance, by_batch,
        call.config.number("epsilon", _EPSILON), 1.0 - call.config.number("momentum", 0.99),
        axes[0] if known is None else 1,
    )[0]  # fmt: skip
    if by_batch:
        call.stage.remark(
            "lost", f"{call.layer.name!r} doesn't update its running statistics.", out
        )
    return out if known is None else call.layouts.last(out)


def _layer(call: LayerCall) -> Staged:
    x, (scale, bias, _) = call.x(), _parameters(call)
    if call.config.flag("rms_scaling", False):
        raise call.unsupported("it scales by the root mean square alone")
    epsilon = call.config.number("epsilon", _EPSILON)
    return normalisation.layer_norm(x, scale, bias, _axes(call, x.ndim), epsilon)


def _root_mean_square(call: LayerCall) -> Staged:
    x, epsilon = call.x(), call.config.number("epsilon", 1e-6)
    return normalisation.rms_norm(x, call.variable(0, "scale"), _axes(call, x.ndim), epsilon)


def _group(call: LayerCall) -> Staged:
    x = call.x()
    if _axes(call, x.ndim) != [x.ndim - 1]:
        raise call.unsupported("its channels are not last")
    scale, bias, _ = _parameters(call)
    groups = call.config.whole("groups", 32)
    groups = x.shape[-1] if groups == -1 else groups
    epsilon = call.config.number("epsilon", _EPSILON)
    out = normalisation.group_norm(call.layouts.first(x), groups, scale, bias, epsilon)
    return call.layouts.last(out)


def _standard(call: LayerCall) -> Staged:
    """``(x - mean) / deviation`` by statistics that are kept, or its inverse."""
    x = call.x() if call.x().is_float else call.stage.cast(call.x(), "float32")
    kept = _axes(call, x.ndim)
    shape = tuple(n if axis in kept else 1 for axis, n in enumerate(x.shape))
    mean, variance = (_statistic(call, name, number, shape) for number, name in _STATISTICS)
    deviation = np.maximum(np.sqrt(variance), _LEAST).astype(x.dtype)
    if call.config.flag("invert", False):
        return x * call.stage.constant(deviation) + call.stage.constant(mean)
    return (x - call.stage.constant(mean)) / call.stage.constant(deviation)


def _statistic(call: LayerCall, name: str, number: int, shape: tuple[int, ...]) -> Array:
    """Numbers among the settings, or those that the layer has learned from data."""
    given = call.config.json(name)
    if given is None:
        stored = call.variables.array(call.layer, number)
    else:
        stored = np.asarray(call.constant(name, 0.0, "float32").array)
    if stored.size != math.prod(shape) and stored.size != 1:
        raise call.unsupported(f"its {name} has {stored.size} numbers")
    return stored.reshape(shape if stored.size > 1 else ()).astype(np.float32)


def _flatten(call: LayerCall) -> Staged:
    x = call.x()
    return put("Flatten", x) if x.ndim > 1 else call.stage.reshape(x, (x.size, 1))


def _reshape(call: LayerCall) -> Staged:
    x = call.x()
    wanted = call.config.list("target_shape")
    if not all(type(n) is int and -1 <= n < 2**40 for n in wanted) or wanted.count(-1) > 1:
        raise call.unsupported(f"its shape is {str(wanted)[:80]}")
    return put("Reshape", x, shape=tuple(shapes.whole((x.shape[0], *wanted), x.size)))


def _permute(call: LayerCall) -> Staged:
    dims = call.config.list("dims")
    if sorted(dims) != list(range(1, call.x().ndim)):
        raise call.unsupported(f"its axes are {str(dims)[:80]}")
    return put("Transpose", call.x(), perm=(0, *dims))


def _repeated(call: LayerCall) -> Staged:
    x, count = call.x(), call.config.whole("n")
    batch, features = x.shape
    return put("Broadcast", shapes.unsqueeze(x, (1,)), shape=(batch, count, features))


_FOLDED = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum",
}  # fmt: skip


def _values(call: LayerCall) -> tuple[list[Staged], bool]:
    """The inputs, with channels first where that is known of all of them."""
    given = call.xs()
    known = [call.layouts.known(x) for x in given]
    first = [x for x in known if x is not None]
    return (first, True) if len(first) == len(given) else (given, False)


def _folded(kind: str, call: LayerCall) -> Staged:
    """All inputs, one after the other."""
    values, first = _values(call)
    return call.layouts.last(fold(kind, values)) if first else fold(kind, values)


def _average(call: LayerCall) -> Staged:
    values = call.xs()
    return put("AddN", *values) * (1 / len(values))


def _concatenate(call: LayerCall) -> Staged:
    values, first = _values(call)
    axis = call.config.whole("axis", -1) % values[0].ndim
    if not first:
        return put("Concat", *values, axis=axis)
    last = values[0].ndim - 1
    place = 0 if axis == 0 else 1 if axis == last else axis + 1
    return call.layouts.last(put("Concat", *values, axis=place))


def _dot(call: LayerCall) -> Staged:
    """The sum of products along one axis of each; only of matrices and vectors."""
    a, b = call.xs()
    axes = call.config.wholes("axes", 2)
    one, other = axes[0] % a.ndim, axes[1] % b.ndim
    if call.config.flag("normalize", False) or a.ndim > 3 or b.ndim > 3 or not one or not other:
        raise call.unsupported("it normalises, or has too many axes")
    left, right = list("bij"[: a.ndim]), list("bkl"[: b.ndim])
    left[one] = right[other] = "s"
    out = "b" + "".join(c for c in left[1:] + right[1:] if c != "s")
    product = put("Einsum", a, b, subscripts=f"{''.join(left)},{''.join(right)}->{out}")
    return call.stage.reshape(product, (*product.shape, 1)) if product.ndim == 1 else product


_KINDS: dict[str, tuple[Literal["lstm", "gru", "rnn"], str, str]] = {
    "SimpleRNN": ("rnn", "n", "simple_rnn_cell"),
    "LSTM": ("lstm", "ifgo", "lstm_cell"),
    "GRU": ("gru", "zrn", "gru_cell"),
}
"""What a layer is, its gates in order, and what its cell is called."""


def _active(call: LayerCall, config: Config, key: str, default: str) -> recurrent.Activation:
    """The activation that a setting names; of no use where it is an object of the user's."""
    given = config.json(key)
    given = given.get("config") if isinstance(given, dict) else given
    name = default if config.json(key) is None else given if isinstance(given, str) else "an object"
    return lambda x: x if name == "linear" else by_name(call, x, name)


def _run(
    call: LayerCall, config: Config, kind: str, given: list[Staged], inside: str, called: str
) -> tuple[Staged, list[Staged]]:
    """All outputs of a layer over time (batch, time, units), in order of time, and the states.

    ``inside`` is the part of the layer that has its variables, ``called`` its name.
    """
    stage, x = call.stage, call.stage.transpose(call.x(), (1, 0, 2))
    if call.training and (config.number("dropout", 0) or config.number("recurrent_dropout", 0)):
        stage.remark("lost", f"The recurrent layer {call.layer.name!r} drops nothing.")
    own, gates, _name = _KINDS[kind]
    kernel, state = (
        call.variable(number, name, None, inside, called)
        for number, name in enumerate(("kernel", "recurrent_kernel"))
    )
    biases: tuple[Staged | None, Staged | None] = None, None
    after = config.flag("reset_after", True)
    if config.flag("use_bias", True):
        bias = call.variable(2, "bias", None, inside, called)
        both = kind == "GRU" and after
        select = stage.select
        biases = (select(bias, 0, 0), select(bias, 0, 1)) if both else (bias, None)
    cell = recurrent.Cell(
        own, gates, kernel, state, *biases, turned=True, reset_after=after,
        gate=_active(call, config, "recurrent_activation", "sigmoid"),
        act=_active(call, config, "activation", "tanh"),
    )  # fmt: skip
    names = ("h", "c") if kind == "LSTM" else ("h",)
    zeros = recurrent.zeros(x, config.whole("units"))
    states = dict(zip(names, given or [zeros] * len(names), strict=True))
    found = recurrent.layer(cell, x, states, "steps", config.flag("go_backwards", False))
    return stage.transpose(found["y"], (1, 0, 2)), [found[name] for name in names]


def _recurrent(kind: str, call: LayerCall) -> Result:
    y, states = _run(call, call.config, kind, _initial(call), "cell", _KINDS[kind][2])
    if call.config.flag("return_sequences", False):
        backwards = call.config.flag("go_backwards", False)
        out = put("Flip", y, axis=1) if backwards else y
    else:
        out = states[0]
    return (out, *states) if call.config.flag("return_state", False) else out


def _initial(call: LayerCall) -> list[Staged]:
    """The states that the layer is given, as further arguments or by name."""
    if call.keywords.get("mask") is not None:
        raise call.unsupported("it has a mask")
    given = call.keywords.get("initial_state")
    given = [x for x in call.arguments[1:] if x is not None] if given is None else given
    found = given if isinstance(given, list) else [given]
    found = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    states = [x for x in found if isinstance(x, Staged)]
    if len(states) != len(found):
        raise call.unsupported("a state that it begins with is no value")
    return states


def _bidirectional(call: LayerCall) -> Staged:
    """Two layers, one of them from the end; their outputs are joined at the same time."""
    ways = [_direction(call, way) for way in ("forward", "backward")]
    mode = call.config.text("merge_mode", "concat")
    if mode == "concat":
        return put("Concat", *ways, axis=ways[0].ndim - 1)
    kinds = {"sum": "Add", "mul": "Mul", "ave": "Add"}
    if mode not in kinds:
        raise call.unsupported(f"its merge_mode is {mode[:20]!r}")
    merged = put(kinds[mode], *ways)
    return merged * 0.5 if mode == "ave" else merged


def _direction(call: LayerCall, way: str) -> Staged:
    record = call.config.json("backward_layer" if way == "backward" else "layer")
    record = call.config.json("layer") if record is None else record
    if not isinstance(record, dict) or record.get("class_name") not in _KINDS:
        raise call.unsupported("it is not of a recurrent layer")
    kind, settings = str(record["class_name"]), dict(record.get("config") or {})
    backwards = (way == "backward") if call.config.json("backward_layer") is None else (
        bool(settings.get("go_backwards"))
    )  # fmt: skip
    settings["go_backwards"] = backwards
    stem = (
        str(settings.get("name", kind.lower())).removeprefix("forward_").removeprefix("backward_")
    )
    called, config = f"{way}_{stem}/{_KINDS[kind][2]}", Config(settings)
    y, states = _run(call, config, kind, [], f"{way}_layer/cell", called)
    return y if config.flag("return_sequences", False) else states[0]


def _heads(call: LayerCall) -> Staged:
    """Query, key and value projected for each head, attended to, and joined again."""
    query, value = call.x(0), call.x(1)
    key = call.x(2) if len(call.arguments) > 2 and call.arguments[2] is not None else value
    given = call.keywords.get("key")
    key = given if isinstance(given, Staged) else key
    _require_plain(call, query, value)
    q, k, v = (
        _projected(call, x, name, f"{name}_dense", "btd,dhk->bhtk")
        for x, name in ((query, "query"), (key, "key"), (value, "value"))
    )  # fmt: skip
    causal = call.keywords.get("use_causal_mask") is True
    attended = put("Attention", q, k, v, _mask(call), causal=causal)
    return _projected(call, attended, "attention_output", "output_dense", "bhtk,hkd->btd")


def _require_plain(call: LayerCall, query: Staged, value: Staged) -> None:
    if query.ndim != 3 or value.ndim != 3 or call.keywords.get("return_attention_scores") is True:
        raise call.unsupported("only sequences are attended to, and no weights are given out")
    if call.config.flag("use_gate", False) or call.config.json("sliding_window") is not None:
        raise call.unsupported("it has a gate or a window")
    if call.training and call.config.number("dropout", 0.0):
        call.stage.remark("lost", f"The attention {call.layer.name!r} drops nothing.")


def _projected(call: LayerCall, x: Staged, name: str, inside: str, subscripts: str) -> Staged:
    """By a part of the layer; the bias goes with the axes of the result that its kernel has."""
    kernel = call.variable(0, "kernel", None, inside, name)
    y = put("Einsum", x, kernel, subscripts=subscripts, name=name)
    if not call.config.flag("use_bias", True):
        return y
    bias = call.variable(1, "bias", None, inside, name)
    if bias.ndim == 1:
        return y + bias
    return y + call.stage.reshape(bias, (bias.shape[0], 1, bias.shape[1]))


def _mask(call: LayerCall) -> Staged | None:
    """A mask (batch, queries, keys), the same for all heads."""
    mask = call.keywords.get("attention_mask")
    masks = [call.keywords.get(f"{name}_mask") for name in ("query", "key", "value")]
    if any(other is not None for other in masks):
        raise call.unsupported("it has masks of queries, keys or values")
    if mask is None:
        return None
    if not isinstance(mask, Staged) or mask.ndim != 3:
        raise call.unsupported("its mask is no value of rank 3")
    spread = call.stage.reshape(mask, (mask.shape[0], 1, *mask.shape[1:]))
    return call.stage.cast(spread, "bool")


LAYERS: dict[str, Operator] = {
    **ACTIVATIONS, **CONVOLUTIONS, **POOLINGS,
    "Dense": _dense, "EinsumDense": _einsum, "Embedding": _embedding, "Dropout": _dropout,
    "Rescaling": _rescaling, "ActivityRegularization": _passing, "GaussianNoise": _passing,
    "GaussianDropout": _passing, "AlphaDropout": _passing, "Identity": _passing,
    **{f"SpatialDropout{rank}D": partial(_over_features, slice(1, -1)) for rank in (1, 2, 3)},
    "StochasticDepth": partial(_over_features, slice(1, None)),
    "LayerScale": lambda call: call.x() * call.variable(0, "gamma"),  # as in ConvNeXt
    **dict.fromkeys(_AUGMENTING, _passing),
    "BatchNormalization": _batch, "LayerNormalization": _layer, "GroupNormalization": _group,
    "RMSNormalization": _root_mean_square, "Normalization": _standard,
    "Flatten": _flatten, "Reshape": _reshape, "Permute": _permute, "RepeatVector": _repeated,
    **{name: partial(_folded, kind) for name, kind in _FOLDED.items()},
    "Average": _average, "Concatenate": _concatenate, "Dot": _dot,
    **{kind: partial(_recurrent, kind) for kind in _KINDS}, "Bidirectional": _bidirectional,
    "MultiHeadAttention": _heads,
}  # fmt: skip
