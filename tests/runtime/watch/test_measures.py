"""Norms of gradients: as PyTorch's, and 0 or infinite only where the elements are."""

from __future__ import annotations

import math

import pytest

from gradwire.runtime.watch import watch

torch = pytest.importorskip("torch")
norms = pytest.importorskip("gradwire.runtime.watch.torch.measures").norms

SHAPES = ((3, 4), (5,), (), (2, 2, 2), (0,))


def made(dtype, shapes=SHAPES, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype) * scale for shape in shapes]


@pytest.mark.parametrize("shapes", [SHAPES, SHAPES[:-1], [(700, 700), (3,)]], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_are_those_of_pytorch(dtype, shapes):
    tensors = made(getattr(torch, dtype), shapes)
    wide = torch.complex128 if tensors[0].is_complex() else torch.float64
    expected = [float(torch.linalg.vector_norm(x.to(wide))) for x in tensors]
    assert norms(tensors) == pytest.approx(expected, rel=1e-4)  # of many, PyTorch sums in float32


def test_of_nothing_are_none():
    assert norms([]) == []


def test_of_sparse_gradients_count_what_comes_twice_once():
    places, numbers = [[1, 1, 0]], [1.0, 2.0, 4.0]
    twice = torch.sparse_coo_tensor(places, numbers, (3,), check_invariants=True)
    assert norms([twice, torch.ones(4)]) == [5.0, 2.0]


def test_of_tensors_of_several_dtypes():
    assert norms([torch.ones(4), torch.ones(9).double(), torch.ones(16).half()]) == [2, 3, 4]


def test_keep_no_graph():
    x = torch.ones(4, requires_grad=True)
    assert norms([x * 2, x]) == [4, 2]


@pytest.mark.parametrize("number", [10, 400_000], ids=["few", "many"])
@pytest.mark.parametrize(
    "dtype, size", [("float32", 1e-40), ("float32", 1e-30), ("float32", 1e30),
                    ("float64", 1e-300), ("float64", 1e300)]
)  # fmt: skip
def test_of_tiny_and_large_numbers_are_neither_0_nor_infinite(dtype, size, number):
    x = torch.full((number,), size, dtype=getattr(torch, dtype))
    assert norms([x, torch.zeros(3, dtype=x.dtype)]) == pytest.approx(
        [float(x[0]) * math.sqrt(number), 0.0], rel=1e-5
    )


@pytest.mark.parametrize("number", [10, 400_000], ids=["few", "many"])
@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_of_what_is_not_finite_is_not(bad, number):
    x = torch.ones(number)
    x[7] = bad
    assert not math.isfinite(norms([x])[0])


def test_a_gradient_whose_square_is_0_is_not_said_to_be_0():
    model = torch.nn.Linear(600, 600)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with watch(model, optimizer, quiet=True) as watched:
        for _ in range(8):
            optimizer.zero_grad()
            (model(torch.ones(2, 600)).sum() * 1e-30).backward()
            optimizer.step()
    assert not [found for found in watched.found if found.trouble.name == "ZERO"]
    assert 0 < watched.sizes["weight"] < 1e-29
