"""Each meaning against PyTorch, and operators that are one row because others have them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
from gradwire.runtime.interchange.importing.tensorflow.operators.table import OPERATORS
from tests.runtime.interchange.importing.meanings.differing import all_agree
from tests.runtime.interchange.importing.mxnet.symbols import SymbolWriter

DRAW = np.random.default_rng(0)
X, ONES, IMAGE = (
    DRAW.standard_normal(shape).astype("f4") for shape in ((2, 3, 4), (2, 1, 3, 1), (2, 8, 4, 6))
)


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    f = torch.nn.functional
    return {
        "reshape": (partial(shapes.reshape, shape=(4, -1)), lambda x: x.reshape(4, 6), X),
        "flatten": (shapes.flatten, torch.flatten, X),
        "flatten some": (partial(shapes.flatten, start=1), lambda x: x.flatten(1), X),
        "flatten nothing": (shapes.flatten, torch.flatten, np.array(0.5, "f4")),
        "unflatten": (
            partial(shapes.unflatten, axis=-1, sizes=(2, -1)), lambda x: x.unflatten(-1, (2, 2)), X,
        ),
        "squeeze": (shapes.squeeze, torch.squeeze, ONES),
        "squeeze some": (partial(shapes.squeeze, axes=(-1,)), lambda x: x.squeeze(-1), ONES),
        "unsqueeze": (
            partial(shapes.unsqueeze, axes=(0, -1)), lambda x: x[None, ..., None], X,
        ),
        "move": (
            partial(shapes.move, source=-1, destination=1), lambda x: x.movedim(-1, 1), IMAGE,
        ),
        "move several": (
            partial(shapes.move, source=(0, 1), destination=(-1, 0)),
            lambda x: x.movedim((0, 1), (-1, 0)), IMAGE,
        ),
        "reverse": (shapes.reverse, lambda x: x.permute(2, 1, 0), X),
        "broadcast": (
            partial(shapes.broadcast, shape=(3, -1, 5, -1, 2)),
            lambda x: x.expand(3, -1, 5, -1, 2), ONES,
        ),
        "together": (
            lambda *xs: shapes.together(xs), torch.broadcast_tensors, ONES, X[:, :, None, :1],
        ),
        **{f"meshgrid {way}": (
            lambda *xs, way=way: shapes.meshgrid(xs, way == "xy"),
            lambda *xs, way=way: torch.meshgrid(*xs, indexing=way), X[0, 0], X[0, :, 0].copy(),
        ) for way in ("ij", "xy")},
        "concat": (lambda *xs: shapes.concat(xs, 1), lambda *xs: torch.cat(xs, 1), X, X + 1),
        "concat one": (lambda x: shapes.concat([x]), lambda x: x * 1, X),
        "stack": (lambda *xs: shapes.stack(xs, -1), lambda *xs: torch.stack(xs, -1), X, X + 1),
        "swap": (partial(shapes.swap, one=0, other=-1), lambda x: x.transpose(0, -1), X),
        "flip": (partial(shapes.flip, axes=(0, 2)), lambda x: x.flip(0, 2), X),
        "flip nothing": (partial(shapes.flip, axes=()), lambda x: x * 1, X),
        "roll": (
            partial(shapes.roll, shifts=(1, -2), axes=(0, 2)), lambda x: x.roll((1, -2), (0, 2)), X,
        ),
        "split": (partial(shapes.split, sizes=(1, 3), axis=2), lambda x: x.split((1, 3), 2), X),
        "unstack": (partial(shapes.unstack, axis=1), lambda x: x.unbind(1), X),
        "tile": (partial(shapes.tile, counts=(2, 1, 3, 2)), lambda x: x.repeat(2, 1, 3, 2), X),
        "tile once": (partial(shapes.tile, counts=(1, 1, 1, 1)), lambda x: x[None] * 1, X),
        "tile elements": (
            partial(shapes.tile, counts=(3, 1), inner=True),
            lambda x: x.repeat_interleave(3, 1), X,
        ),
        "repeat": (
            partial(shapes.repeat, count=2, axis=-2), lambda x: x.repeat_interleave(2, 1), X,
        ),
        "repeat all": (partial(shapes.repeat, count=3), lambda x: x.repeat_interleave(3), X),
        "pad": (
            partial(shapes.pad, widths=((0, 1), (-1, 2), (0, -1)), value=2.0),
            lambda x: f.pad(x, (0, -1, -1, 2, 0, 1), value=2.0), X,
        ),
        **{f"pad {mode}": (
            partial(shapes.pad, widths=((0, 0), (1, 2), (2, 1)), mode=how),
            lambda x, mode=mode: f.pad(x, (2, 1, 1, 2), mode), X,
        ) for mode, how in (("reflect", "reflect"), ("replicate", "edge"))},
        "spread": (
            partial(shapes.spread, axis=1, between=2, value=3.0),
            lambda x: f.pad(x[:, :, None], (0, 0, 0, 2), value=3.0).flatten(1, 2)[:, :-2], X,
        ),
        "spread one": (partial(shapes.spread, axis=1, between=2), lambda x: x * 1, ONES),
        "band": (
            partial(shapes.band, below=1, above=0), lambda x: x.tril().triu(-1), X,
        ),
        "band above": (partial(shapes.band, below=-2, above=None), lambda x: x.triu(2), X),
        **{f"diagonal {k}": (
            partial(shapes.diagonal, offset=k, one=2, other=1), lambda x, k=k: x.diagonal(k, 2, 1),
            X,
        ) for k in (-1, 0, 2, 5)},
        **{f"on_diagonal {k}": (
            partial(shapes.on_diagonal, offset=k), lambda x, k=k: x.diag_embed(k), X,
        ) for k in (-1, 0, 2)},
        "block_diagonal": (
            lambda *xs: shapes.block_diagonal(xs), torch.block_diag, X[0], X[:, 0].copy(),
        ),
        "windows": (
            partial(shapes.windows, axis=-2, size=2, step=1), lambda x: x.unfold(-2, 2, 1), X,
        ),
        "depth_to_space": (
            partial(shapes.depth_to_space, size=2, depth_first=False),
            partial(f.pixel_shuffle, upscale_factor=2), IMAGE,
        ),
        "depth_to_space of blocks": (
            partial(shapes.depth_to_space, size=2),
            lambda x: f.pixel_shuffle(x.unflatten(1, (4, 2)).transpose(1, 2).flatten(1, 2), 2),
            IMAGE,
        ),
        "space_to_depth": (
            partial(shapes.space_to_depth, size=2, depth_first=False),
            partial(f.pixel_unshuffle, downscale_factor=2), IMAGE,
        ),
        "space_to_depth of blocks": (
            lambda x: shapes.space_to_depth(shapes.depth_to_space(x, 2), 2), lambda x: x * 1,
            IMAGE,
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    all_agree(shapes, cases(pytest.importorskip("torch")), {"whole"})


def test_one_length_may_follow_from_the_others():
    assert shapes.whole((2, -1, 3), 24) == [2, 4, 3]
    assert shapes.whole((-1, 0), 0) == [0, 0]


@pytest.mark.parametrize("name", ["depth_to_space", "space_to_depth"])
def test_what_others_have_is_one_row_of_mxnet(name: str, tmp_path: Path):
    net = SymbolWriter()
    entry = net.node(name, "node", [net.argument("x")], {"block_size": "2"})
    made = import_mxnet(net.save(tmp_path, entry), arrays={"x": IMAGE})
    (port,) = made.outputs.values()
    stage = Stage()
    wanted = stage.example(getattr(shapes, name)(stage.input("x", IMAGE), 2))
    np.testing.assert_array_equal(Session(made.diagram).run().values[port], wanted)


def test_what_others_have_is_one_row_of_tensorflow():
    stage, channels_last = Stage(), np.ascontiguousarray(np.moveaxis(IMAGE, 1, -1))
    x = stage.input("x", channels_last)
    attributes = SimpleNamespace(text=lambda key, default: default, whole=lambda key: 2)

    def result(name: str, x: Any) -> Any:
        return OPERATORS[name](SimpleNamespace(x=lambda: x, attributes=attributes))

    finer = result("DepthToSpace", x)
    blocks = channels_last.reshape(2, 4, 6, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5)
    np.testing.assert_array_equal(stage.example(finer), blocks.reshape(2, 8, 12, 2))
    back = stage.example(result("SpaceToDepth", finer))
    np.testing.assert_array_equal(back, channels_last)


@pytest.mark.parametrize(("sides", "fits"), [((-1, -1), True), ((4, -1), True), ((4, 5), False)])
def test_a_matrix_that_is_larger_than_its_diagonal_is_refused_of_tensorflow(sides, fits):
    stage = Stage()
    given = (stage.constant(np.int32(number)) for number in (0, *sides, 0))
    node = SimpleNamespace(name="node", operator="MatrixDiagV3")
    call = TensorFlowCall(stage, node, "node", (stage.input("x", X), *given), None, None)
    if fits:
        made = stage.example(OPERATORS["MatrixDiagV3"](call))
        np.testing.assert_array_equal(made, X[..., None] * np.eye(4, dtype="f4"))
    else:
        with pytest.raises(UnsupportedError, match="only the main diagonal"):
            OPERATORS["MatrixDiagV3"](call)
