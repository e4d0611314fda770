"""Layers and functions of Keras by formulas; models that it saved itself are in test_models.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from gradwire.runtime.interchange.importing.keras.call import Config, LayerCall
from gradwire.runtime.interchange.importing.keras.functions import OPERATIONS
from gradwire.runtime.interchange.importing.keras.images import Layouts
from gradwire.runtime.interchange.importing.keras.layers import LAYERS
from tests.runtime.interchange.importing.rows import formulas
from tests.runtime.interchange.importing.rows.comparing import ARRAYS, Case, Given
from tests.runtime.interchange.importing.rows.formulas import Formula, of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

ROWS = [*LAYERS, *(f"ops {name}" for name in OPERATIONS)]
UNREACHED: dict[str, str] = {}
"""Why rows are reached by no formula."""
_LISTED = ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average", "Concatenate", "Dot")


class _Variables:
    """The variables of one layer, by number."""

    def __init__(self, given: Given, arrays: Sequence[NDArray[Any]]) -> None:
        self._given, self._arrays = given, arrays
        self._made: dict[int, Staged] = {}
        self._several = len(arrays)

    def get(
        self, layer: Any, number: int, own: str, turned: Any, inside: str, called: str,
        trainable: bool,
    ) -> Staged:  # fmt: skip
        place = number + _OFFSETS.get(called.partition("/")[0].partition("_")[0], 0)
        if place not in self._made:
            array = self._arrays[place]
            x = self._given.of(array if turned is None else turned(array), f"v{place}")
            if turned is not None:
                self._given.turned[id(x)] = turned
            self._made[place] = x
            self._given.made[place] = x
        return self._made[place]

    def array(self, layer: Any, number: int, inside: str = "") -> NDArray[Any]:
        return self._arrays[number]


_OFFSETS = {"backward": 3, "key": 2, "value": 4, "attention": 6}
"""Where the variables of the parts of a layer begin in the list of all."""


def _put_up(row: str, given: Given, inputs: list[Staged], formula: Formula) -> Any:
    name = row.removeprefix("ops ")
    settings = {"name": "layer", **formula.attributes}
    layer: Any = SimpleNamespace(name="layer", kind=name, config=Config(settings))
    given.made = [given.stage.constant(0)] * len(formula.variables)
    variables: Any = _Variables(given, formula.variables)
    arguments = [inputs] if row in _LISTED else inputs
    keywords = {
        key: value for key, value in formula.attributes.items() if key in ("axis", "keepdims")
    } if row.startswith("ops") else {}  # fmt: skip
    call = LayerCall(given.stage, layer, arguments, keywords, variables, Layouts(given.stage))
    return (LAYERS if name == row else OPERATIONS)[name](call)


def cases(row: str, count: int) -> Iterator[Case]:
    """All formulas of a row."""
    return formulas.cases(row, FORMULAS.get(row, ()), partial(_put_up, row))


_DRAW = np.random.default_rng(5)


def _drawn(*shape: int) -> NDArray[Any]:
    return (_DRAW.standard_normal(shape) * 0.5).astype("f4")


def layer(
    reference: Callable[..., Any], *inputs: Any, variables: Sequence[Any], **settings: Any
) -> Formula:
    """A layer with variables."""
    return of(reference, *inputs, **settings)._replace(variables=variables)


def _last(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of images with channels last."""
    return lambda x, *args: function(x.movedim(-1, 1), *args).movedim(1, -1)


_DATA = {1: _drawn(2, 7, 4), 2: _drawn(2, 6, 5, 4), 3: _drawn(1, 4, 3, 4, 4)}
"""With channels last, by the number of spatial axes."""
_SIZE = {1: [2], 2: [2, 3], 3: [2, 1, 2]}
_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def _outward(w: Any) -> Any:
    """A kernel (…, in, out) as (out, in, …)."""
    return w.movedim((-1, -2), (0, 1))


def _by_channel(w: Any) -> Any:
    """A kernel (…, channels, times) as (channels * times, 1, …)."""
    return w.movedim((-2, -1), (0, 1)).flatten(0, 1).unsqueeze(1)


def _images(rank: int) -> dict[str, list[Formula]]:
    """Layers over images of a rank."""
    x, size, conv, name = _DATA[rank], _SIZE[rank], _CONV[rank], f"{rank}D"
    axes, kernel = tuple(range(1, rank + 1)), _drawn(*size, 4, 3)
    pairs = [(1, 2), (0, 1), (2, 0)][:rank]
    flat = [n for pair in pairs[::-1] for n in pair]
    pooled = {"pool_size": size, "strides": None}
    found = {
        f"Conv{name}": [layer(
            _last(lambda x, w, b: torch.relu(conv(x, _outward(w), b, stride=2))), x,
            variables=[kernel, _drawn(3)], kernel_size=size, strides=[2] * rank, activation="relu",
        )],
        f"Conv{name}Transpose": [layer(
            _last(lambda x, w, b: _TRANSPOSED[rank](x, _outward(w), b)), x,
            variables=[_drawn(*size, 3, 4), _drawn(3)], kernel_size=size,
        )],
        f"MaxPooling{name}": [of(_last(partial(_MAX[rank], kernel_size=size)), x, **pooled)],
        f"AveragePooling{name}": [
            of(_last(partial(_AVERAGE[rank], kernel_size=size)), x, **pooled)
        ],
        f"GlobalMaxPooling{name}": [of(lambda x: x.amax(axes), x)],
        f"GlobalAveragePooling{name}": [
            of(lambda x: x.mean(axes, keepdim=True), x, keepdims=True)
        ],
        f"ZeroPadding{name}": [of(
            lambda x: F.pad(x, [0, 0, *flat]), x,
            padding=list(pairs[0]) if rank == 1 else [[*pair] for pair in pairs],
        )],
        f"Cropping{name}": [of(
            lambda x: x[:, 1:-1] if rank == 1 else x[:, 1:, :-1], x,
            cropping=[1, 1] if rank == 1 else [[1, 0], [0, 1], [0, 0]][:rank],
        )],
        f"SpatialDropout{name}": [of(torch.clone, x, rate=0.5)],
    }  # fmt: skip
    if rank < 3:
        found[f"DepthwiseConv{name}"] = [layer(
            _last(lambda x, w, b: conv(x, _by_channel(w), b, groups=4)), x,
            variables=[_drawn(*size, 4, 2), _drawn(8)], kernel_size=size,
        )]  # fmt: skip
        found[f"SeparableConv{name}"] = [layer(
            _last(lambda x, d, p, b: conv(conv(x, _by_channel(d), groups=4), _outward(p), b)), x,
            variables=[_drawn(*size, 4, 2), _drawn(*[1] * rank, 8, 3), _drawn(3)],
            kernel_size=size,
        )]  # fmt: skip
    return found


def _unrolled(kind: str) -> Callable[..., Any]:
    """A recurrent layer step by step, with Keras's order of gates."""

    def run(x: Any, w: Any, u: Any, b: Any, back: bool = False) -> Any:
        h = c = torch.zeros(x.shape[0], u.shape[0])
        for now in x.unbind(1)[:: -1 if back else 1]:
            if kind == "SimpleRNN":
                h = torch.tanh(now @ w + h @ u + b)
            elif kind == "LSTM":
                i, f, g, o = (now @ w + h @ u + b).chunk(4, -1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            else:
                own, state = now @ w + b[0], h @ u + b[1]
                z, r = (
                    torch.sigmoid(p + q)
                    for p, q in zip(own.chunk(3, -1)[:2], state.chunk(3, -1)[:2], strict=True)
                )
                new = torch.tanh(own.chunk(3, -1)[2] + r * state.chunk(3, -1)[2])
                h = z * h + (1 - z) * new
        return h

    return run


def _parameters(gates: int) -> list[Any]:
    bias = _drawn(2, 9) if gates == 3 else _drawn(3 * gates)
    return [_drawn(4, 3 * gates), _drawn(3, 3 * gates), bias]


def _both_ways(x: Any, *v: Any) -> Any:
    run = _unrolled("LSTM")
    return torch.cat([run(x, *v[:3]), run(x, *v[3:], back=True)], -1)


def _attended(x: Any, y: Any, wq: Any, bq: Any, wk: Any, bk: Any, wv: Any, bv: Any, wo: Any,
              bo: Any) -> Any:  # fmt: skip
    q, k, v = (
        torch.einsum("btd,dhk->bhtk", z, w) + b[:, None]
        for z, w, b in ((x, wq, bq), (y, wk, bk), (y, wv, bv))
    )
    return torch.einsum("bhtk,hkd->btd", F.scaled_dot_product_attention(q, k, v), wo) + bo


_PASSING = ("ActivityRegularization", "GaussianNoise", "GaussianDropout", "AlphaDropout",
            "Identity", "Dropout", "StochasticDepth",
            *(name for name in LAYERS if name.startswith("Random")))  # fmt: skip
_FOLDED: dict[str, Callable[..., Any]] = {
    "Add": torch.add, "Subtract": torch.sub, "Multiply": torch.mul, "Maximum": torch.maximum,
    "Minimum": torch.minimum,
}  # fmt: skip
_TWO: dict[str, Callable[..., Any]] = {
    **_FOLDED, "TrueDivide": torch.div, "Divide": torch.div, "Power": torch.pow,
}  # fmt: skip
_ONE: dict[str, Callable[..., Any]] = {
    "Absolute": torch.abs, "Exp": torch.exp, "Log": torch.log, "Negative": torch.neg,
    "Sqrt": torch.sqrt, "Square": torch.square, "Tanh": torch.tanh, "Sin": torch.sin,
    "Cos": torch.cos, "Sigmoid": torch.sigmoid, "Relu": torch.relu, "Silu": F.silu,
    "Softplus": F.softplus, "Sign": torch.sign, "Softsign": F.softsign, "LogSigmoid": F.logsigmoid,
    "Selu": F.selu, "Relu6": F.relu6, "Log10": torch.log10, "Rsqrt": torch.rsqrt,
    "StopGradient": torch.detach,
}  # fmt: skip
_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softplus": F.softplus,
    "elu": F.elu, "gelu": F.gelu, "silu": F.silu, "swish": F.silu, "exponential": torch.exp,
    "softsign": F.softsign, "leaky_relu": partial(F.leaky_relu, negative_slope=0.2),
    "selu": F.selu, "relu6": F.relu6, "hard_sigmoid": F.hardsigmoid, "hard_silu": F.hardswish,
    "hard_swish": F.hardswish, "mish": F.mish, "log_sigmoid": F.logsigmoid, "linear": torch.clone,
    "softmax": partial(F.softmax, dim=-1), "log_softmax": partial(F.log_softmax, dim=-1),
}  # fmt: skip
_OVER: dict[str, Callable[..., Any]] = {
    "Sum": torch.sum, "Mean": torch.mean, "Max": torch.amax, "Min": torch.amin,
    "Logsumexp": torch.logsumexp,
}  # fmt: skip
_MEAN, _SPREAD = [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 9.0, 2.0]
_FOUR = [ARRAYS[name] for name in ("rising", "four", "positive", "positive too")]
FORMULAS: dict[str, list[Formula]] = {
    **{name: [of(torch.clone, "cube")] for name in _PASSING},
    **{f"ops {name}": [of(f, x) for x in ("matrix", "shares", "equal")]
       for name, f in _ONE.items()},
    **{f"ops {name}": [of(f, "shares", "matrix"),
                       of(lambda x, n, f=f: f(x, torch.tensor(n)), "shares", np.float32(2.5))]
       for name, f in _TWO.items()},
    "ops Matmul": [of(torch.matmul, "matrix", "tall")],
    **{f"ops {name}": [of(lambda x, f=f: f(x, dim=(0, 2)), "cube", axis=[0, 2]),
                       of(lambda x, f=f: f(x, dim=1, keepdim=True), "cube", axis=1, keepdims=True)]
       for name, f in _OVER.items()},
    **{name: [of(f, "matrix", "other")] for name, f in _FOLDED.items()},
    "Average": [of(lambda a, b: (a + b) / 2, "matrix", "other")],
    "Concatenate": [of(lambda a, b: torch.cat([a, b], -1), "cube", "cube"),
                    of(lambda a, b: torch.cat([a, b], 1), "cube", "cube", axis=1)],
    "Dot": [of(lambda a, b: torch.einsum("bij,bkj->bik", a, b), "cube", "cube", axes=[2, 2]),
            of(lambda a, b: (a * b).sum(1, keepdim=True), "matrix", "other", axes=1)],
    **{key: value for rank in (1, 2, 3) for key, value in _images(rank).items()},
    "Dense": [layer(lambda x, w, b: torch.tanh(x @ w + b), "cube",
                    variables=[_drawn(4, 3), _drawn(3)], activation="tanh")],
    "EinsumDense": [layer(lambda x, w, b: torch.einsum("abc,cd->abd", x, w) + b, "cube",
                          variables=[_drawn(4, 5), _drawn(5)], equation="abc,cd->abd",
                          bias_axes="d")],
    "Embedding": [layer(lambda i, w: F.embedding(i, w), "order", variables=[_drawn(3, 2)])],
    "Rescaling": [of(lambda x: x * 2 - 1, "cube", scale=2.0, offset=-1.0)],
    "LayerScale": [layer(lambda x, g: x * g, "cube", variables=[_drawn(4)])],
    "Activation": [of(f, x, activation=name) for name, f in _ACTIVATIONS.items()
                   for x in ("spread", "equal")],
    "ReLU": [of(lambda x: F.leaky_relu(x, 0.1).clamp(max=1.0), "spread", negative_slope=0.1,
                max_value=1.0), of(torch.relu, "spread")],
    "Softmax": [of(partial(F.softmax, dim=1), "cube", axis=1)],
    "LeakyReLU": [of(partial(F.leaky_relu, negative_slope=0.3), "matrix")],
    "ELU": [of(partial(F.elu, alpha=0.5), "matrix", alpha=0.5)],
    "PReLU": [layer(lambda x, a: torch.where(x > 0, x, a * x), "cube", variables=[_drawn(3, 4)])],
    "UpSampling2D": [
        of(_last(lambda x: F.interpolate(x, scale_factor=2)), _DATA[2], size=2),
        of(_last(lambda x: F.interpolate(x, scale_factor=(2, 3), mode="bilinear")), _DATA[2],
           size=[2, 3], interpolation="bilinear"),
    ],
    "BatchNormalization": [
        layer(lambda x, g, b, m, v: (x - m) / torch.sqrt(v + 1e-3) * g + b, _DATA[2],
              variables=_FOUR),
        layer(lambda x, b, m, v: (x - m) / torch.sqrt(v + 0.01) + b, "cube", variables=_FOUR[1:],
              scale=False, epsilon=0.01),
    ],
    "LayerNormalization": [layer(lambda x, g, b: F.layer_norm(x, (4,), g, b, 1e-3), "cube",
                                 variables=_FOUR[:2])],
    "GroupNormalization": [layer(_last(lambda x, g, b: F.group_norm(x, 2, g, b, 1e-3)), _DATA[2],
                                 variables=_FOUR[:2], groups=2)],
    "RMSNormalization": [layer(lambda x, g: F.rms_norm(x, (4,), g, 1e-6), "cube",
                               variables=_FOUR[:1])],
    "Normalization": [of(lambda x: (x - torch.tensor(_MEAN)) / torch.tensor(_SPREAD).sqrt(), "cube",
                         axis=[-1], mean=_MEAN, variance=_SPREAD)],
    "Flatten": [of(lambda x: x.flatten(1), "cube")],
    "Reshape": [of(lambda x: x.reshape(2, 6, 2), "cube", target_shape=[-1, 2])],
    "Permute": [of(lambda x: x.permute(0, 2, 1), "cube", dims=[2, 1])],
    "RepeatVector": [of(lambda x: x[:, None].expand(3, 5, 4), "matrix", n=5)],
    **{kind: [layer(_unrolled(kind), "cube", variables=_parameters(gates), units=3)]
       for kind, gates in (("SimpleRNN", 1), ("LSTM", 4), ("GRU", 3))},
    "Bidirectional": [layer(_both_ways, "cube", variables=_parameters(4) + _parameters(4), layer={
        "class_name": "LSTM", "config": {"name": "lstm", "units": 3},
    })],
    "MultiHeadAttention": [layer(
        _attended, "cube", _drawn(2, 5, 4),
        variables=[x for _ in range(3) for x in (_drawn(4, 2, 3), _drawn(2, 3))]
        + [_drawn(2, 3, 4), _drawn(4)],
    )],
}  # fmt: skip
"""What rows are, as PyTorch computes it."""
