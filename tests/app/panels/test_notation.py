import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gradwire.app.panels.notation import glimpse, parse, written
from gradwire.blocks.values import Tensor


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        (" 3. ", 3.0),
        (".5", 0.5),
        ("−2", -2),  # as the editor writes it
        ("-1e-3", -0.001),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("[[1, 2],\n [3, 4]]", [[1, 2], [3, 4]]),
        ("(1, 2)", [1, 2]),
        ("1, 2", [1, 2]),
        ("1,", [1]),
        ("[]", []),
        ("true", True),
        ("[NaN, -inf]", ["nan", "-inf"]),
        ("none", None),
        ("", None),
    ],
)
def test_what_people_write_is_read(text, value):
    read = parse(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["abc", "[1, 2", "1 2", "[1,,2]", "]", "[1]2", "(1]", "1 +"])
def test_what_is_no_value_comes_back_as_it_was(text):
    assert parse(text) == text


def test_endless_brackets_are_no_value():
    text = "[" * 100_000
    assert parse(text) == text


@given(
    arrays.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3),
    )
)
def test_reading_what_was_written_gives_the_same_tensor(array):
    tensor = Tensor(array)
    again = Tensor(parse(written(tensor))).array.astype(array.dtype)
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes() or np.array_equal(again, array, equal_nan=True)


def test_a_matrix_is_written_one_row_a_line():
    assert written(Tensor([[1, 2], [3, 4]])) == "[[1, 2],\n [3, 4]]"


def test_a_glimpse_is_one_line():
    assert glimpse(np.array([[1.0, 5.0]])) == "[[1, 5]]"
    assert glimpse(np.array(0.123456)) == "0.1235"
    assert glimpse(np.arange(100.0).reshape(10, 10)) == "[0, 1, 2, 3, 4, 5, …]"
