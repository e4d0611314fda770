"""Random numbers: the published bits, the right distributions, and the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from tests.runtime.calculus.tracing import Array, compute, leaf

# Source: the kat_vectors file of Random123, threefry2x32 of 20 rounds.
PUBLISHED = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
dtypes = pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
MANTISSA = {"float16": 10, "float32": 23, "float64": 52}


def draw(law: str, shape: Any, seed: int = 0, dtype: str = "float32", step: int = 0) -> Array:
    trace = Trace()
    value = getattr(trace.xp, f"random_{law}")(shape, seed, dtype)
    assert trace.step is not None
    return compute(value, {trace.step: np.array(step, "uint32")})


@pytest.mark.parametrize(("key", "counter", "result"), PUBLISHED)
def test_threefry_gives_the_published_bits(key: Any, counter: Any, result: Any) -> None:
    trace = Trace()
    x, y = (leaf(trace, (), "uint32") for _ in range(2))
    bound = {v: np.array(word, "uint32") for v, word in zip((x, y), counter, strict=True)}
    out = trace.xp.threefry(key, x, y)
    assert tuple(int(compute(value, bound)) for value in out) == result


def test_uniform_is_the_high_bits_of_the_counters() -> None:
    first = draw("uniform", (3,), seed=0)
    assert first[0] == (0x6B200159 >> 9) / 2**23
    assert draw("uniform", (3,), seed=0, dtype="float16")[0] == (0x6B200159 >> 22) / 2**10
    wide = draw("uniform", (3,), seed=0, dtype="float64")
    assert wide[0] == 0x6B200159 / 2**32 + (0x99BA4EFE >> 12) / 2**52


@dtypes
def test_uniform_lies_on_its_grid(dtype: str) -> None:
    numbers = draw("uniform", (50, 1000), dtype=dtype)
    assert numbers.dtype == dtype and numbers.shape == (50, 1000)
    assert numbers.min() >= 0 and numbers.max() < 1
    steps = numbers.astype(float) * 2.0 ** MANTISSA[dtype]
    np.testing.assert_array_equal(steps, np.round(steps))
    expected = 2 ** MANTISSA[dtype] if dtype == "float16" else numbers.size
    assert len(np.unique(numbers)) > 0.98 * expected


def test_float64_is_finer_than_float32() -> None:
    steps = draw("uniform", (1000,), dtype="float64") * 2.0**32
    assert np.mean(steps == np.round(steps)) < 0.01


@pytest.mark.night
@dtypes
def test_moments(dtype: str) -> None:
    n = 200_000
    u = draw("uniform", (n,), 3, dtype).astype(float)
    z = draw("normal", (n,), 3, dtype).astype(float)
    uniform = [np.mean(u**k) for k in (1, 2, 3)]
    np.testing.assert_allclose(uniform, [1 / 2, 1 / 3, 1 / 4], atol=5 / np.sqrt(n))
    normal = [np.mean(z**k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(normal, [0, 1, 0, 3], atol=30 / np.sqrt(n))
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(n)
    assert abs(np.corrcoef(z[: n // 2], z[n // 2 :])[0, 1]) < 7 / np.sqrt(n)
    assert np.isfinite(z).all() and np.abs(z).max() > 3.5


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_normal_numbers_are_rounded_from_float64(dtype: str) -> None:
    """So that they don't depend on how a system computes a cosine of float32."""
    lengths, turns = draw("uniform", (2, 2000), 3).astype(float)
    radius = np.sqrt(-2 * np.log(1 - lengths))
    pairs = [radius * np.cos(2 * np.pi * turns), radius * np.sin(2 * np.pi * turns)]
    wanted = np.concatenate(pairs).astype("float32").astype(dtype)
    assert draw("normal", (4000,), 3, dtype).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_seed_and_step_decide_all(law: str) -> None:
    again = draw(law, (64,), 5, step=2)
    np.testing.assert_array_equal(draw(law, (64,), 5, step=2), again)
    for other in (draw(law, (64,), 6, step=2), draw(law, (64,), 5, step=3),
                  draw(law, (64,), 5 + 2**32, step=2), draw(law, (64,), -5, step=2)):  # fmt: skip
        assert np.mean(other == again) < 0.05


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("law", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0), 4])
def test_shapes(law: str, shape: Any) -> None:
    lengths = (shape,) if isinstance(shape, int) else shape
    assert draw(law, shape).shape == lengths


def test_uniform_begins_alike_whatever_the_shape() -> None:
    np.testing.assert_array_equal(draw("uniform", (2, 3)).ravel(), draw("uniform", (100,))[:6])
