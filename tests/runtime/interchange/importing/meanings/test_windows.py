"""Each meaning against PyTorch, and operators that are one row because another system has them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from gradwire.blocks.errors import ParameterError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from gradwire.runtime.interchange.importing.stage import Stage
from tests.runtime.interchange.importing.meanings.differing import agrees, functions
from tests.runtime.interchange.importing.mxnet.symbols import SymbolWriter

DRAW = np.random.default_rng(0)
X, LINE = (DRAW.standard_normal(shape).astype("f4") for shape in ((2, 4, 6, 5), (2, 4, 7)))
W, NARROW, BACK, B = (
    DRAW.standard_normal(shape).astype("f4") for shape in ((6, 2, 3, 2), (3, 4, 3), (4, 2, 3, 2), 6)
)
CEILED = {"kernel_size": (3, 2), "stride": 2, "padding": (1, 0), "ceil_mode": True}
COLUMNS = DRAW.standard_normal((2, 8, 12)).astype("f4")
HELPERS = {"each", "bare", "pairs", "shared", "places_in"}


def cases(f):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    return {
        "conv": (
            partial(windows.conv, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
            partial(f.conv2d, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2), X, W, B,
        ),
        "conv with other zeros at both ends": (
            partial(windows.conv, padding=[(2, -1)]), lambda x, w: f.conv1d(f.pad(x, (2, -1)), w),
            LINE, NARROW,
        ),
        "conv of as many places": (
            partial(windows.conv, padding="same"), partial(f.conv1d, padding="same"), LINE, NARROW,
        ),
        "conv_transpose": (
            partial(windows.conv_transpose, stride=2, padding=1, output_padding=(1, 0)),
            partial(f.conv_transpose2d, stride=2, padding=1, output_padding=(1, 0)), X, BACK,
        ),
        "conv_transpose to lengths": (
            partial(windows.conv_transpose, stride=2, lengths=(12, 11)),
            lambda x, w: f.conv_transpose2d(x, w, stride=2, output_padding=(0, 1))[:, :, :12],
            X, BACK,
        ),
        "depthwise": (
            lambda x, w: windows.conv(x, windows.depthwise(w), groups=4),
            lambda x, w: f.conv2d(x, w.permute(2, 3, 0, 1).flatten(0, 1)[:, None], groups=4),
            X, W.transpose(2, 3, 1, 0)[..., :2, :].repeat(2, 2).copy(),
        ),
        **{f"pool {kind}": (
            partial(windows.pool, kind, **CEILED), partial(function, **CEILED), X,
        ) for kind, function in (("Max", f.max_pool2d), ("Avg", f.avg_pool2d))},
        "pool Max spread": (
            partial(windows.pool, "Max", kernel_size=2, dilation=2, stride=1),
            partial(f.max_pool1d, kernel_size=2, dilation=2, stride=1), LINE,
        ),
        "pool Avg without zeros": (
            partial(windows.pool, "Avg", kernel_size=3, padding=1, count_include_pad=False),
            partial(f.avg_pool1d, kernel_size=3, padding=1, count_include_pad=False), LINE,
        ),
        "norm_pool": (
            partial(windows.norm_pool, 3, kernel_size=(2, 3)),
            lambda x: (f.avg_pool2d(x.abs() ** 3, (2, 3)) * 6) ** (1 / 3), X,
        ),
        "pool_everywhere": (
            partial(windows.pool_everywhere, "Mean"), partial(f.adaptive_avg_pool2d, output_size=1),
            X,
        ),
        **{f"adaptive_pool {kind} {sizes}": (
            partial(windows.adaptive_pool, kind, sizes=sizes), partial(function, output_size=sizes),
            X,
        ) for kind, function in (("Max", f.adaptive_max_pool2d), ("Mean", f.adaptive_avg_pool2d))
          for sizes in ((1, 1), (3, 5), (4, 3))},
        "im2col": (
            partial(windows.im2col, kernel_size=(2, 3), dilation=(2, 1), padding=1, stride=(1, 2)),
            partial(f.unfold, kernel_size=(2, 3), dilation=(2, 1), padding=1, stride=(1, 2)), X,
        ),
        "col2im": (
            partial(windows.col2im, output_size=(3, 4), kernel_size=2, padding=(1, 0)),
            partial(f.fold, output_size=(3, 4), kernel_size=2, padding=(1, 0)), COLUMNS,
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    f = pytest.importorskip("torch").nn.functional
    found = cases(f)
    assert {name.split()[0] for name in found} == functions(windows) - HELPERS
    for name, (meaning, reference, *arrays) in found.items():
        agrees(name, meaning, reference, arrays, 1e-4)


def test_windows_that_never_move_are_refused():
    with pytest.raises(ParameterError):
        windows.pool("Max", Stage().input("x", X), 2, 0)


def test_an_odd_element_of_padding_goes_after_or_before():
    assert windows.shared([3, 2]) == [(1, 2), (1, 1)]
    assert windows.shared([3, 2], lower=True) == [(2, 1), (1, 1)]


@pytest.mark.parametrize(
    ("operator", "attributes", "reference"),
    [
        ("_contrib_AdaptiveAvgPooling2D", {"output_size": "(3, 2)"},
         lambda f, x: f.adaptive_avg_pool2d(x, (3, 2))),
        ("Pooling", {"pool_type": "lp", "p_value": "3", "kernel": "(2, 2)", "stride": "(2, 1)"},
         lambda f, x: (f.avg_pool2d(x.abs() ** 3, 2, (2, 1)) * 4) ** (1 / 3)),
    ],
)  # fmt: skip
def test_what_others_have_is_one_row_of_mxnet(operator, attributes, reference, tmp_path: Path):
    torch = pytest.importorskip("torch")
    net = SymbolWriter()
    path = net.save(tmp_path, net.node(operator, "node", [net.argument("x")], attributes))
    made = import_mxnet(path, arrays={"x": X})
    (port,) = made.outputs.values()
    wanted = reference(torch.nn.functional, torch.from_numpy(X))
    np.testing.assert_allclose(Session(made.diagram).run().values[port], wanted, rtol=1e-5)
