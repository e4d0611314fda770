"""Rows of the table, called as PyTorch calls what they stand for: with its numbers and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

torch = pytest.importorskip("torch")
from gradwire.runtime.interchange.importing.torch.operators.families import find  # noqa: E402  # needs torch

X = torch.randn((3, 4), generator=torch.Generator().manual_seed(0))
CUBE = torch.stack([X, X.flip(1) * 2])
ONES = X.reshape(1, 3, 1, 4)
COUNTS, BYTES, TRUTH = (
    torch.tensor([0, 1, 2, 7]),
    torch.tensor([1, 250]).byte(),
    torch.tensor([True]),
)


@pytest.mark.parametrize(
    ("name", "args", "more"),
    [
        ("msort.default", (X,), {}),
        ("flip.default", (X, []), {}),
        ("flip.default", (X, [-1, 0]), {}),
        ("squeeze.default", (ONES,), {}),
        ("squeeze.dims", (ONES, []), {}),
        ("squeeze.dims", (ONES, [-2, 1]), {}),
        ("var_mean.default", (X, False), {}),
        ("std_mean.default", (X, False), {}),
        ("std_mean.correction", (X, [0]), {"correction": 0, "keepdim": True}),
        ("norm.ScalarOpt_dim_dtype", (X, 2, [1], False), {"dtype": "float64"}),
        ("linalg_vector_norm.default", (X, 1, [0], True), {"dtype": "float64"}),
        ("linalg_norm.default", (X,), {"dtype": "float64"}),
        ("diag_embed.default", (X, -1, 0, 2), {}),
        ("diagonal.default", (ONES, 1, 1, -1), {}),
        ("unfold.default", (X, 1, 2, 2), {}),
        ("searchsorted.Tensor", (X.sort().values, X), {"side": "right"}),
        ("cumsum.default", (X > 0, 1), {}),
        ("scatter_reduce.two", (X, 1, torch.tensor([[0, 0]]), X, "mean"), {}),
        ("slice_scatter.default", (X, X[:, :2], 1, 0, 4, 2), {}),
        *((f"{name}.default", (x,), {}) for x in (COUNTS, BYTES, TRUTH)
          for name in ("exp2", "sinc", "deg2rad", "rad2deg", "logit", "erfc", "rsqrt", "log2")),
        ("isclose.default", (torch.tensor([100_001]), torch.tensor([100_000])), {}),
        ("poisson_nll_loss.default", (X, COUNTS.float(), True, True, 1e-8, 0), {}),
        ("poisson_nll_loss.default", (X.abs(), COUNTS, False, True, 1e-8, 1), {}),
        ("poisson_nll_loss.default", (COUNTS, X.abs(), False, False, 1e-2, 0), {}),
        ("inner.default", (X, CUBE), {}),
        ("addbmm.default", (X[:, :3], CUBE, CUBE.mT), {"beta": 2}),
        *(("celu.default", (X, alpha), {}) for alpha in (-1, 0.5, 2)),
        *(("elu.default", (X, 2, 3, by), {}) for by in (-1, 0.5, 2)),
        *(("softplus.default", (X, 3, threshold), {}) for threshold in (0, 1, 20)),
        ("hinge_embedding_loss.default", (X, X.round(), 1.0, 0), {}),
        ("cosine_embedding_loss.default", (X, X.flip(0), torch.tensor([1, -1, 0]), 0.1, 0), {}),
        ("cosine_similarity.default", (X, X.flip(0), 1, 2.0), {}),
        ("logaddexp2.default", (COUNTS, X), {}),
        ("rsub.Scalar", (COUNTS, 0.5, 0.5), {}),
        ("addcmul.default", (COUNTS[2], COUNTS[2], COUNTS.int()), {}),
        ("column_stack.default", ([COUNTS, COUNTS],), {}),
        ("diff.default", (X > 0,), {}),
        *((f"{name}.default", (X > 0, X < 1), {}) for name in ("maximum", "minimum")),
        *((f"{name}.default", (X > 0,), {}) for name in ("sign", "logical_not")),
        ("logical_not.default", (COUNTS,), {}),
        ("threshold.default", (COUNTS, 1, 0.5), {}),
        ("prod.dim_int", (X, 0), {"dtype": "bool"}),
        ("cumsum.default", (COUNTS, 0), {"dtype": "int32"}),
        ("slice_scatter.default", (X > 0, X), {}),
        ("arange.start", (0, 0.5), {"dtype": "int64"}),
        ("bucketize.Tensor", (X, X[0].sort().values), {"out_int32": True}),
        ("searchsorted.Tensor", (X[0].sort().values, X), {"out_int32": True}),
    ],
)  # fmt: skip
def test_a_row_gives_what_pytorch_gives(name, args, more):
    stage, (operator, overload) = Stage(), name.split(".")
    row = find(name)
    assert row is not None
    inputs = [staged(stage, f"x{i}", x) for i, x in enumerate(args)]
    found = row(stage, *inputs, **more)
    typed = {key: getattr(torch, x) if key == "dtype" else x for key, x in more.items()}
    wanted = getattr(getattr(torch.ops.aten, operator), overload)(*args, **typed)
    for y, expected in zip(_several(found), _several(wanted), strict=True):
        value = stage.example(y)
        assert value.dtype == expected.numpy().dtype
        np.testing.assert_allclose(value, expected.numpy(), rtol=1e-5, atol=1e-6)


def staged(stage, name, x):
    if isinstance(x, list):
        return [staged(stage, f"{name}_{i}", each) for i, each in enumerate(x)]
    return stage.input(name, x.numpy()) if torch.is_tensor(x) else x


def test_whole_numbers_to_a_power_below_0_are_refused():
    stage = Stage()
    with pytest.raises(UnsupportedError, match="below 0, as PyTorch refuses it"):
        find("pow.Tensor_Scalar")(stage, stage.input("x", COUNTS.numpy()), -2)


EDGE = torch.tensor([-3.0, -1, 0, 1, 3, 6])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *((name, (EDGE,)) for name in ("hardtanh", "hardsigmoid", "hardswish", "relu6")),
        ("hardtanh", (EDGE, 0, 6)),
        ("logit", (torch.tensor([0.0, 0.5, 1]),)),
        ("margin_ranking_loss", (EDGE, EDGE * torch.tensor([1.0, 1, 1, 0, 0, 0]), EDGE.sign())),
        ("triplet_margin_loss", (X, X, X.clone(), 0.0)),
        ("median", (torch.tensor([1.0, 2, 2, 3]),)),
        *(("linalg_vector_norm", (X.new_zeros(2, 3), order, [1])) for order in (0.5, 1, 2, 3)),
        ("linalg_vector_norm", (torch.tensor([0.0, 1, 4]), 0.5)),
        ("celu", (EDGE, -1)), ("softplus", (EDGE, 1, 0)),
        ("cosine_similarity", (X, X.flip(0), 1, 2.0)),
    ],
)  # fmt: skip
def test_gradients_at_edges_are_those_of_pytorch(name, args):
    stage = Stage()
    leaf = args[0].clone().requires_grad_()
    x = stage.variable("x", args[0].numpy())
    others = [staged(stage, f"x{i}", each) for i, each in enumerate(args[1:], 1)]
    found = stage.block("Gradient", stage.block("Sum", find(name)(stage, x, *others)), x)
    getattr(torch.ops.aten, name)(leaf, *args[1:]).sum().backward()
    np.testing.assert_allclose(stage.example(found), leaf.grad.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("by_channel", [False, True])
def test_dropouts_keep_what_they_say(alpha, by_channel):
    name = f"{'feature_' * by_channel}{'alpha_' * alpha}dropout"
    numbers = torch.randn((60, 50, 8), generator=torch.Generator().manual_seed(1)).numpy() + 3
    numbers = (numbers - 3) if alpha else numbers
    stage = Stage()
    stage.output(find(name)(stage, stage.input("x", numbers), 0.3, True), "y")
    made = stage.finish()
    y = Session(made.diagram).run().values[made.outputs["y"]]
    values, counts = np.unique(y, return_counts=True)
    lost = y == values[counts.argmax()]
    assert abs(lost.mean() - 0.3) < 0.03
    assert (lost.all(axis=2) | ~lost.any(axis=2)).all() == by_channel
    assert abs(y.mean() - numbers.mean()) < 0.3
    if alpha:
        assert abs(y.std() - numbers.std()) < 0.1


def _several(results):
    return [results] if isinstance(results, Staged) or torch.is_tensor(results) else list(results)
