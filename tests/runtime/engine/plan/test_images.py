"""What is computed for each place of images, wherever these lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.windows.native_convolutions import (
    Planes,
    copying,
    interleaving,
)

pytest.importorskip("llvmlite")


def drawn(*shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [3, 8, 21, 64])
def test_parts_of_images_with_gaps(
    columns: int, dtype: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planes that are equally far apart or not, of rows with gaps; beside them nothing changes."""
    monkeypatch.setattr(machine, "lanes", lambda: lanes)
    for channels in (slice(None), slice(1, 3)):
        whole = drawn(2, 4, 5, 2 * columns + 1, dtype=dtype)
        image = whole[:, channels, ::2, 1:]
        beside = np.full((2, 4, 3, 2 * columns + 4), 7, dtype)
        out = beside[:, channels, :, 1:-3]
        planes = Planes(dtype, (*image.shape[:3], columns))
        even, odd = (planes.read(image, 2, i) for i in (0, 1))
        for i, how in enumerate(("add", "subtract")):
            planes.write(planes.put(how, even, odd), out, 2, i)
        expected = beside.copy()
        step = planes.step()
        step()
        pair = image[..., ::2], image[..., 1::2]
        expected[:, channels, :, 1:-3:2], expected[:, channels, :, 2:-3:2] = (
            pair[0] + pair[1],
            pair[0] - pair[1],
        )
        np.testing.assert_array_equal(beside, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_second_column_is_copied_by_machine_code(dtype: str) -> None:
    whole = drawn(2, 3, 9, 43, dtype=dtype)
    for source in (whole[:, :, ::2, ::2], whole[:, 1:, 1:, 1:-1:2], whole[:, :1, :, 3::2]):
        memory = np.full((2, 3, 9, 24), 7, dtype)
        out = memory[:, : source.shape[1], : source.shape[2], 1 : source.shape[3] + 1]
        expected = memory.copy()
        expected[:, : source.shape[1], : source.shape[2], 1 : source.shape[3] + 1] = source
        step = copying(out, source)
        assert isinstance(step, Job)
        step()
        np.testing.assert_array_equal(memory, expected)


def test_constants_and_columns_that_lie_backwards() -> None:
    image, out = drawn(2, 3, 4, 11), np.empty((2, 3, 4, 11), np.float32)
    planes = Planes("float32", image.shape)
    numbers = planes.read(image[..., ::-1]), planes.constant(0.5)
    planes.write(planes.put("add", *numbers), out)
    planes.step()()
    np.testing.assert_array_equal(out, image[..., ::-1] + np.float32(0.5))


def test_images_in_turns_have_no_negative_zeros() -> None:
    phases = drawn(2, 2, 3, 4, 9)
    phases[0, :, :, :, ::2] = -0.0
    out = np.empty((2, 3, 8, 18), np.float32)
    interleaving(out[:, :, 1::2], phases)()
    for i, phase in enumerate(phases):
        np.testing.assert_array_equal(out[:, :, 1::2, i::2], phase)
    assert not np.signbit(out[:, :, 1::2][out[:, :, 1::2] == 0]).any()
