"""Operators by families: each capture is checked against PyTorch's own values and gradients."""

from __future__ import annotations

import pytest

import gradwire as gw

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def trained(*shape: int, seed: int = 0) -> nn.Parameter:
    return nn.Parameter(numbers(*shape, seed=seed))


def shares(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.sigmoid(numbers(*shape, seed=1)) * 0.8 + 0.1)


def picks(count: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(2))


A, B, C = trained(3, 4), trained(3, 4, seed=3), trained(2, 3, 4, seed=4)
P = shares(3, 4)
W = P[0].detach()
IMAGE, SIGNAL = trained(2, 4, 6, 5), trained(2, 3, 8)
ROWS = torch.tensor([[0, 2], [1, 3], [2, 0]])
SQUARE = nn.Parameter(numbers(3, 3, seed=5) + 3 * torch.eye(3))
EQUAL = nn.Parameter(torch.tensor([[1.0, 2, 2, 1], [0, 3, 0, 3], [1, 1, 1, 0]]))
SPREAD = torch.tensor([[0, 1, 0, 2], [1, 1, 1, 1], [0, 0, 2, 2]])
CELLS = torch.tensor([[0, 2], [1, 1], [2, 0]])


def total(*values):
    return sum((value.float() ** 2).sum() for value in values)


def written_to():
    y = A * 1
    y[0] = 3.0
    y[:, 1].mul_(2)
    y[y > 1] = 0.5
    y += 1
    y[1:, ::2] = A[1:, ::2] * 3
    return y


def diagonals_written_to():
    y, tall, lined = A * 1, torch.cat([C[0], C[1]]), A * 1
    y.t().fill_diagonal_(3.0)
    tall[:, :2].fill_diagonal_(2.0, wrap=True)
    lined.t().as_strided((3,), (5,)).mul_(4)
    return y, tall, lined


def shaped_in_place():
    y = A * 2
    flat = y.view(-1)
    y.unsqueeze_(0).mul_(3)
    y.transpose_(1, 2)
    y.squeeze_()[0] += 1
    y.t_()
    return y, flat * numbers(12)


def written_through_views():
    y = A * 2
    flat = y.view(-1)
    flat[2] = 5.0
    flat.add_(1)
    y.t()[0].mul_(3)
    return y, flat


FAMILIES = {
    "trigonometry": lambda: (P.asin(), P.acos(), P.atan(), P.sin(), P.cos(), P.tan()),
    "hyperbolic": lambda: (A.sinh(), A.cosh(), A.tanh(), A.asinh(), (P + 1).acosh(), P.atanh()),
    "powers": lambda: (P.rsqrt(), P.sqrt(), P.reciprocal(), A.square(), A**3, P**A, 2**A, P.exp2()),
    "logarithms": lambda: (P.log(), P.log2(), P.log10(), P.log1p(), A.expm1(), P.logit()),
    "error function": lambda: (A.erf(), A.erfc()),
    "whole numbers": lambda: (A * A.round(), A * A.floor(), A * A.ceil(), A * A.trunc(), A.frac()),
    "remainders": lambda: (A % 0.7, torch.fmod(A, 0.3), torch.div(A, 0.3, rounding_mode="floor")),
    "two operands": lambda: (A / P, A - 2 * B, 1 - A, torch.maximum(A, B), torch.atan2(A, P)),
    "fused": lambda: (torch.lerp(A, B, 0.3), torch.addcmul(A, B, B, value=0.5), A.addcdiv(B, P)),
    "bounds": lambda: (A.clamp(-0.5, 0.5), A.clamp(min=0), torch.clamp(A, max=B), A.clamp_min(0.1)),
    "choices": lambda: (
        torch.where(A > 0, A, B),
        A.masked_fill(B > 0, 2.0),
        A * ((A > 0) & (B < 0)),
    ),
    "not finite": lambda: (torch.nan_to_num(A / A), A * torch.isfinite(A), torch.xlogy(P, P)),
    "activations": lambda: tuple(
        f(A)
        for f in (
            F.relu,
            F.relu6,
            F.hardtanh,
            F.hardsigmoid,
            F.hardswish,
            F.mish,
            F.selu,
            F.elu,
            F.celu,
            F.softplus,
            F.logsigmoid,
            F.softsign,
            F.tanhshrink,
            F.softshrink,
            F.hardshrink,
            F.leaky_relu,
            F.gelu,
            F.silu,
            F.glu,
            torch.sigmoid,
        )
    ),
    "activations with options": lambda: (
        F.gelu(A, approximate="tanh"),
        F.softplus(A, 2.0),
        F.prelu(C, P[:, 0]),
        F.threshold(A, 0.1, 2.0),
        F.softmax(C, 1),
        F.log_softmax(C, 0),
    ),
    "sums": lambda: (
        A.sum(0),
        A.mean(1, keepdim=True),
        P.prod(1),
        A.logsumexp(1),
        A.diff(),
        A.trace(),
    ),
    "extremes": lambda: (A.amax(0), A.amin(1), A.max(), A.max(1).values, A.min(0, keepdim=True)[0]),
    "variances": lambda: (A.var(), A.std(0), A.var(1, unbiased=False), *torch.var_mean(A, 0)),
    "norms": lambda: (A.norm(), A.norm(dim=1), A.norm(p=1), torch.linalg.vector_norm(A, 3, dim=0)),
    "running": lambda: (A.cumsum(1), P.cumprod(0), A.logcumsumexp(1), A.cummax(1).values),
    "order": lambda: (A.sort(1).values * A, A.topk(2).values, A.kthvalue(2)[0], A.median()),
    "shapes": lambda: (
        C.permute(2, 0, 1).reshape(4, 6) * numbers(4, 6),
        C.flatten(1),
        C.unflatten(2, (2, 2)),
        C.movedim(0, 2),
        C.mT,
        C.unsqueeze(1).squeeze(),
        A.expand(2, 3, 4) * C,
        C.unbind(1)[1],
    ),
    "copies": lambda: (A.repeat(2, 3), A.repeat_interleave(2, 1), A.tile((2, 1)), A.roll(1, 1) * A),
    "parts": lambda: (
        *A.split(2),
        *A.chunk(3, 1),
        *A.split([1, 2]),
        A.narrow(1, 1, 2),
        A.flip(0) * B,
    ),
    "joined": lambda: (torch.cat([A, B], 1), torch.stack([A, B]), torch.hstack([A, B])),
    "triangles": lambda: (A.tril(), A.triu(1), A.diagonal(1)),
    "diagonals": lambda: (torch.diag(A[0]), A.diag(-1), torch.diag_embed(A, 1, 0, 2)),
    "windows": lambda: (A[0].unfold(0, 3, 1), F.pixel_shuffle(IMAGE, 2) * 2),
    "indices": lambda: (
        A[picks(3, 2)],
        A[:, picks(4, 2)],
        A[picks(3, 2), picks(4, 2)],
        A[1, ::2],
        A[..., -1],
        A[None, 1:],
        C[:, picks(3, 2), picks(4, 2)],
        C[picks(2, 3), :, picks(4, 3)],
        A[[0, 2]],
    ),
    "masks": lambda: (A[A > 0], A.masked_select(B < 0), A[torch.where(A > 0)]),
    "gathered": lambda: (A.gather(1, ROWS), A.index_select(1, picks(4, 2)), A.take(picks(12, 3))),
    "scattered": lambda: (
        A.scatter(1, ROWS, B[:, :2]),
        A.scatter_add(1, ROWS, B[:, :2]),
        A.index_add(1, picks(4, 4), B),
        torch.zeros(3, 4).scatter_(1, ROWS, 1.0) * A,
        A.scatter_reduce(1, ROWS, B[:, :2], "sum"),
    ),
    "put": lambda: (
        A.index_put((torch.tensor([0, 1]), torch.tensor([1, 3])), B[0, :2]),
        A.index_put((torch.tensor([0, 0]),), B[:2], accumulate=True),
        A.index_fill(1, torch.tensor([0, 2]), 1.0),
        torch.slice_scatter(A, B[:1], 0, 1, 2),
    ),
    "written to": lambda: (written_to(),),
    "diagonals written to": diagonals_written_to,
    "shaped in place": shaped_in_place,
    "quantiles": lambda: (
        A.quantile(0.3),
        A.quantile(torch.tensor([0.25, 0.5]), dim=1),
        A.quantile(0.3, dim=1, keepdim=True, interpolation="lower"),
        A.nanquantile(0.5, dim=0),
    ),
    "strided": lambda: (
        A.as_strided((2, 3), (4, 1), 1),
        A.t().as_strided((3, 2, 2), (4, 1, 1)),
        (A * 1)[1:].as_strided((2,), (5,)),
    ),
    "written through views": written_through_views,
    "copied": lambda: (torch.zeros(3, 4).copy_(B) * A, torch.empty_like(A).fill_(2.0) * A),
    "products": lambda: (
        A @ B.T,
        torch.bmm(C, C.mT),
        torch.baddbmm(C @ C.mT, C, C.mT, beta=0.5, alpha=2),
        torch.outer(A[0], B[1]),
        torch.dot(A[0], B[0]),
        A.mv(B[0]),
        torch.addmm(A, A @ B.T, B),
    ),
    "einsum": lambda: (
        torch.einsum("bij,kj->bik", C, A),
        torch.einsum("...ij,kj", C, A),
        torch.einsum("bij->j", C),
    ),
    "linear algebra": lambda: tuple(
        f(A @ A.T + torch.eye(3))
        for f in (torch.linalg.inv, torch.linalg.cholesky, torch.logdet, torch.linalg.det)
    ),
    "distances": lambda: (torch.cdist(A, B), F.pairwise_distance(A, B), F.cosine_similarity(A, B)),
    "attention": lambda: (
        F.scaled_dot_product_attention(C, C, C, is_causal=True),
        F.scaled_dot_product_attention(C, C, C, attn_mask=numbers(3, 3), scale=0.3),
    ),
    "convolutions": lambda: (
        F.conv1d(SIGNAL, trained(4, 3, 3), trained(4), stride=2, padding=1),
        F.conv2d(IMAGE, trained(4, 2, 3, 3), groups=2, padding="same"),
        F.conv2d(IMAGE[0], trained(2, 4, 2, 2), dilation=2),
        F.conv3d(IMAGE[None], trained(3, 2, 2, 2, 2)),
        F.conv_transpose1d(SIGNAL, trained(3, 2, 3), stride=2, padding=1, output_padding=1),
        F.conv_transpose2d(IMAGE, trained(4, 1, 3, 3), stride=2, groups=2),
    ),
    "pools": lambda: (
        F.max_pool2d(IMAGE, 3, 2, 1),
        F.avg_pool2d(IMAGE, 2),
        F.max_pool2d(IMAGE, 2, ceil_mode=True),
        F.avg_pool2d(IMAGE, 3, 2, 1, count_include_pad=False),
        F.adaptive_avg_pool2d(IMAGE, (3, 2)),
        F.adaptive_max_pool2d(IMAGE, 2),
        F.max_pool1d(SIGNAL, 2),
        F.adaptive_avg_pool1d(SIGNAL, 1),
    ),
    "resized": lambda: (
        F.interpolate(IMAGE, scale_factor=2),
        F.interpolate(IMAGE, size=(3, 7), mode="bilinear"),
        F.interpolate(IMAGE, scale_factor=1.5, mode="bilinear", align_corners=True),
        F.grid_sample(IMAGE, torch.tanh(numbers(2, 3, 3, 2)), align_corners=False),
    ),
    "padded": lambda: tuple(
        F.pad(IMAGE, (1, 2, 0, 1), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    ),
    "normalised": lambda: (
        F.layer_norm(C, (4,), P[0]) * C,
        F.group_norm(IMAGE, 2, P[0], P[1]) * IMAGE,
        F.instance_norm(IMAGE) * IMAGE,
        F.rms_norm(C, (4,), P[0]) * C,
        F.normalize(C, dim=1),
        F.batch_norm(IMAGE, torch.zeros(4), torch.ones(4) * 2, P[0], P[1]) * IMAGE,
    ),
    "pixels and channels": lambda: (
        F.pixel_unshuffle(IMAGE[:, :, :, :4], 2),
        F.pixel_unshuffle(IMAGE[0, :, :, :4], 2),
        F.channel_shuffle(IMAGE, 2),
    ),
    "unfolded": lambda: (
        F.unfold(IMAGE, (3, 2), dilation=(1, 2), padding=(1, 0), stride=2),
        F.unfold(IMAGE[0], 2),
        F.unfold(IMAGE, 3, dilation=2, padding=2),
    ),
    "folded": lambda: (
        F.fold(C.reshape(2, 4, 3)[..., :2].repeat(1, 2, 2), (4, 4), 2, stride=2),
        F.fold(A.T, (2, 4), 2),
        F.fold(
            F.unfold(IMAGE, (3, 2), dilation=(1, 2), padding=(1, 0), stride=2) ** 2,
            (6, 5),
            (3, 2),
            dilation=(1, 2),
            padding=(1, 0),
            stride=2,
        ),
    ),
    "triangular solutions": lambda: (
        torch.linalg.solve_triangular(SQUARE, A, upper=False),
        torch.linalg.solve_triangular(SQUARE.expand(2, 3, 3), C, upper=True),
        torch.linalg.solve_triangular(SQUARE, C.mT, upper=False, left=False),
        torch.linalg.solve_triangular(SQUARE, A, upper=True, unitriangular=True),
        torch.triangular_solve(A, SQUARE, upper=False, transpose=True)[0],
    ),
    "signs of determinants": lambda: tuple(
        torch.cat([x[None] for x in torch.linalg.slogdet(y)]) * numbers(2)
        for y in (SQUARE, SQUARE[[1, 0, 2]], SQUARE * 1e-15, SQUARE[[1, 0, 2]] * 1e15)
    ),
    "margins between classes": lambda: (
        F.multi_margin_loss(A, picks(4, 3)),
        F.multi_margin_loss(A, picks(4, 3), p=2, margin=0.5, weight=W, reduction="sum"),
        F.multi_margin_loss(A[0], torch.tensor(1)),
        F.multi_margin_loss(A, picks(4, 3), reduction="none"),
    ),
    "bits": lambda: (
        A * ~picks(9, 4),
        A * ~picks(9, 4).byte(),
        A * (picks(9, 4) << 2),
        A * (picks(9, 4) >> torch.tensor(1)),
        A * ~(B > 0),
    ),
    "equals and NaN": lambda: (
        torch.fmax(EQUAL, EQUAL.flip(0)),
        torch.fmin(A, A / EQUAL.detach().where(EQUAL == 0, torch.nan)),
        torch.clamp(EQUAL, EQUAL.flip(0), A.abs() + EQUAL.flip(0)),
        F.relu6(EQUAL),
        torch.fmod(A, torch.tensor([torch.inf, 1.0, 2.0, -0.3])),
        torch.fmod(A * 1e6, B),
    ),
    "norms of matrices": lambda: (
        torch.linalg.norm(A),
        torch.linalg.norm(A, 1),
        torch.linalg.norm(A, -torch.inf),
        torch.linalg.norm(C, torch.inf, dim=(0, 2), keepdim=True),
        torch.linalg.norm(A, 1, dim=1),
    ),
    "no logarithm of a determinant": lambda: (
        torch.logdet(SQUARE),
        torch.logdet(SQUARE[[1, 0, 2]]).nan_to_num(),
    ),
    "solutions": lambda: (
        torch.linalg.solve(SQUARE, A),
        torch.linalg.solve(SQUARE, A[:, 0]),
        torch.linalg.solve(SQUARE, C.mT, left=False),
        torch.linalg.solve(SQUARE.expand(2, 3, 3), C[..., 0]),
        torch.linalg.inv_ex(SQUARE)[0],
    ),
    "roots": lambda: (
        torch.cholesky_solve(A, torch.linalg.cholesky(SQUARE @ SQUARE.T)),
        torch.cholesky_solve(A, SQUARE.triu(), upper=True),
        torch.cholesky_inverse(torch.linalg.cholesky(SQUARE @ SQUARE.T)),
        torch.linalg.cholesky_ex(SQUARE @ SQUARE.T, upper=True)[0],
    ),
    "scattered and reduced": lambda: tuple(
        x.scatter_reduce(1, SPREAD, y, how, include_self=kept)
        for x, y in ((A, B), (EQUAL, EQUAL.flip(0)))
        for how in ("sum", "prod", "mean", "amax", "amin")
        for kept in (True, False)
    ),
    "rows reduced": lambda: tuple(
        x.index_reduce(dim, SPREAD[0, 1:3], y, how, include_self=kept)
        for x, y, dim in ((A, B[:2], 0), (EQUAL, EQUAL[:, :2] * 1.0, 1), (C, C[:, :2] * 2, 1))
        for how in ("prod", "mean", "amax", "amin")
        for kept in (True, False)
    ),
    "written at": lambda: (
        A.put(torch.tensor([1, -1, 1]), B[0, :3], accumulate=True),
        torch.diagonal_scatter(A, B[:, 0], 1),
        A.index_select(1, torch.tensor(2)),
    ),
    "hypotenuses": lambda: (
        torch.hypot(A, B[0]),
        torch.hypot(A * 1e-25, B * 1e-25) * 1e25,
        torch.hypot(A * 1e25, B * 1e25) * 1e-25,
    ),
    "times a logarithm": lambda: (
        torch.xlogy(EQUAL, P),
        torch.xlogy(EQUAL, P[0, 0]),
        torch.xlogy(EQUAL, EQUAL),
        torch.xlogy(2.0, P),
        torch.special.xlog1py(EQUAL, EQUAL - 1),
        torch.special.xlog1py(A, P),
    ),
    "sums in logarithms": lambda: (torch.logaddexp(A, B[0]), torch.logaddexp2(A, B[:, :1])),
    "more functions": lambda: (
        torch.sinc(EQUAL),
        torch.deg2rad(A),
        torch.rad2deg(A),
        torch.nansum(A / EQUAL.detach().where(EQUAL == 0, torch.nan), 1),
        *torch.aminmax(EQUAL, dim=1),
        torch.dist(A, B),
        EQUAL.cummax(1)[0],
        EQUAL.cummin(0)[0],
        A.diff(2, append=B),
    ),
    "more products": lambda: (
        torch.addr(SQUARE, A[:, 0], B[:, 1], beta=0.5, alpha=2),
        torch.addmm(SQUARE * torch.nan, A, B.T, beta=0),
        torch.linalg.cross(C[..., :3], A[None, :, :3]),
        torch.cross(A, B, dim=0),
        F.pdist(A[[0, 0, 1]]),
        F.pdist(A, 1),
    ),
    "turned and joined": lambda: (
        *(A.rot90(k) * numbers(*A.rot90(k).shape) for k in range(4)),
        C.rot90(1, (2, 1)) * numbers(2, 4, 3),
        torch.block_diag(A, A[0], B[0, 0]),
    ),
    "found": lambda: (
        A * torch.searchsorted(EQUAL.detach().sort(1)[0], B.detach(), right=True),
        A * torch.searchsorted(torch.tensor([0.5, -1.0, 0.0]), A, sorter=torch.tensor([1, 2, 0])),
        A * torch.isin(EQUAL.detach(), 2.0),
        A * torch.isin(EQUAL.detach(), torch.tensor([1.0, 3.0]), invert=True),
    ),
    "grids": lambda: (
        F.affine_grid(trained(2, 2, 3), (2, 1, 3, 4), align_corners=True),
        F.affine_grid(C[:, :2, :3], (2, 1, 1, 4), align_corners=False),
        F.affine_grid(C, (2, 1, 2, 3, 4), align_corners=False),
        F.interpolate(IMAGE, scale_factor=1.7, mode="bicubic"),
        F.interpolate(IMAGE, size=(9, 7), mode="nearest-exact"),
        F.max_pool2d(IMAGE, 2, return_indices=True)[0],
    ),
    "bags": lambda: (
        F.embedding_bag(CELLS, A, mode="sum"),
        F.embedding_bag(CELLS, A, mode="mean", padding_idx=2),
        F.embedding_bag(CELLS, A, mode="max"),
        F.embedding_bag(picks(3, 7), A, torch.tensor([0, 3, 3, 5]), mode="max"),
        F.embedding_bag(picks(3, 7), A, torch.tensor([0, 3, 3, 5]), mode="mean"),
        F.embedding_bag(
            picks(3, 5),
            A,
            torch.tensor([0, 3, 5]),
            mode="sum",
            per_sample_weights=P.view(-1)[:5],
            include_last_offset=True,
        ),
        F.embedding_bag(picks(3, 4), A, torch.tensor([0, 4]), mode="max", padding_idx=1),
    ),
    "norms at most": lambda: (torch.renorm(A, 2, 0, 1.5), torch.renorm(C, 1, -1, 2.0)),
    "looked up": lambda: (
        F.embedding(picks(3, 2, 3), A, padding_idx=2),
        F.one_hot(ROWS, 4) * A[:, None],
    ),
    "distance losses": lambda: (
        F.mse_loss(A, B),
        F.l1_loss(A, B),
        F.smooth_l1_loss(A, B, beta=0.5),
        F.huber_loss(A, B, delta=0.3),
        F.mse_loss(A, B, reduction="sum"),
        F.triplet_margin_loss(A, B, P),
        F.gaussian_nll_loss(A, B, P),
        F.poisson_nll_loss(A, P),
        F.margin_ranking_loss(A, B, torch.ones(3, 4)),
        F.soft_margin_loss(A, torch.ones(3, 4)),
        F.cosine_embedding_loss(A, B, torch.tensor([1.0, -1, 1])),
        F.hinge_embedding_loss(A, -P.sign()),
    ),
    "cross-entropies": lambda: (
        F.cross_entropy(A, picks(4, 3)),
        F.cross_entropy(A, picks(4, 3), W),
        F.cross_entropy(A, torch.tensor([0, -100, 2])),
        F.cross_entropy(C, picks(3, 2, 4)),
        F.cross_entropy(A, picks(4, 3), W, ignore_index=1, label_smoothing=0.2),
        F.cross_entropy(A, F.softmax(B, 1), W),
        F.nll_loss(F.log_softmax(A, 1), picks(4, 3)),
        F.cross_entropy(A, F.softmax(B, 1), label_smoothing=0.2),
        F.kl_div(F.log_softmax(A, 1), F.softmax(B, 1), reduction="batchmean"),
        F.kl_div(F.log_softmax(A, 1), F.log_softmax(B, 1), log_target=True),
    ),
    "binary cross-entropies": lambda: (
        F.binary_cross_entropy(A.sigmoid(), P.detach()),
        F.binary_cross_entropy_with_logits(A, P.detach()),
        F.binary_cross_entropy_with_logits(A, P.detach(), pos_weight=W),
        F.binary_cross_entropy(A.sigmoid(), P.detach(), weight=W),
    ),
    "dtypes": lambda: (A.double() * 2, A * torch.arange(4), torch.arange(4) / 2 * A, A.half()),
    "created": lambda: (
        A * torch.ones_like(A),
        A.new_full((4,), 3.0) * A,
        torch.linspace(0, 1, 4) * A,
        torch.eye(4)[1] * A,
        torch.arange(0, 4, 1.0) * A,
        torch.bucketize(A, numbers(3).sort()[0]) * A,
    ),
}


@pytest.mark.sampled(one_in=11)
@pytest.mark.filterwarnings(
    "ignore:Using a target size",
    "ignore:reduction",
    "ignore:torch.triangular_solve",
    "ignore:index_reduce",
)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_agrees_with_pytorch(name):
    imported = gw.capture(lambda: total(*FAMILIES[name]()))
    assert not gw.check(imported.diagram)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


def heads(queries: int, keys: int, values: int, last: int = 5):
    """Queries, keys and values of 2 examples, with ``last`` keys for 3 queries."""
    return trained(2, queries, 3, 4), trained(2, keys, last, 4, seed=1), trained(2, values, last, 4)


SHARED = {
    "8 over 2": (heads(8, 2, 2), {}),
    "32 over 8, causal": (heads(32, 8, 8, last=3), {"is_causal": True}),
    "one key head, scaled": (heads(4, 1, 1), {"scale": 0.3}),
    "as many keys, shared values": (heads(4, 4, 2), {}),
    "a boolean mask": (heads(4, 2, 2), {"attn_mask": torch.ones(3, 5).tril(2).bool()}),
    "a mask for each head": (heads(4, 2, 2), {"attn_mask": trained(2, 4, 3, 5)}),
    "weights dropped": (heads(4, 2, 2), {"dropout_p": 0.5}),
    "without a batch": ([x[0].detach().requires_grad_() for x in heads(4, 2, 2)], {}),
}
"""Queries that share heads of keys and values."""


@pytest.mark.parametrize("name", SHARED)
def test_queries_that_share_keys_agree_with_pytorch(name):
    given, options = SHARED[name]
    imported = gw.capture(
        lambda: total(F.scaled_dot_product_attention(*given, enable_gqa=True, **options))
    )
    assert not gw.check(imported.diagram)
    said = imported.remarks[-1].text
    counted = 3 + any(getattr(x, "requires_grad", False) for x in options.values())
    assert said.startswith("Agrees with PyTorch") and f"{counted} gradients" in said, said


LAYERS = {
    "RNN": (nn.RNN(3, 4, nonlinearity="relu"), numbers(5, 2, 3)),
    "GRU": (nn.GRU(3, 4, 2, batch_first=True, bidirectional=True), numbers(2, 5, 3)),
    "LSTM without biases": (nn.LSTM(3, 4, bias=False), numbers(5, 3)),
    "LSTM with a projection": (nn.LSTM(3, 4, proj_size=2), numbers(5, 2, 3)),
    "LSTMCell": (nn.LSTMCell(3, 4), numbers(2, 3)),
    "GRUCell": (nn.GRUCell(3, 4), numbers(2, 3)),
    "MultiheadAttention": (nn.TransformerDecoderLayer(4, 2, 8, 0.0), numbers(3, 2, 4)),
    "weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), numbers(2, 3)),
    "spectral_norm": (nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), numbers(2, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_agrees_with_pytorch(name):
    layer, x = LAYERS[name]

    def loss(x):
        y = layer(x, x) if name == "MultiheadAttention" else layer(x)
        return total(*(y if isinstance(y, tuple) else (y,))[:1])

    imported = gw.capture(loss, x)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


REFUSED = {
    "a further result": lambda: A * F.max_pool1d(A, 2, return_indices=True)[1].sum(),
    "further result": lambda: A * F.adaptive_max_pool1d(A, 2, return_indices=True)[1].sum(),
}
"""What no block can express, by words of the error."""


@pytest.mark.parametrize("words", REFUSED)
def test_what_no_block_can_express_is_refused(words):
    with pytest.raises(gw.UnsupportedError, match=words):
        gw.capture(lambda: total(REFUSED[words]()))


RECORDED = {
    "as_strided": lambda: (A * 1)[1:].as_strided((2,), (1,), 0),
    "cholesky_solve": lambda: torch.cholesky_solve(A, SQUARE),
    "scatter_reduce": lambda: A * picks(9, 4).scatter_reduce(0, SPREAD[0], SPREAD[1], "mean"),
    "linalg_norm": lambda: torch.linalg.norm(A, 2),
    "erfinv": lambda: torch.erfinv(P),
    "embedding": lambda: F.embedding(CELLS, A, scale_grad_by_freq=True),
    "embedding_bag": lambda: F.embedding_bag(CELLS, A, mode="sum", scale_grad_by_freq=True),
}
"""What has the numbers of the run alone."""


@pytest.mark.parametrize("name", RECORDED)
def test_what_no_block_can_express_is_recorded(name):
    imported = gw.capture(lambda: total(RECORDED[name]()))
    kinds = [block.type_name() for block in imported.diagram.main.blocks.values()]
    assert "Recorded" in kinds or name == "scatter_reduce"  # of constants: one itself
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


def test_random_numbers_are_blocks_and_checked_with_those_that_were_drawn():
    def loss(x):
        noisy = A * x + torch.randn_like(A) * 0.1
        return (F.dropout(noisy, 0.3) * torch.bernoulli(P.detach()) + torch.rand(3, 4)).sum()

    imported = gw.capture(loss, numbers(3, 4))
    kinds = [block.type_name() for block in imported.diagram.main.blocks.values()]
    assert {"RandomNormal", "RandomUniform"} <= set(kinds)
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch: the loss"), imported.remarks


LABELS = torch.tensor([0, 0, 1, 1, 2, 2, 2, 0])
E = trained(8, 4)


def pairs(labels: torch.Tensor, dtype: torch.dtype = torch.bool) -> torch.Tensor:
    """Which different rows have the same label, written in place."""
    same = (labels[:, None] == labels[None]).to(dtype).clone()
    same.fill_diagonal_(0)
    return same


SIZED = {
    "where": lambda y: [E[i] for i in torch.where(pairs(y, torch.uint8))],
    "nonzero": lambda y: [E[pairs(y).nonzero()[:, 1]]],
    "nonzero as a tuple": lambda y: [E[i] for i in pairs(y).nonzero(as_tuple=True)],
    "argwhere": lambda y: [E[torch.argwhere(y == 2)[:, 0]]],
    "nonzero_static": lambda y: [E[torch.nonzero_static(y, size=n)[:, 0]] for n in (3, 7)],
    "a mask": lambda y: [E[pairs(y).any(1) & (y > 0)], E.masked_select((y == 1)[:, None])],
    "unique": lambda y: [
        E[torch.unique(y)],
        *(E[: len(x)] * x[:, None] for x in torch.unique(y, return_inverse=True)),
        *(E[: len(x)] * x[:, None] for x in torch.unique(y, return_counts=True)),
        E[: len(torch.unique(y > 0))],
    ],
    "unique rows": lambda y: [
        E[: x.shape[0], :2] * x.reshape(len(x), -1)
        for x in torch.unique(pairs(y), return_inverse=True, return_counts=True, dim=0)
        if x.ndim == 1
    ],
    "unique in a row": lambda y: [
        E[torch.unique_consecutive(y)],
        *(E[: len(x)] * x[:, None] for x in torch.unique_consecutive(y, True, True)),
        E[:, : torch.unique_consecutive(pairs(y), dim=1).shape[1]],
    ],
    "bincount": lambda y: [
        E[:3] * torch.bincount(y)[:, None],
        E[:5] * torch.bincount(y, E[:, 0].detach(), minlength=5)[:, None],
    ],
    "repeat_interleave": lambda y: [E.repeat_interleave(y, 0)],
    "tensor_split": lambda y: [torch.tensor_split(E, y[2:5].cpu())[1]],
}
"""Results whose sizes follow from numbers of the run."""


@pytest.mark.parametrize("name", SIZED)
def test_what_numbers_of_the_run_give_a_size_agrees_and_is_said_to_hold_for_them(name):
    imported = gw.capture(lambda y: total(*SIZED[name](y)), LABELS)
    assert not gw.check(imported.diagram)
    assert "specialised" in {remark.kind for remark in imported.remarks}
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch: the"), imported.remarks[-1]


def test_a_number_of_the_run_that_decides_a_shape_is_said_to():
    (remark,) = [r for r in gw.capture(lambda: A[A > 0].sum()).remarks if r.kind == "specialised"]
    assert "mask" in remark.text and remark.written.startswith("test_operators.py:")


def halved_together(y):
    torch._foreach_mul_([y], 0.5)


def clipped(w):
    y = w * 2
    w.data.clamp_(-0.5, 0.5)
    return y, w * 3


def averaged(w):
    y = w * 2
    mean = w.detach()
    mean.mul_(0.9).add_(B * 0.1)
    return y, w * mean


def detached_before(w):
    mean = (w * 1).detach()
    shown, y = w.detach(), w * 2
    before = y.detach()
    y.mul_(3)
    with torch.no_grad():
        w.mul_(2)
    return w * shown, y * before, w * mean


def looked_up_short(w):
    indices = torch.tensor([[1, 2], [1, 0]])
    y = w * 2
    return y, F.embedding(indices, w, max_norm=0.5), F.embedding(indices, w * 2, max_norm=0.7)


def bags_of_short(w):
    y = w * 2
    bags = torch.tensor([1, 2, 0]), w, torch.tensor([0, 2])
    return y, F.embedding_bag(*bags, max_norm=0.5, norm_type=1.0)


def shown_in_part(w):
    y = w * 2
    shown = y[0].detach().sum() + y.t().detach().sum()
    y.mul_(3)
    return y, w * shown


ELSEWHERE = (shown_in_part, clipped, averaged, detached_before, looked_up_short, bags_of_short)


@pytest.mark.parametrize("program", ELSEWHERE)
def test_what_is_written_to_a_detached_tensor_is_in_the_tensor_itself(program):
    w = trained(3, 4)
    imported = gw.capture(lambda: total(*program(w)))
    assert not [remark for remark in imported.remarks if remark.kind == "lost"]
    assert imported.remarks[-1].text.startswith("Agrees with PyTorch: the"), imported.remarks[-1]


UNKNOWN = {
    "the tensor itself": ("lgamma_", lambda y: y.lgamma_()),
    "a view": ("lgamma_", lambda y: y[1:].lgamma_()),
    "a view of a view": ("lgamma_", lambda y: y.t()[0].lgamma_()),
    "detached": ("lgamma_", lambda y: y.detach().lgamma_()),
    "a view without blocks": ("as_strided", lambda y: y[1:].as_strided((2,), (1,), 0).zero_()),
    "a parameter made of it": (
        "lgamma_",
        lambda y: nn.Parameter(y.detach(), requires_grad=False).lgamma_(),
    ),
    "a list": ("_foreach_mul_", halved_together),
}
"""Changes in place that have no blocks: the operators, and how they are called."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_written_to_without_blocks_is_recorded_or_refused_in_every_view(name):
    operator, write = UNKNOWN[name]

    def loss():
        y = A * 2
        flat = y.view(-1)
        write(y)
        return flat.sum()

    try:
        imported = gw.capture(loss)
    except gw.UnsupportedError as error:
        assert operator in str(error)
    else:
        assert imported.remarks[-1].text.startswith("Agrees with PyTorch"), imported.remarks[-1]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("reduce", [torch.var, torch.std, lambda x: torch.var_mean(x)[0]])
def test_the_variance_of_one_number_is_said_to_be_none(reduce):
    one, two = trained(1), trained(2)
    (text,) = [r.text for r in gw.capture(lambda: reduce(one)).remarks if "variance" in r.text]
    assert "0 ÷ 0" in text and "unbiased=False" in text
    assert [r for r in gw.capture(lambda: reduce(two)).remarks if "variance" in r.text] == []
    biased = gw.capture(lambda: torch.var(one, unbiased=False))
    assert [r for r in biased.remarks if "variance" in r.text] == []


def test_a_mean_over_labels_that_are_all_ignored_is_said_to_be_over_none():
    logits = trained(2, 3)

    def said(labels, reduction="mean"):
        labels = torch.tensor(labels)
        imported = gw.capture(lambda: F.cross_entropy(logits, labels, reduction=reduction))
        return [r for r in imported.remarks if "No label counts" in r.text]

    assert len(said([-100, -100])) == 1
    assert said([-100, 1]) == said([-100, -100], "sum") == []
