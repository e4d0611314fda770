"""Variable, Constant, Input: what they hold, draw, refuse and write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradwire.blocks import DTYPES
from gradwire.blocks.errors import ParameterError
from gradwire.blocks.library.sources import Constant, Input, Variable


def test_variable_holds_its_value_in_its_dtype() -> None:
    variable = Variable(value=[[1, 2]])
    assert variable.open_shape == (1, 2)
    assert variable.data((1, 2)).dtype == np.float32
    assert variable == Variable(value=np.array([[1.0, 2.0]]))
    assert variable.to_record() == {"value": [[1, 2]]}


def test_value_that_is_not_whole_keeps_its_digits() -> None:
    assert Variable(value=[0.1, 2]).to_record() == {"value": [0.1, 2.0]}
    assert Variable(value=[-0.0]).to_record() == {"value": [-0.0]}
    assert Variable(value=["nan", "inf"]).to_record() == {"value": ["nan", "inf"]}


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
        )
    )
)
def test_records_keep_every_bit(array: np.ndarray) -> None:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)  # one kind of NaN
    for cls in (Variable, Constant, Input):
        block = cls(value=array, dtype=array.dtype.name)
        again = cls.from_record(block.to_record())
        assert again == block
        assert again.value.array.dtype == array.dtype
        np.testing.assert_array_equal(again.value.array, array)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"value": [1, 2], "shape": [3]}, r"shape is 3, but the value has shape \(2,\)"),
        ({"value": [1, 2], "shape": [None, 2]}, r"shape is \?×2"),
        ({"value": [1.5], "dtype": "int64"}, "1.5 is not representable as int64"),
        ({"value": [300], "dtype": "uint8"}, "300 is not representable as uint8"),
        ({"value": [-1], "dtype": "uint8"}, "-1 is not representable as uint8"),
        ({"value": [2], "dtype": "bool"}, "2 is not representable as bool"),
        ({"value": ["nan"], "dtype": "int32"}, "nan is not representable as int32"),
        ({"value": [1e10], "dtype": "float16"}, "not representable as float16"),
        ({"value": [[1], [2, 3]]}, "rows of different lengths"),
        ({"shape": [-1]}, "Expected at least 0, got -1"),
        ({"dtype": "complex64"}, "Parameter 'dtype' of Variable is wrong"),
        ({"dtype": "int8"}, "choose zeros, ones or constant"),
        ({"dtype": "int8", "initialiser": "constant", "scale": 0.5}, "0.5 is not representable"),
        ({"seed": -1}, "Parameter 'seed"),
        ({"initialiser": "magic"}, "Parameter 'initialiser' of Variable is wrong"),
    ],
)
def test_variable_refuses(record: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Variable.from_record(record)


def test_shape_with_open_lengths_fits_the_value() -> None:
    assert Variable(value=[[1, 2]], shape=(None, 2)).open_shape == (1, 2)
    assert Variable(shape=(None, 2)).open_shape == (None, 2)
    assert Variable().open_shape is None


def test_infinity_and_nan_are_values() -> None:
    data = Variable(value=["inf", "-inf", "nan"], dtype="float16").data((3,))
    np.testing.assert_array_equal(data, np.array([np.inf, -np.inf, np.nan], np.float16))


@pytest.mark.parametrize(("dtype", "trainable", "wants"), [
    ("float32", True, True), ("float16", True, True), ("float32", False, False),
    ("int64", True, False), ("bool", True, False),
])  # fmt: skip
def test_wants_gradient(dtype: str, trainable: bool, wants: bool) -> None:
    assert Variable(value=1, dtype=dtype, trainable=trainable).wants_gradient is wants


def test_constant_and_input_want_no_gradient() -> None:
    assert not Constant(value=1.0).wants_gradient
    assert not Input(value=1.0).wants_gradient


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(0.5, "float32"), ([1, 2], "int64"), (True, "bool"), (np.float64(1), "float32")],
)
def test_constant_dtype_by_content(value: object, dtype: str) -> None:
    assert Constant(value=value).leaf_dtype == dtype
    assert Constant(value=value).data(()).dtype.name == dtype


def test_constant_writes_floats_as_floats() -> None:
    assert Constant(value=[1.0, 2.0]).to_record() == {"value": [1.0, 2.0]}
    assert Constant(value=[1.0], dtype="float64").to_record() == {"value": [1], "dtype": "float64"}


def test_constant_without_elements_keeps_its_dtype() -> None:
    empty = Constant(value=np.zeros((0, 3), np.int64))
    assert empty.to_record() == {"value": {"shape": [0, 3]}, "dtype": "int64"}
    assert Constant.from_record(empty.to_record()) == empty
    assert Constant(value=[]).leaf_dtype == "float32"


def test_input_must_be_fed_without_value() -> None:
    assert Input(shape=(None, 3)).data((2, 3)) is None
    np.testing.assert_array_equal(Input(value=[1, 2]).data((2,)), np.array([1, 2], np.float32))


def test_draws_are_deterministic() -> None:
    shape = (3, 4)
    by_path = Variable(shape=shape)
    assert np.array_equal(by_path.data(shape, "W1"), by_path.data(shape, "W1"))
    assert not np.array_equal(by_path.data(shape, "W1"), by_path.data(shape, "W2"))
    seeded = Variable(shape=shape, seed=5)
    assert np.array_equal(seeded.data(shape, "W1"), seeded.data(shape, "W2"))
    assert not np.array_equal(seeded.data(shape), Variable(shape=shape, seed=6).data(shape))


def test_draws_do_not_depend_on_the_dtype() -> None:
    wide = Variable(initialiser="normal", seed=1, dtype="float64").data((4,))
    narrow = Variable(initialiser="normal", seed=1, dtype="float32").data((4,))
    np.testing.assert_array_equal(wide.astype(np.float32), narrow)


def test_draw_is_pinned() -> None:
    """The stream is part of what a saved diagram means: it must not move between versions."""
    drawn = Variable(initialiser="normal", seed=0, dtype="float64").data((2,))
    np.testing.assert_allclose(drawn, [-0.2059740286292238, -0.12884495093462758], rtol=1e-15)


@pytest.mark.parametrize(
    ("initialiser", "shape", "deviation"),
    [
        ("normal", (200, 300), 2.0),
        ("uniform", (200, 300), 2.0 / 3**0.5),
        ("glorot_normal", (200, 300), 2.0 * (2 / 500) ** 0.5),
        ("glorot_uniform", (200, 300), 2.0 * (2 / 500) ** 0.5),
        ("he_normal", (200, 300), 2.0 * (2 / 300) ** 0.5),
        ("he_uniform", (200, 300), 2.0 * (2 / 300) ** 0.5),
        ("he_normal", (50, 20, 5, 5), 2.0 * (2 / 500) ** 0.5),
    ],
)
def test_width_of_the_draw(initialiser: str, shape: tuple[int, ...], deviation: float) -> None:
    variable = Variable(initialiser=initialiser, scale=2.0, seed=3, dtype="float64")
    drawn = variable.data(shape)
    assert drawn.shape == shape
    assert abs(drawn.mean()) < deviation / 50
    np.testing.assert_allclose(drawn.std(), deviation, rtol=0.02)
    if initialiser.endswith("uniform"):
        assert np.abs(drawn).max() <= deviation * 3**0.5


@pytest.mark.parametrize(("initialiser", "fill"), [("zeros", 0), ("ones", 1), ("constant", 7)])
def test_fills(initialiser: str, fill: float) -> None:
    for dtype in ("float32", "int16"):
        drawn = Variable(initialiser=initialiser, scale=7.0, dtype=dtype).data((2, 2))
        np.testing.assert_array_equal(drawn, np.full((2, 2), fill, dtype))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 4), (2, 0, 3, 3)])
def test_any_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    for initialiser in ("glorot_uniform", "he_normal"):
        assert Variable(initialiser=initialiser).data(shape).shape == shape


def test_data_can_not_be_written_through() -> None:
    variable = Variable(value=[1.0])
    with pytest.raises(ValueError, match="read-only"):
        variable.data((1,))[0] = 2


@pytest.mark.parametrize("initialiser", ["uniform", "normal", "glorot_uniform", "he_normal"])
@pytest.mark.filterwarnings("error")
def test_the_widest_scale_draws_without_an_error(initialiser: str) -> None:
    source = Variable.from_record(
        {"initialiser": initialiser, "scale": 1.5e308, "dtype": "float64", "seed": 1}
    )
    assert source.data((50,)).shape == (50,)
    uniform = Variable(initialiser="uniform", scale=1.5e308, dtype="float64", seed=1).data((50,))
    assert np.isfinite(uniform).all() and uniform.min() < -1e307 and uniform.max() > 1e307


@pytest.mark.parametrize("cls", [Variable, Constant, Input])
def test_a_slider_is_kept_in_the_record(cls) -> None:
    block = cls(value=7.5, slider=[0, 5, 0.5])
    assert block.slider == (0.0, 5.0, 0.5)
    assert cls.from_record(block.to_record()) == block
    assert "slider" not in cls(value=7.5).to_record()


@pytest.mark.parametrize(
    ("slider", "reason"),
    [
        ([1, 0], "the least number of the slider, 1, is not below 0"),
        ([1, 1], "is not below"),
        ([0], "a slider is"),
        ([0, 1, 0.1, 2], "a slider is"),
        ([0, "inf"], "slider"),
        ([0, 1, 0], "the step of the slider must be above 0, at most 1"),
        ([0, 1, 1.5], "at most 1"),
    ],
)
def test_a_slider_without_sense_is_refused(slider, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        Variable(value=0.5, slider=slider)
