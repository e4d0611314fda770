"""Rows of the table, called as PyTorch calls what they stand for: with its numbers and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

torch = pytest.importorskip("torch")
from gradwire.runtime.interchange.importing.torch.operators.families import find  # noqa: E402  # needs torch

X = torch.randn((3, 4), generator=torch.Generator().manual_seed(0))
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
    ],
)  # fmt: skip
def test_a_row_gives_what_pytorch_gives(name, args, more):
    stage, (operator, overload) = Stage(), name.split(".")
    row = find(name)
    assert row is not None
    inputs = [stage.input(f"x{i}", x.numpy()) if torch.is_tensor(x) else x
              for i, x in enumerate(args)]  # fmt: skip
    found = row(stage, *inputs, **more)
    typed = {key: getattr(torch, x) if key == "dtype" else x for key, x in more.items()}
    wanted = getattr(getattr(torch.ops.aten, operator), overload)(*args, **typed)
    for y, expected in zip(_several(found), _several(wanted), strict=True):
        value = stage.example(y)
        assert value.dtype == expected.numpy().dtype
        np.testing.assert_allclose(value, expected.numpy(), rtol=1e-5, atol=1e-6)


def _several(results):
    return [results] if isinstance(results, Staged) or torch.is_tensor(results) else list(results)
