"""Each meaning against PyTorch."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import products
from gradwire.runtime.interchange.importing.stage import Stage
from tests.runtime.interchange.importing.meanings.differing import Fixed, agrees, functions

DRAW = np.random.default_rng(0)
A, B, C = (DRAW.standard_normal(shape).astype("f4") for shape in ((2, 3, 4), (2, 4, 3), (4, 4)))
Q, K, V = (DRAW.standard_normal((2, 2, n, 3)).astype("f4") for n in (4, 5, 5))
SQUARE = (np.eye(4) + C / 8).astype("f4")
MASK = DRAW.random((4, 5)) > 0.3
MASK[:, 0] = True


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    attention = torch.nn.functional.scaled_dot_product_attention
    over = {
        "matrices": (A, B[0], ((2,), (0,)), ((), ())),
        "one of each": (A, B, ((2,), (1,)), ((0,), (0,))),
        "turned": (A, B, ((1,), (2,)), ((0,), (0,))),
        "several": (A, B, ((1, 2), (2, 1)), ((0,), (0,))),
        "an inner batch": (A, B, ((1,), (2,)), ((2,), (1,))),
        "vectors": (C[0], C[1], ((0,), (0,)), ((), ())),
    }
    sums = ("bij,jk->bik", "bij,bjk->bik", "bji,bkj->bik", "bij,bji->b", "xij,yji->jxy", "i,i->")
    return {
        **{f"einsum {text}": (
            lambda *x, text=text: products.einsum(text, x),
            lambda *x, text=text: torch.einsum(text, *x), *arrays,
        ) for text, *arrays in (
            ("bij, bjk", A, B), ("...i,ij->...j", A, C), ("ii->i", C), ("...ii", A[:, :, :3]),
            ("i...,i...", A, A),
        )},
        **{f"contract {name}": (
            partial(products.contract, over=axes, batch=batch),
            partial(torch.einsum, text), a, b,
        ) for (name, (a, b, axes, batch)), text in zip(over.items(), sums, strict=True)},
        "solve": (products.solve, torch.linalg.solve, SQUARE, SQUARE[:, :2].copy()),
        "solve for a vector": (products.solve, torch.linalg.solve, SQUARE, SQUARE[:, 0].copy()),
        "solve_right": (
            products.solve_right, partial(torch.linalg.solve, left=False), SQUARE, A,
        ),
        **{f"triangular_solve {upper}": (
            partial(products.triangular_solve, upper=upper, unitriangular=True),
            partial(torch.linalg.solve_triangular, upper=upper, unitriangular=True), SQUARE, B,
        ) for upper in (False, True)},
        "triangular_solve turned": (
            partial(products.triangular_solve, upper=True, left=False, transpose=True),
            lambda a, b: torch.linalg.solve_triangular(a.T, b, upper=False, left=False), SQUARE, A,
        ),
        "by_head": (
            partial(products.by_head, heads=2),
            lambda x: x.unflatten(2, (2, 2)).transpose(1, 2), A,
        ),
        "attention": (
            partial(products.attention, scale=0.3), partial(attention, scale=0.3), Q, K, V,
        ),
        "attention in parts": (
            partial(products.attention, causal=True, dropped=lambda weights: weights * 2.0),
            lambda *x: attention(*x, is_causal=True) * 2, Q, K, V,
        ),
        "attention, masked in parts": (
            partial(products.attention, dropped=lambda weights: weights * 2.0),
            lambda *x: attention(*x[:3], attn_mask=x[3]) * 2, Q, K, V, Fixed(MASK),
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    found = cases(pytest.importorskip("torch"))
    assert {name.split()[0].strip(",") for name in found} == functions(products)
    for name, (meaning, reference, *arrays) in found.items():
        agrees(name, meaning, reference, arrays)


def test_an_einsum_has_a_term_for_each_value():
    with pytest.raises(UnsupportedError, match="2 terms for 1 inputs"):
        products.einsum("ij,jk", [Stage().input("x", C)])
