"""Against PyTorch, where it is installed: values and gradients of what it has too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.calculus.tracing import Traced

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)

RNG = np.random.default_rng(3)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape)


F = torch.nn.functional
IMAGE = draw(2, 4, 7, 6)
VOLUME = draw(2, 4, 5, 4, 3)
SQUARE = draw(2, 3, 3) + 3 * np.eye(3)

# (ours, PyTorch's, inputs)
PAIRS = {
    "conv2d": (
        lambda xp, x, w: xp.conv2d(x, w, (2, 1), ((1, 1), (2, 2)), (1, 2), 2),
        lambda x, w: F.conv2d(x, w, None, (2, 1), (1, 2), (1, 2), 2), (IMAGE, draw(6, 2, 3, 2)),
    ),
    "depthwise": (
        lambda xp, x, w: xp.conv2d(x, w, groups=4),
        lambda x, w: F.conv2d(x, w, groups=4), (IMAGE, draw(4, 1, 3, 3)),
    ),
    "conv1d": (
        lambda xp, x, w: xp.conv(x, w, (2,), ((1, 1),), (2,), 2),
        lambda x, w: F.conv1d(x, w, None, 2, 1, 2, 2), (IMAGE[:, :, 0], draw(6, 2, 2)),
    ),
    "conv3d": (
        lambda xp, x, w: xp.conv(x, w, (2, 1, 1), ((1, 1), (0, 0), (2, 2)), (1, 2, 1), 2),
        lambda x, w: F.conv3d(x, w, None, (2, 1, 1), (1, 0, 2), (1, 2, 1), 2),
        (VOLUME, draw(6, 2, 3, 2, 2)),
    ),
    "conv_transpose3d": (
        lambda xp, x, w: xp.conv_transpose(
            x, w, (9, 5, 5), (2, 1, 2), ((1, 1), (0, 0), (0, 0)), (1, 1, 1), 2
        ),
        lambda x, w: F.conv_transpose3d(x, w, None, (2, 1, 2), (1, 0, 0), 0, 2),
        (VOLUME, draw(4, 3, 3, 2, 1)),
    ),
    "max_pool3d": (
        lambda xp, x: xp.max_pool(x, (3, 2, 2), (2, 2, 1), ((1, 1), (1, 1), (0, 0)), (1, 1, 2)),
        lambda x: F.max_pool3d(x, (3, 2, 2), (2, 2, 1), (1, 1, 0), (1, 1, 2)), (VOLUME,),
    ),
    "inverse": (lambda xp, x: xp.inverse(x), torch.linalg.inv, (SQUARE,)),
    "solve": (lambda xp, a, b: xp.solve(a, b), torch.linalg.solve, (SQUARE, draw(2, 3, 4))),
    "cholesky": (
        lambda xp, x: xp.cholesky(x), lambda x: torch.linalg.cholesky((x + x.mT) / 2),
        (SQUARE @ SQUARE.swapaxes(1, 2),),
    ),
    "det": (lambda xp, x: xp.determinant(x), torch.linalg.det, (SQUARE,)),
    "slogdet": (
        lambda xp, x: xp.log_determinant(x), lambda x: torch.linalg.slogdet(x)[1], (-SQUARE,),
    ),
    "max_pool": (
        lambda xp, x: xp.max_pool(x, (3, 2), (2, 2), ((1, 1), (1, 1))),
        lambda x: F.max_pool2d(x, (3, 2), (2, 2), (1, 1)), (IMAGE,),
    ),
    "avg_pool": (
        lambda xp, x: xp.avg_pool(x, (3, 2), (2, 2), ((1, 1), (1, 1))),
        lambda x: F.avg_pool2d(x, (3, 2), (2, 2), (1, 1)), (IMAGE,),
    ),
    "logsumexp": (
        lambda xp, x: xp.logsumexp(x, (1, 3)), lambda x: torch.logsumexp(x, (1, 3)), (IMAGE,),
    ),
    "softmax": (lambda xp, x: xp.softmax(x, 1), lambda x: torch.softmax(x, 1), (IMAGE,)),
    "log_softmax": (
        lambda xp, x: xp.log_softmax(x), lambda x: torch.log_softmax(x, -1), (IMAGE,),
    ),
    "einsum": (
        lambda xp, a, b: xp.einsum("bhqd,bhkd->bhqk", a, b),
        lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b), (draw(2, 3, 4, 5), draw(2, 3, 6, 5)),
    ),
    "matmul": (lambda xp, a, b: a @ b, torch.matmul, (draw(5, 1, 3, 4), draw(2, 4, 2))),
    "norm": (
        lambda xp, x: xp.norm(x, (2, 3)), lambda x: torch.linalg.vector_norm(x, dim=(2, 3)),
        (IMAGE,),
    ),
    "cumsum": (lambda xp, x: xp.cumulative_sum(x, 1), lambda x: torch.cumsum(x, 1), (IMAGE,)),
    "prod": (lambda xp, x: xp.prod(x, 1), lambda x: torch.prod(x, 1), (IMAGE,)),
    "sort": (lambda xp, x: xp.sort(x, 2), lambda x: torch.sort(x, 2).values, (IMAGE,)),
    "atan2": (lambda xp, a, b: xp.arctan2(a, b), torch.atan2, (draw(3, 4), draw(4))),
    "power": (lambda xp, a, b: a**b, torch.pow, (np.abs(draw(3, 4)), draw(4))),
    "clip": (lambda xp, x: xp.clip(x, -0.5, 1), lambda x: torch.clamp(x, -0.5, 1), (draw(50),)),
    "softplus": (lambda xp, x: xp.softplus(x), F.softplus, (draw(9),)),
    "erf": (lambda xp, x: xp.erf(x), torch.erf, (draw(50) * 3,)),
    "sigmoid": (lambda xp, x: xp.sigmoid(x), torch.sigmoid, (draw(50) * 20,)),
    "maximum": (lambda xp, a, b: xp.maximum(a, b), torch.maximum,
                (np.array([1.0, 2, 3]), np.array([3.0, 2, 1]))),
    "amax": (lambda xp, x: xp.max(x, 1), lambda x: torch.amax(x, 1), (np.round(draw(4, 6)),)),
    "gather": (
        lambda xp, x: xp.take_along_axis(x, np.array([[0, 0], [1, 2]]), 1),
        lambda x: torch.gather(x, 1, torch.tensor([[0, 0], [1, 2]])), (draw(2, 3),),
    ),
    "embedding": (
        lambda xp, x: xp.take(x, np.array([[3, 1], [3, 3]])),
        lambda x: F.embedding(torch.tensor([[3, 1], [3, 3]]), x), (draw(5, 2),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_values_and_gradients_to_second_order(name: str) -> None:
    ours, theirs, inputs = PAIRS[name]
    traced = Traced(ours, *inputs)
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    out = theirs(*tensors)
    np.testing.assert_allclose(traced.value(), out.detach().numpy(), rtol=1e-11, atol=1e-12)

    seed = draw(*traced.out.shape)
    first = traced.gradients(seed)
    wanted = torch.autograd.grad(out, tensors, torch.tensor(seed), create_graph=True)
    for found, tensor in zip(first, wanted, strict=True):
        assert found is not None
        np.testing.assert_allclose(
            traced.read(found), tensor.detach().numpy(), rtol=1e-10, atol=1e-11
        )

    xp, x = traced.trace.xp, traced.leaves[0]
    assert first[0] is not None
    again = traced.read(xp.gradient(xp.sum(first[0] * first[0]), x))
    total = (wanted[0] * wanted[0]).sum()
    second = (
        torch.autograd.grad(total, tensors[0], allow_unused=True)[0]
        if total.requires_grad
        else None
    )
    expected = np.zeros(x.shape) if second is None else second.numpy()
    np.testing.assert_allclose(again, expected, rtol=1e-9, atol=1e-9)
