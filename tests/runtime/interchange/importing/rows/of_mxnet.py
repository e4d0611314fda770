"""Nodes of MXNet by formulas; what its executors logged is in test_executors.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F

from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall
from gradwire.runtime.interchange.importing.mxnet.operators import OPERATORS
from gradwire.runtime.interchange.importing.mxnet.symbol import SymbolNode
from tests.runtime.interchange.importing.rows import formulas
from tests.runtime.interchange.importing.rows.formulas import Formula, of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from tests.runtime.interchange.importing.rows.comparing import Case, Given

ROWS = list(OPERATORS)
UNREACHED = dict.fromkeys(
    ("MakeLoss", "make_loss", "SoftmaxOutput", "Softmax", "LinearRegressionOutput",
     "MAERegressionOutput", "LogisticRegressionOutput"),
    "its gradient is its own, not that of what it gives: test_executors.py has what MXNet logged",
)  # fmt: skip
"""Why rows are reached by no formula."""


def _put_up(row: str, given: Given, inputs: list[Staged], formula: Formula) -> Any:
    texts = {key: str(value) for key, value in formula.attributes.items()}
    entries: Any = tuple(inputs)
    node = SymbolNode(row, "n", texts, entries)
    return OPERATORS[row](
        MXNetCall(given.stage, node, "node", lambda number, shape: inputs[number])
    )


def cases(row: str, count: int) -> Iterator[Case]:
    """All formulas of a row."""
    return formulas.cases(row, FORMULAS.get(row, ()), partial(_put_up, row))


def _away(x: Any) -> Any:
    return torch.sign(x) * torch.floor(torch.abs(x) + 0.5)


_UNARY: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in (
        "relu", "sigmoid", "tanh", "exp", "log", "log1p", "expm1", "sqrt", "square", "abs",
        "negative", "sign", "floor", "ceil", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "erf", "fix", "trunc", "rsqrt",
        "reciprocal", "log2", "log10", "zeros_like", "ones_like",
    )},
    "_np_negative": torch.neg, "softsign": F.softsign, "identity": torch.clone,
    "_copy": torch.clone, "_identity_with_attr_like_rhs": torch.clone,
    "BlockGrad": torch.detach, "stop_gradient": torch.detach, "round": _away,
    "rint": lambda x: torch.ceil(x - 0.5), "degrees": torch.rad2deg, "radians": torch.deg2rad,
    "logical_not": lambda x: torch.logical_not(x).float(), "Dropout": torch.clone,
    "softmax": partial(F.softmax, dim=-1), "log_softmax": partial(F.log_softmax, dim=-1),
    "softmin": partial(F.softmin, dim=-1),
}  # fmt: skip


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(a, b).float()


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": torch.add, "plus": torch.add, "sub": torch.sub, "minus": torch.sub, "mul": torch.mul,
    "div": torch.div, "power": torch.pow, "mod": torch.remainder,
    "maximum": lambda a, b: torch.where(a >= b, a, b),
    "minimum": lambda a, b: torch.where(a <= b, a, b),
    "equal": _truth(torch.eq), "not_equal": _truth(torch.ne),
    "greater": _truth(torch.gt), "lesser": _truth(torch.lt), "greater_equal": _truth(torch.ge),
    "lesser_equal": _truth(torch.le),
}  # fmt: skip
_LOGIC: dict[str, Callable[..., Any]] = {
    "logical_and": _truth(torch.logical_and), "logical_or": _truth(torch.logical_or),
    "logical_xor": _truth(torch.logical_xor), "hypot": torch.hypot,
}  # fmt: skip


def _number(
    function: Callable[..., Any], number: float, swapped: bool = False, of_array: str = "shares"
) -> Formula:
    def apply(x: Any) -> Any:
        y = torch.full_like(x, number)
        return function(y, x) if swapped else function(x, y)

    return of(apply, of_array, scalar=number)


def _arithmetic() -> Iterator[tuple[str, list[Formula]]]:
    """All names of arithmetic, by the function in them."""
    for row in ROWS:
        name = row.lower()
        swapped = name.startswith("_r")
        plain = name.removeprefix("_").removeprefix("elemwise_").removeprefix("broadcast_")
        base = plain.removesuffix("_scalar").removesuffix("scalar")
        base = base.removeprefix("r") if swapped else base
        function = {**_FUNCTIONS, **_LOGIC}.get(base)
        if function is None or row in _UNARY:
            continue
        tied = base in ("maximum", "minimum")  # which give all gradient to the first of equal ones
        if name.endswith("scalar"):
            found = [_number(function, number, swapped) for number in (2.5, 0.5)]
            found += [_number(function, 1.0, of_array="equal")] if tied else []
        elif row.startswith("broadcast"):
            found = [of(function, "shares", "positive"), of(function, "shares", "matrix")]
        else:
            found = [of(function, "shares", "matrix"), of(function, "spread", "positive")]
        if tied and not name.endswith("scalar"):
            found.append(of(function, "equal", "rising"))
        yield row, found


_REDUCED = {
    "sum": torch.sum, "sum_axis": torch.sum, "mean": torch.mean, "max": torch.amax,
    "max_axis": torch.amax, "min": torch.amin, "min_axis": torch.amin,
}  # fmt: skip
_POOLED = {"kernel": "(2, 3)", "stride": "(1, 2)", "pad": "(1, 0)"}
_POOL = {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 0)}
_KERNEL, _TURNED, _WIDE, _TABLE = (
    np.random.default_rng(4).standard_normal(shape).astype("f4")
    for shape in ((3, 2, 2, 3), (4, 3, 2, 3), (5, 12), (3, 2))
)
_PLACES = np.array([0, 2, 7], "f4")
_LABELS = np.array([1, 0, 3], "f4")


def _channels(x: Any, y: Any) -> Any:
    return y.reshape(-1, *(1,) * (x.ndim - 2))


FORMULAS: dict[str, list[Formula]] = {
    **{name: [of(f, x) for x in ("matrix", "cube", "shares", "rising", "spread")]
       for name, f in _UNARY.items()},
    **dict(_arithmetic()),
    "smooth_l1": [
        of(lambda x: torch.where(x.abs() < 0.25, 2 * x**2, x.abs() - 0.125), "matrix", scalar=2.0)
    ],
    "clip": [of(lambda x: x.clamp(-0.5, 1), "matrix", a_min=-0.5, a_max=1)],
    "hard_sigmoid": [of(lambda x: (0.3 * x + 0.4).clamp(0, 1), "spread", alpha=0.3, beta=0.4)],
    "Activation": [of(f, "matrix", act_type=name) for name, f in (
        ("relu", F.relu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh),
        ("softrelu", F.softplus), ("softsign", F.softsign), ("mish", F.mish),
        ("log_sigmoid", F.logsigmoid),
    )],
    **{name: [of(lambda x: x.double(), "matrix", dtype="float64"),
              of(lambda x: x.int(), "spread", dtype="int32")]
       for name in ("Cast", "cast", "amp_cast")},
    **{name: [of(lambda a, b, c: a + b + c, "matrix", "other", "shares")]
       for name in ("add_n", "ElementWiseSum", "_sum")},
    **{
        name: [
            of(lambda x, f=f: f(x, dim=(0, 2), keepdim=True), "cube", axis="(0, 2)", keepdims=1),
            of(lambda x, f=f: f(x, dim=1), "cube", axis="(0, 2)", exclude=1),
            of(lambda x, f=f: f(x, dim=(0, 1, 2)), "cube"),
        ]
        for name, f in _REDUCED.items()
    },
    "prod": [of(lambda x: x.prod(1), "cube", axis=1), of(torch.prod, "cube")],
    "argmax": [of(lambda x: x.argmax(1).float(), "cube", axis=1)],
    "argmin": [of(lambda x: x.argmin(-1, keepdim=True).float(), "cube", axis=-1, keepdims=True)],
    "norm": [of(lambda x: torch.linalg.vector_norm(x, 2, (1, 2)), "cube", axis="(1, 2)"),
             of(lambda x: torch.linalg.vector_norm(x, 1), "cube", ord=1)],
    "cumsum": [of(lambda x: x.cumsum(1), "cube", axis=1),
               of(lambda x: x.flatten().cumsum(0), "cube")],
    "dot": [of(lambda a, b: a @ b.T, "matrix", "other", transpose_b=True),
            of(lambda a, b: torch.tensordot(a, b, 1), "right", "cube")],
    "batch_dot": [of(lambda a, b: a.mT @ b, "cube", "cube", transpose_a=True),
                  of(lambda a, b: a @ b.mT, "cube", "cube", transpose_b=True)],
    **{name: [of(lambda x: x.reshape(6, 4), "cube", shape="(-3, 0)"),
              of(lambda x: x.reshape(2, 12), "cube", shape="(0, -1)"),
              of(lambda x: x.reshape(2, 3, 2, 2), "cube", shape="(0, 0, -4, 2, -1)"),
              of(lambda x: x.reshape(8, 3), "cube", shape="(-1, 3)", reverse=True)]
       for name in ("Reshape", "reshape")},
    **{name: [of(lambda x: x.flatten(1), "cube")] for name in ("Flatten", "flatten")},
    "transpose": [of(lambda x: x.permute(2, 0, 1), "cube", axes="(2, 0, 1)"),
                  of(lambda x: x.permute(2, 1, 0), "cube")],
    **{name: [of(lambda x: x.transpose(0, 2), "cube", dim1=0, dim2=2)]
       for name in ("SwapAxis", "swapaxes")},
    "expand_dims": [of(lambda x: x.unsqueeze(1), "cube", axis=1),
                    of(lambda x: x.unsqueeze(-1), "cube", axis=-1)],
    "squeeze": [of(torch.squeeze, "ones"), of(lambda x: x.squeeze(1), "ones", axis=1)],
    **{name: [of(lambda a, b: torch.cat([a, b], 0), "matrix", "other", dim=0),
              of(lambda a, b: torch.cat([a, b], 1), "matrix", "other")]
       for name in ("Concat", "concat")},
    "stack": [of(lambda a, b: torch.stack([a, b], 1), "matrix", "other", axis=1)],
    **{name: [of(lambda x: list(x.chunk(3, 1)), "cube", num_outputs=3),
              of(lambda x: list(x.unbind(1)), "cube", num_outputs=3, squeeze_axis=True)]
       for name in ("SliceChannel", "split")},
    "broadcast_to": [of(lambda x: x.expand(2, 5, 3, 6), "ones", shape="(0, 5, 0, 6)")],
    **{name: [of(lambda x: x.expand(2, 5, 3, 6), "ones", axis="(1, 3)", size="(5, 6)")]
       for name in ("broadcast_axis", "broadcast_axes")},
    "broadcast_like": [of(lambda a, b: a.expand(b.shape), "matrix", "cube")],
    "reshape_like": [of(lambda a, b: a.reshape(b.shape), "matrix", "tall")],
    "tile": [of(lambda x: x.repeat(2, 1, 3), "matrix", reps="(2, 1, 3)")],
    "depth_to_space": [of(lambda x: F.pixel_shuffle(
        x.reshape(1, 2, 2, 2, 4, 4).permute(0, 3, 1, 2, 4, 5).reshape(1, 8, 4, 4), 2
    ), "deep", block_size=2)],
    "space_to_depth": [of(lambda x: F.pixel_unshuffle(x, 2).reshape(1, 8, 4, 2, 2).transpose(1, 2)
                          .reshape(1, 32, 2, 2), "deep", block_size=2)],
    "repeat": [of(lambda x: x.repeat_interleave(2, 1), "cube", repeats=2, axis=1),
               of(lambda x: x.repeat_interleave(3), "cube", repeats=3)],
    "UpSampling": [of(lambda x: F.interpolate(x, scale_factor=2), "image", scale=2,
                      sample_type="nearest")],
    **{name: [of(lambda x: F.pad(x, (2, 0, 0, 1), value=2.5), "image", mode="constant",
                 pad_width="(0, 0, 0, 0, 0, 1, 2, 0)", constant_value=2.5),
              of(lambda x: F.pad(x, (2, 0, 0, 1), "replicate"), "image", mode="edge",
                 pad_width="(0, 0, 0, 0, 0, 1, 2, 0)"),
              of(lambda x: F.pad(x, (2, 0, 0, 1), "reflect"), "image", mode="reflect",
                 pad_width="(0, 0, 0, 0, 0, 1, 2, 0)")]
       for name in ("Pad", "pad")},
    **{name: [of(lambda x: x.flip(0, 2), "cube", axis="(0, 2)")] for name in ("reverse", "flip")},
    "shape_array": [of(lambda x: torch.tensor(x.shape), "cube")],
    "size_array": [of(lambda x: torch.tensor([x.numel()]), "cube")],
    **{name: [of(lambda x: x[:, 1:3], "cube", begin="(None, 1)", end="(None, 3)"),
              of(lambda x: x[:2].flip(1)[:, 1:], "cube", begin="(0, 1)", end="(2, None)",
                 step="(1, -1)")]
       for name in ("slice", "crop")},
    "slice_axis": [of(lambda x: x[:, :, 1:], "cube", axis=2, begin=1, end="None"),
                   of(lambda x: x[:, -2:-1], "cube", axis=1, begin=-2, end=-1)],
    "slice_like": [of(lambda a, b: a[:3, :3], "square", "definite"),
                   of(lambda a, b: a[:, :3], "square", "definite", axes="(1,)")],
    "take": [of(lambda x, i: x[:, i.long().clamp(0, 3)], "matrix", _PLACES, axis=1),
             of(lambda x, i: x[i.long() % 3], "matrix", _PLACES, axis=0, mode="wrap")],
    **{name: [of(lambda x, i: x.gather(1, i.long()[:, None])[:, 0], "matrix", _LABELS),
              of(lambda x, i: x.gather(1, i.long()[:, None]), "matrix", _LABELS, axis=1,
                 keepdims=True)]
       for name in ("pick", "choose_element_0index")},
    "one_hot": [of(lambda i: F.one_hot(i.long(), 4) * 3.0 - 1, _LABELS, depth=4, on_value=2,
                   off_value=-1)],
    "where": [of(lambda c, a, b: torch.where(c != 0, a, b), "equal", "matrix", "other"),
              of(lambda c, a, b: torch.where(c[:, None] != 0, a, b), _LABELS, "matrix", "other")],
    "gather_nd": [of(lambda x, i: x[i[0].long(), i[1].long()], "matrix",
                     np.array([[0, 2], [1, 3]], "f4"))],
    "Embedding": [of(lambda i, w: F.embedding(i.long(), w), np.array([0, 2, 1], "f4"), _TABLE,
                     input_dim=3, output_dim=2)],
    "FullyConnected": [
        of(lambda x, w, b: F.linear(x.flatten(1), w, b), "cube", _WIDE, np.ones(5, "f4"),
           num_hidden=5),
        of(F.linear, "cube", _WIDE[:, :4].copy(), num_hidden=5, no_bias=True, flatten=False),
    ],
    **{name: [of(partial(F.conv2d, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=1),
                 "image", np.concatenate([_KERNEL] * 2, 1), "three", kernel="(2, 3)",
                 stride="(2, 1)", pad="(1, 0)", dilate="(1, 2)", num_filter=3),
              of(partial(F.conv2d, groups=2), "image", np.concatenate([_KERNEL] * 2)[:4], "four",
                 kernel="(2, 3)", num_filter=4, num_group=2)]
       for name in ("Convolution", "Convolution_v1")},
    "Deconvolution": [of(partial(F.conv_transpose2d, stride=2, padding=(1, 0), output_padding=1),
                         "image", _TURNED, kernel="(2, 3)", stride="(2, 2)", pad="(1, 0)",
                         adj="(1, 1)", num_filter=3)],
    **{name: [
        of(partial(F.max_pool2d, **_POOL), "image", **_POOLED),
        of(partial(F.max_pool2d, ceil_mode=True, **{**_POOL, "padding": 0}), "image",
           pooling_convention="full", **{**_POOLED, "pad": "(0, 0)"}),
        of(partial(F.avg_pool2d, **_POOL), "image", pool_type="avg", **_POOLED),
        of(partial(F.avg_pool2d, count_include_pad=False, **_POOL), "image", pool_type="avg",
           count_include_pad=False, **_POOLED),
        of(lambda x: F.avg_pool2d(x, **_POOL) * 6, "image", pool_type="sum", **_POOLED),
        of(lambda x: F.lp_pool2d(x, 2, (2, 3), (1, 2)), "image", pool_type="lp", p_value=2,
           kernel="(2, 3)", stride="(1, 2)"),
        of(lambda x: x.amax((2, 3), keepdim=True), "image", global_pool=True),
        of(lambda x: x.mean((2, 3), keepdim=True), "image", global_pool=True, pool_type="avg"),
    ] for name in ("Pooling", "Pooling_v1")},
    "_contrib_AdaptiveAvgPooling2D": [
        of(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), "image", output_size="(3, 2)")
    ],
    "LeakyReLU": [
        of(partial(F.leaky_relu, negative_slope=0.1), "matrix", act_type="leaky", slope=0.1),
        of(partial(F.elu, alpha=0.3), "matrix", act_type="elu", slope=0.3),
        of(F.prelu, "image", "four", act_type="prelu"), of(F.selu, "matrix", act_type="selu"),
        of(F.gelu, "matrix", act_type="gelu"),
    ],
    "SoftmaxActivation": [
        of(lambda x: F.softmax(x.flatten(1), -1).reshape(x.shape), "image"),
        of(lambda x: F.softmax(x, 1), "image", mode="channel"),
    ],
    **{name: [
        of(lambda x, g, b, m, v: (x - _channels(x, m)) / torch.sqrt(_channels(x, v) + 0.01)
           * _channels(x, g) + _channels(x, b), "image", "rising", "four", "positive",
           "positive too", fix_gamma=False, eps=0.01),
        of(lambda x, g, b, m, v: (x - _channels(x, m)) / torch.sqrt(_channels(x, v) + 0.001)
           + _channels(x, b), "image", "rising", "four", "positive", "positive too"),
    ] for name in ("BatchNorm", "BatchNorm_v1")},
    "LayerNorm": [of(lambda x, g, b: F.layer_norm(x, (4,), g, b, 1e-5), "cube", "four", "rising")],
    "InstanceNorm": [of(lambda x, g, b: F.instance_norm(x, weight=g, bias=b, eps=1e-3), "image",
                        "four", "rising")],
    "L2Normalization": [
        of(lambda x, a=axes: x / torch.sqrt((x**2).sum(a, keepdim=True) + 1e-10), "image",
           mode=mode)
        for mode, axes in (("instance", (1, 2, 3)), ("channel", (1,)), ("spatial", (2, 3)))
    ],
    "softmax_cross_entropy": [
        of(lambda x, y: F.cross_entropy(x, y.long(), reduction="sum"), "matrix", _LABELS)
    ],
}  # fmt: skip
"""What rows are, as PyTorch computes it."""
