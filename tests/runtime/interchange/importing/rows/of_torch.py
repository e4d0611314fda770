"""Calls of operators of PyTorch, guessed by their schemas, and PyTorch's own results."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.operators.families import find
from gradwire.runtime.interchange.importing.torch.operators.table import _TABLE
from tests.runtime.interchange.importing.rows.comparing import (
    Case,
    Found,
    Given,
    Refused,
    by_row,
    flat,
    pick,
    random,
    weights,
)

ROWS = sorted(_TABLE)
_TENSORS = (
    "matrix", "matrix", "matrix", "other", "shares", "cube", "cube", "four", "single", "whole",
    "indices", "order", "truth", "square", "tall", "image", "ones", "equal", "empty", "int32",
    "index", "rising", "three", "positive", "deep", "signal", "double", "spread", "definite",
    "triangle",
)  # fmt: skip
_NUMBERS = (0, 1, -1, 2, 2, 3, -2)
_LISTS = (
    [0], [1], [0, 1], [-1], [2, 6], [4, 3], [], [1, 2], [3, 4], [2, 3, 4], [2, 1, 1, 3], [1, 0],
    [2, 0, 1], [-1, 3], [2, 2, -1], [3, 1], [1, 3], [2], [2, 2], [3],
)  # fmt: skip
_TEXTS = (
    "mean", "sum", "amax", "prod", "constant", "reflect", "ij", "xy", "fro", "floor", "left",
    "right", "circular", "replicate", "amin", "none", "tanh", "trunc", "bilinear",
)  # fmt: skip
_DRAWN = {
    row
    for row in ROWS
    if row.partition("_")[0].partition(".")[0]
    in (
        "bernoulli",
        "cauchy",
        "dropout",
        "empty",
        "exponential",
        "geometric",
        "log",
        "multinomial",
        "normal",
        "rand",
        "randint",
        "randn",
        "randperm",
        "random",
        "rrelu",
        "uniform",
        "poisson",
    )
    and row not in ("log", "log_sigmoid", "log_softmax", "poisson_nll_loss")
} | {"alpha_dropout", "feature_alpha_dropout", "feature_dropout", "native_dropout", "new_empty"}
"""What draws numbers, or has none that are fixed: only shapes and dtypes are compared."""
_UNCHECKED = {"bucketize.Tensor", "scatter.src", "searchsorted.Tensor"} | {
    row for row in ROWS if row.startswith("_") and not row.startswith("__")
}
"""What looks at no arguments, or takes only some of those that it says it does."""
_WITHOUT_SLOPES = {
    "_embedding_bag", "_pdist_forward", "_weight_norm_interface", "copy", "embedding_bag",
    "embedding_renorm", "heaviside", "scatter.reduce", "scatter.value_reduce",
}  # fmt: skip
"""PyTorch has no derivatives of them, or they look at no arguments."""
_ONLY = {
    "reduction": (0, 1, 2), "assume_unique": (False,), "sorter": (None,), "beta": (1, 0.5, 3),
}  # fmt: skip
"""What arguments are, of all that their kinds allow: PyTorch doesn't look what others do."""
_ALIKE = {"huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"}
"""What gets tensors of one shape: functions of PyTorch broadcast before, and warn."""
_UNEQUAL = ("matrix", "other", "cube", "four", "spread", "image", "single", "double", "empty")
_SOURCES: dict[str, Sequence[str]] = {
    **dict.fromkeys(("logit", "special_logit", "poisson_nll_loss"), ("shares",)),
    **dict.fromkeys(("kthvalue", "topk"), _UNEQUAL),
    **dict.fromkeys(("sinc", "special_sinc"), ("matrix", "cube", "rising", "index", "equal")),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), (*_UNEQUAL, "signal", "volume")),
    "multi_margin_loss": ("matrix", "order", "positive"),
    "logical_not": ("truth", "whole", "equal"),
}
"""What the tensors of some rows are like: others are outside of their domains, or of ties."""
_LEFT_OUT = {"out", "layout", "device", "pin_memory", "memory_format", "generator"}


class T(NamedTuple):
    """A tensor by its name."""

    name: str


def _recurrent(*shapes: tuple[int, ...]) -> list[Any]:
    draw = np.random.default_rng(1)
    return [(draw.standard_normal(shape) * 0.5).astype("f4") for shape in shapes]


def _parameters(gates: int) -> list[Any]:
    """Of a layer of three units and four inputs."""
    return _recurrent((3 * gates, 4), (3 * gates, 3), (3 * gates,), (3 * gates,))


_STATE, _CELL, _SEQUENCE, _STEP, _HIDDEN = _recurrent(
    (1, 2, 3), (1, 2, 3), (5, 2, 4), (2, 4), (2, 3)
)
_LAYER: tuple[Any, ...] = (True, 1, 0.0, False, False, False)
_PAIRS = [np.array([0, 2, 1]), np.array([1, 1, 3])]
_BATCH, _BATCH_2 = _recurrent((2, 3, 4), (2, 4, 3))
_SOLID = T("volume")
_KERNELS = _recurrent((3, 3, 2), (2, 4, 3, 2), (2, 2, 2, 1, 2))
_LABELS = np.array([1, 0, 3])
_GRID, _GRID_3D = _recurrent((2, 3, 3, 2), (1, 2, 3, 2, 3))
_SQUARE = (np.eye(3) * 3 + 1).astype("f4")
_ROWS_ONCE = np.array([[0, 2, 1, 3], [1, 0, 3, 2]])
_SPREAD_TO = np.array([[0, 2, 1], [2, 1, 0]])
_POOLS: dict[str, list[tuple[Any, ...]]] = {
    f"max_pool{rank}d_with_indices": [
        (T(x), [2], [1], [1], [1], False), (T(x), [2], [2], [0], [1], True),
    ]
    for rank, x in ((1, "signal"), (2, "image"), (3, "volume"))
}  # fmt: skip
WRITTEN: dict[str, list[tuple[Any, ...]]] = {
    "_cdist_forward": [(T("cube"), T("cube"), 2.0, None)]
    + [(T("tall"), T("definite"), order, None) for order in (1.0, 3.0, math.inf)],
    "_pdist_forward": [(T("matrix"), order) for order in (1.0, 2.0, 3.0, math.inf)],
    "_weight_norm": [(T("matrix"), np.ones((3, 1), "f4") * 2, 0)],
    "_weight_norm_interface": [(T("matrix"), np.ones((3, 1), "f4") * 2, 0)],
    "_convolution": [
        (T("signal"), _KERNELS[0], None, [1], [0], [1], False, [0], 1, False, False, False, False),
    ],
    "convolution": [
        (T("signal"), _KERNELS[0], None, [1], [0], [1], False, [0], 1),
        (T("signal"), _KERNELS[0], T("three"), [2], [1], [1], True, [1], 1),
    ],
    "_embedding_bag": [
        (T("tall"), np.array([0, 2, 1, 1]), np.array([0, 2]), False, mode) for mode in (0, 1, 2)
    ],
    "embedding_bag": [
        (T("tall"), np.array([0, 2, 1, 1]), np.array([0, 2, 4]), False, mode, False, None, last)
        for mode in (0, 1, 2) for last in (False, True)
    ],
    "embedding_renorm": [(T("spread"), np.array([0, 2]), 1.0, 2.0)],
    "lstm.input": [(_SEQUENCE, [_STATE, _CELL], _parameters(4), *_LAYER)],
    "gru.input": [(_SEQUENCE, _STATE, _parameters(3), *_LAYER)],
    **{
        f"rnn_{kind}.input": [(_SEQUENCE, _STATE, _parameters(1), *_LAYER)]
        for kind in ("relu", "tanh")
    },
    "lstm_cell": [(_STEP, [_HIDDEN, _CELL[0]], *_parameters(4))],
    "gru_cell": [(_STEP, _HIDDEN, *_parameters(3))],
    **{f"rnn_{kind}_cell": [(_STEP, _HIDDEN, *_parameters(1))] for kind in ("relu", "tanh")},
    "linalg_cholesky": [(T("definite"),)],
    "_conj": [(T("matrix"),)], "_to_copy": [(T("matrix"), {"dtype": "float64"})],
    "_softmax": [(T("matrix"), 1, False)], "_log_softmax": [(T("cube"), 0, False)],
    "_unique2": [(T("whole"), True, True, True)],
    **{
        name: [(T("matrix"), _PAIRS), (T("matrix"), [T("order")]), (T("cube"), [T("pair")])]
        for name in ("_unsafe_index", "index")
    },
    **{
        name: [
            (T("matrix"), _PAIRS, T("three"), False), (T("matrix"), [T("order")], T("other"), True),
        ]
        for name in ("_unsafe_index_put", "index_put")
    },
    "_unsafe_view": [(T("matrix"), [2, 6])],
    "index_reduce": [
        (T("matrix"), 0, T("pair"), np.ones((2, 4), "f4") * 2, how, {"include_self": own})
        for how in ("prod", "mean", "amax", "amin") for own in (False, True)
    ],
    "index_copy": [(T("matrix"), 0, np.array([2, 0, 1]), T("other"))],
    "addbmm": [(T("definite"), _BATCH, _BATCH_2, {"beta": 2, "alpha": 0.5})],
    "baddbmm": [(T("definite"), _BATCH, _BATCH_2, {"beta": 2, "alpha": 0.5})],
    "addmm": [(T("definite"), T("matrix"), T("tall"), {"beta": 2, "alpha": 0.5})],
    "addmv": [(T("three"), T("matrix"), T("four"), {"beta": 2, "alpha": 0.5})],
    "addr": [(T("matrix"), T("three"), T("four"), {"beta": 2, "alpha": 0.5})],
    "bmm": [(_BATCH, _BATCH_2)], "dot": [(T("four"), T("rising"))],
    "vdot": [(T("four"), T("rising"))], "ger": [(T("three"), T("four"))],
    "outer": [(T("three"), T("four"))], "__or__": [(T("truth"), T("truth"))],
    "einsum": [("ij,jk->ik", [T("matrix"), T("tall")]), ("i...->...", [T("cube")])],
    "bilinear": [(T("matrix"), T("definite"), np.ones((2, 4, 3), "f4"), np.ones(2, "f4"))],
    "affine_grid_generator": [
        (_BATCH[:, :2, :3], [2, 1, 3, 4], way) for way in (False, True)
    ],
    **{
        name: [(T("image"), _GRID, mode, padding, way) for mode in (0, 1) for padding in (0, 1, 2)
               for way in (False, True)]
        for name in ("grid_sampler", "grid_sampler_2d")
    },
    "grid_sampler_3d": [(_SOLID, _GRID_3D, 0, 0, False)],
    **_POOLS,
    "avg_pool1d": [(T("signal"), [3], [2], [1], True, False), (T("signal"), [2])],
    "max_pool3d": [(_SOLID, [2], [1], [1], [1], False)],
    "avg_pool2d": [(T("image"), [2, 2], [1, 2], [1, 0], True, False), (T("image"), [2], [2])],
    "avg_pool3d": [(_SOLID, [2], [1], [1], False, True), (_SOLID, [2], [2])],
    "adaptive_avg_pool3d": [(_SOLID, [2, 3, 2])], "adaptive_max_pool3d": [(_SOLID, [2, 3, 2])],
    "adaptive_max_pool1d": [(T("signal"), [3])],
    "conv1d": [(T("signal"), _KERNELS[0], T("three"), [2], [1], [1], 1)],
    "conv2d": [(T("image"), _KERNELS[1], None, [2, 1], [1, 0], [1, 2], 1)],
    "conv3d": [(_SOLID, _KERNELS[2], None, [1], [0], [1], 1)],
    "conv_transpose1d": [(T("signal"), _KERNELS[0], None, [2], [1], [1], 1, [1])],
    "conv_transpose2d": [(T("deep"), np.ones((8, 2, 3, 2), "f4"), None, [2], [1], [1], 2)],
    "conv_transpose3d": [(_SOLID, _KERNELS[2], None, [2], [0], [0], 1, [1])],
    "im2col": [(T("image"), [2, 3], [1, 1], [1, 0], [1, 2])],
    "col2im": [(np.ones((2, 8, 4), "f4") * 2, [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])],
    "channel_shuffle": [(T("deep"), 4)], "pixel_unshuffle": [(T("deep"), 2)],
    "inner": [(T("square"), T("cube")), (T("four"), T("cube")), (T("cube"), T("single"))],
    "linalg_vector_norm": [
        (np.zeros((2, 3), "f4"), order, [1]) for order in (0.5, 1.0, 2.0, 3.0, math.inf)
    ],
    "atan2": [(T("matrix"), T("other"))],
    "batch_norm": [
        (T("image"), T("four"), T("rising"), T("positive"), T("positive"), False, 0.1, 1e-5, False),
        (T("image"), T("four"), T("rising"), None, None, True, 0.1, 1e-5, False),
    ],
    "binary_cross_entropy": [
        (T("shares"), np.full((3, 4), 0.3, "f4"), None, how) for how in (0, 1, 2)
    ],
    "cholesky": [(T("definite"), False), (T("definite"), True)],
    "cholesky_solve": [(T("right"), np.linalg.cholesky(_SQUARE), False)],
    "triangular_solve": [
        (T("right"), T("triangle"), False, turned, False) for turned in (False, True)
    ],
    "copy": [(T("matrix"), T("four")), (T("matrix"), T("whole"))],
    "diagonal_scatter": [(T("matrix"), T("three"), 0, 0, 1), (T("matrix"), T("three"), 1)],
    "select_scatter": [(T("matrix"), T("four"), 0, 1)],
    "heaviside": [(T("equal"), T("single")), (T("matrix"), T("other"))],
    "masked_fill": [(T("matrix"), T("truth"), 2.5), (T("matrix"), T("truth"), T("single"))],
    "masked_scatter": [(T("matrix"), T("truth"), T("spread"))],
    "nll_loss": [(T("matrix"), _LABELS, weight, how) for how in (0, 1, 2)
                 for weight in (None, T("positive"))],
    "nll_loss2d": [(T("image"), np.full((2, 6, 5), 3), None, how) for how in (0, 1, 2)],
    "one_hot": [(T("indices"), 4), (T("indices"), -1)],
    "rms_norm": [(T("matrix"), [4], T("four"), 1e-5), (T("cube"), [3, 4], None, None)],
    "scaled_dot_product_attention": [
        (_BATCH, _BATCH, _BATCH, None, 0.0, way) for way in (False, True)
    ],
    "scatter.src": [(T("matrix"), 1, _ROWS_ONCE, T("other"))],
    "scatter.reduce": [
        (T("matrix"), 0, _SPREAD_TO, T("other"), {"reduce": how}) for how in ("add", "multiply")
    ],
    "scatter.value_reduce": [
        (T("matrix"), 0, _SPREAD_TO, 2.5, {"reduce": how}) for how in ("add", "multiply")
    ],
    "scatter_add": [(T("matrix"), 0, T("indices"), T("other"))],
    "scatter_reduce": [
        (T("matrix"), 1, T("indices"), T("other"), how, {"include_self": own})
        for how in ("sum", "prod", "mean", "amax", "amin") for own in (False, True)
    ],
    "hinge_embedding_loss": [
        (T("matrix"), np.sign(np.arange(12) - 5.5).reshape(3, 4).astype("f4"), 1.0, how)
        for how in (0, 1, 2)
    ],
    "native_dropout": [(T("matrix"), 0.5, False)],
    **{
        f"upsample_{name}{rank}d.vec": [
            (T(x), *how, *corners, *by)
            for corners in (((False,), (True,)) if name != "nearest" else ((),))
            for how, by in (
                ((sizes,), (None,)), ((None,), ([1.5] * rank,)), ((None,), ([0.7] * rank,)),
            )
        ]
        for rank, x, sizes, names in (
            (1, "signal", [5], ("linear", "nearest")),
            (2, "image", [9, 3], ("bilinear", "nearest")),
            (3, "volume", [2, 5, 3], ("trilinear", "nearest")),
        ) for name in names
    },
    "searchsorted.Tensor": [
        (T("rising"), T("spread"), {"right": way, "out_int32": way}) for way in (False, True)
    ],
    "bucketize.Tensor": [
        (T("spread"), T("rising"), {"right": way, "out_int32": way}) for way in (False, True)
    ],
}  # fmt: skip
"""Calls that are not guessed."""


UNREACHED = {
    **dict.fromkeys(
        (
            "cauchy",
            "exponential",
            "geometric",
            "log_normal",
            "multinomial",
            "poisson",
            "randint",
            "randint.low",
            "randint_like",
            "randint_like.low_dtype",
            "random",
            "randperm",
        ),
        "no block draws from this distribution: it is refused",
    ),
    **dict.fromkeys(
        ("complex", "imag", "real", "view_as_complex", "view_as_real"),
        "values are real: it is refused",
    ),
    "_conj": "PyTorch has no call of it for real numbers",
    "__matmul__": "a name of TorchScript's alone",
    **dict.fromkeys(("to.device", "to.prim_Device", "to.prim_dtype"), "calls of TorchScript"),
    "as_strided": "it needs to know how a tensor lies in memory: test_crossed_shapes.py has it",
    "pin_memory": "it needs a device",
    "empty": "a name of older files: PyTorch has overloads alone",
}
"""Why rows are reached by no call."""


class _Guess:
    """Arguments for an operator."""

    def __init__(self, given: Given, sources: Sequence[str] = ()) -> None:
        self.given, self.draw, self.sources = given, given.draw, sources
        self.shown: list[Any] = []

    def value(self, name: str, kind: str) -> Any:
        """An argument of a kind of PyTorch's schemas."""
        kind = kind.replace("SymInt", "int")
        if kind.startswith("Optional") or kind.endswith("?"):
            if self.draw.random() < 0.4:
                self.shown.append(None)
                return None
            kind = kind[9:-1] if kind.startswith("Optional") else kind[:-1]
        found = self._plain(name, kind)
        return found

    def _plain(self, name: str, kind: str) -> Any:
        if name == "dtype":
            found = pick(self.draw, ["float32", "float64", "int64", "int32", "bool"])
        elif kind == "Tensor":
            return self._tensor(self._names(name))
        elif kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            alike = self.draw.random() < 0.7
            names = ("matrix", "other", "shares", "equal") if alike else _TENSORS
            return [self._tensor(names) for _ in range(1 + int(self.draw.integers(3)))]
        elif name in _ONLY:
            found = pick(self.draw, _ONLY[name])
        elif kind == "bool":
            found = bool(self.draw.integers(2))
        elif kind == "int":
            found = int(pick(self.draw, _NUMBERS))
        elif kind.startswith("List[int]"):
            found = list(pick(self.draw, _LISTS))
        elif kind == "float":
            found = float(pick(self.draw, [0.5, 1e-5, 0.0, 2.0, -1.0, 1.0, math.inf]))
        elif kind in ("number", "Scalar"):
            found = pick(self.draw, [2, 0.5, True, -1, 0, 3, 1])
        elif kind == "str":
            found = pick(self.draw, _TEXTS)
        elif kind.startswith("List[float]"):
            found = [2.0, 2.0]
        elif kind.startswith("List[bool]"):
            found = [True, True, False]
        else:
            found = None
        self.shown.append(found)
        return found

    def _names(self, argument: str) -> Sequence[str]:
        if self.sources:
            return self.sources
        if argument in ("weight", "bias", "running_mean", "running_var"):
            return ("four", "positive", "positive too", "three", "rising", "matrix", "tall",
                    "kernel")  # fmt: skip
        if argument in ("index", "indices"):
            return ("indices", "order", "index", "int32", "pair")
        if argument in ("mask", "condition"):
            return ("truth", "truth", *_TENSORS)
        return _TENSORS

    def _tensor(self, names: Sequence[str]) -> Staged:
        name = pick(self.draw, names)
        self.shown.append(name)
        return self.given(name)


def _schemas(row: str) -> list[Any]:
    """The overloads that a row stands for."""
    base, _, overload = row.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    packet = getattr(torch.ops.aten, f"{base}_", None) if packet is None else packet
    if packet is None:
        return []
    return [
        getattr(packet, name)
        for name in packet.overloads()
        if not any(argument.is_out for argument in getattr(packet, name)._schema.arguments)
        and not name.startswith("prim_")  # these are TorchScript's, and are called otherwise
        and (name == overload if overload else f"{base}.{name}" not in _TABLE)
    ]


def cases(row: str, count: int) -> Iterator[Case]:
    """Written and guessed calls of a row."""
    schemas = _schemas(row)
    for number, arguments in enumerate(WRITTEN.get(row, ()) if schemas else ()):
        given = Given(random("torch", row, number))
        named = arguments[-1] if isinstance(arguments[-1], dict) else {}
        positional = [_written(given, x) for x in arguments if not isinstance(x, dict)]
        named = {name: _written(given, x) for name, x in named.items()}
        operator = next(each for each in schemas if _fits(each, arguments))
        yield _case(row, operator, given, positional, named, f"{operator} {arguments}")
    guessed = count if schemas and row not in _UNCHECKED else 0
    for number in range(guessed):
        draw = random("torch", row, number)
        guess = _Guess(Given(draw), _SOURCES.get(row, ()))
        operator = pick(draw, schemas)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        ended = False
        for argument in operator._schema.arguments:
            kind = str(argument.type)
            if argument.kwarg_only:
                wanted = not argument.has_default_value() or draw.random() < 0.3
                if wanted and argument.name not in _LEFT_OUT and not argument.is_out:
                    named[argument.name] = guess.value(argument.name, kind)
                    guess.shown.append(argument.name)
            else:
                ended |= argument.has_default_value() and draw.random() < 0.35
                if not ended:
                    positional.append(guess.value(argument.name, kind))
        if row[:3] in ("var", "std") and [] in positional:
            continue  # PyTorch's own gradient is wrong there
        if row in _ALIKE and len({x.shape for x in positional[:2]}) > 1:
            continue
        yield _case(row, operator, guess.given, positional, named, f"{operator} {guess.shown}")


def _written(given: Given, x: Any) -> Any:
    """An argument with values for the names of arrays, and for arrays."""
    if isinstance(x, T):
        return given(x.name)
    if isinstance(x, np.ndarray):
        return given.of(x, f"x{len(given.arrays)}")
    return [_written(given, each) for each in x] if isinstance(x, list) else x


def _fits(operator: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether an overload takes tensors and numbers where a written call has them."""
    count = len([x for x in arguments if not isinstance(x, dict)])
    taken = [x for x in operator._schema.arguments if not x.kwarg_only]
    needed = [x for x in taken if not x.has_default_value()]
    return len(needed) <= count <= len(taken) and all(
        ("Tensor" in str(a.type)) == isinstance(x, T | np.ndarray)
        for a, x in zip(taken, arguments, strict=False)
        if isinstance(x, T | np.ndarray | int | float | str)
    )


def _case(
    row: str, operator: Any, given: Given, positional: list[Any], named: dict[str, Any], shown: str
) -> Case:
    function = find(row)
    assert function is not None
    values = row not in _DRAWN
    slopes = values and row not in _WITHOUT_SLOPES
    return Case(
        shown,
        lambda: by_row(given, lambda: function(given.stage, *positional, **named), slopes, values),
        lambda found: _by_torch(operator, given, positional, named, slopes, found.values),
        drawn=not values,
    )


def _by_torch(
    operator: Any,
    given: Given,
    positional: list[Any],
    named: dict[str, Any],
    slopes: bool,
    found_values: Sequence[Any],
) -> Found:
    leaves = {
        id(x): torch.from_numpy(np.array(given.arrays[id(x)])).requires_grad_()
        for x in given.variables
    }

    in_place = operator._schema.name.endswith("_")

    def turned(name: str, x: Any) -> Any:
        if isinstance(x, Staged):
            if id(x) in leaves:
                return leaves[id(x)].clone() if in_place else leaves[id(x)]
            return torch.from_numpy(np.array(given.arrays[id(x)]))
        if isinstance(x, list):
            return [turned("", each) for each in x]
        return getattr(torch, x) if name == "dtype" and isinstance(x, str) else x

    names = [argument.name for argument in operator._schema.arguments]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.set_grad_enabled(slopes):
                found = operator(
                    *(turned(name, x) for name, x in zip(names, positional, strict=False)),
                    **{name: turned(name, x) for name, x in named.items()},
                )
            tensors = flat(found)
            own = zip(tensors, found_values, strict=False)
            slopes_found = (
                slopes_of(
                    [x for x, value in own if value is not None],
                    [leaves[id(x)] for x in given.variables],
                )
                if slopes
                else {}
            )
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        raise Refused(str(error)) from error
    arrays = [x.detach().numpy() if isinstance(x, torch.Tensor) else None for x in tensors]
    return Found(arrays, slopes_found)


def slopes_of(tensors: list[Any], leaves: list[Any]) -> dict[int, Any]:
    """Gradients of a weighted sum of all floats among tensors."""
    floats = [x for x in tensors if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if not any(x.requires_grad for x in floats):
        return dict.fromkeys(range(len(leaves))) if floats else {}
    total = sum((x * torch.from_numpy(weights(x.detach().numpy()))).sum() for x in floats)
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    return {i: None if x is None else x.numpy() for i, x in enumerate(found)}
