"""Numbers in exported source: each is the one of the diagram, at both ends of every dtype too."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.interchange.export.code import number_text
from gradwire.runtime.interchange.export.source import export_source

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def extremes(dtype):
    """The numbers at the ends of a dtype, and its special ones."""
    if dtype == "bool":
        return [False, True]
    if dtype not in FLOATS:
        return [np.iinfo(dtype).min, np.iinfo(dtype).max]
    info = np.finfo(dtype)
    ends = [info.min, info.max, info.tiny, info.smallest_subnormal, info.eps]
    return [*ends, np.nextafter(info.max, info.tiny), -0.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_the_text_of_a_number_stands_for_it_and_fits_its_dtype(dtype):
    for number in extremes(dtype):
        array = np.array(number, dtype)
        meant = eval(number_text(array))
        assert np.array(meant, dtype).tobytes() == array.tobytes()
        if dtype in FLOATS and np.isfinite(array):
            assert abs(meant) <= float(np.finfo(dtype).max)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("system", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_least_number_masks_in_every_system(request, system, dtype):
    """As attention masks scores: PyTorch refuses a number beyond the range of the dtype."""
    if system == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    if system == "jax":
        request.getfixturevalue("jax_in_float64")
    x = gw.variable("x", [1.0, 2.0, 3.0], dtype=dtype)
    least = float(np.finfo(dtype).min)
    y = gw.softmax(gw.where(x > 1.5, x, least)) + gw.maximum(x, least) + gw.minimum(x, -least)
    session = gw.Session(gw.build(gw.loss(gw.sum(y), name="loss")))
    losses = losses_of(session, system)
    wanted = session.run().values["loss.out"]
    np.testing.assert_allclose(
        losses["loss.out"], wanted, rtol=2e-3 if dtype == "float16" else 1e-6
    )


def sums_of_extremes(dtype):
    """By name: the loss of an array full of one number, and of it as an operand of another."""
    w = gw.variable("w", 1.0, dtype=dtype if dtype in FLOATS else "float32")
    for place, number in enumerate(np.array(extremes(dtype), dtype)):
        full = gw.constant(f"full{place}", np.full(9, number), dtype=dtype)
        if dtype in FLOATS:
            yield gw.loss(w * gw.reshape(gw.slice(full, begin=[0], size=[1]), shape=[]))
            yield gw.loss(gw.where(gw.greater(w, 2.0), w, float(number)))
            continue
        one = gw.constant(f"one{place}", number, dtype=dtype)
        yield gw.loss(gw.mean(gw.where(gw.equal(full, one), w, 0.0)))
        literal = bool(number) if dtype == "bool" else int(number)
        yield gw.loss(gw.mean(gw.where(gw.equal(full, literal), w, 0.0)))


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("system", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_the_ends_of_every_dtype_arrive_in_every_system(request, system, dtype):
    if system == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
        if dtype == "uint64":
            pytest.skip("PyTorch computes with no uint64, and the export says so")
    if system == "jax":
        request.getfixturevalue("jax_in_float64")
    session = gw.Session(gw.build(*sums_of_extremes(dtype)))
    with np.errstate(all="ignore"):
        wanted = session.run().values
        losses = losses_of(session, system)
    for name, loss in losses.items():
        assert loss.tobytes() == wanted[name].tobytes() or is_flushed(system, wanted[name], loss), (
            name
        )


def is_flushed(system, wanted, found):
    """Whether JAX took a number for 0 that is smaller than the least normal one."""
    return system == "jax" and found == 0 and abs(wanted) < np.finfo(wanted.dtype).tiny


def losses_of(session, system):
    """The losses that exported source computes, by name."""
    names = {}
    exec(export_source(session, system).source, names)
    if system == "torch":
        (model,) = (m for m in names.values() if isinstance(m, type) and m.__module__ != "torch")
        return {name: loss.detach().numpy() for name, loss in model()().items()}
    return {name: np.asarray(x) for name, x in names["loss_and_gradients"]()[0].items()}
