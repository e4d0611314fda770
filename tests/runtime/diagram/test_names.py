from itertools import islice

import pytest

from gradwire.blocks.names import MAX_LENGTH, FreshNames, snake_case
from gradwire.runtime.diagram import Page, fresh_name, fresh_names, is_name
from tests.runtime.diagram.drawing import make


@pytest.mark.parametrize("name", ["a", "W1", "E_step_out", "x y", "θ̂", "x'", "mul-2", "a" * 100])
def test_names_that_can_be(name):
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a.b",
        "a/b",
        "a:b",
        "a=b",
        " a",
        "a ",
        "a\nb",
        "a\u00a0b",
        "\ud800",
        "a" * (MAX_LENGTH + 1),
    ],
)
def test_names_that_can_not_be(name):
    assert not is_name(name)


@pytest.mark.parametrize(
    ("kind", "snake"),
    [
        ("Mul", "mul"),
        ("StopGradient", "stop_gradient"),
        ("LogSumExp", "log_sum_exp"),
        ("Conv2D", "conv2d"),
        ("MaxPool2D", "max_pool2d"),
        ("GELU", "gelu"),
        ("IsNaN", "is_nan"),
    ],
)
def test_snake_case(kind, snake):
    assert snake_case(kind) == snake


def test_fresh_names_count_up_and_leave_out_what_is_taken():
    assert list(islice(fresh_names("Mul", {"mul2"}), 3)) == ["mul1", "mul3", "mul4"]
    assert list(islice(fresh_names("Arctan2", ()), 2)) == ["arctan2_1", "arctan2_2"]
    assert list(islice(fresh_names("Loss", ()), 3)) == ["loss", "loss2", "loss3"]
    assert list(islice(fresh_names("Loss", {"loss"}), 2)) == ["loss2", "loss3"]


def test_a_fresh_name_is_free_on_the_page():
    assert fresh_name(Page(), "Mul") == "mul1"
    assert fresh_name(Page({"mul1": make("Mul")}), "Mul") == "mul2"


def test_many_fresh_names_are_those_that_are_found_one_by_one():
    fresh = FreshNames(["mul2", "x"])
    assert [fresh.of("Mul") for _ in range(3)] == ["mul1", "mul3", "mul4"]
    assert [fresh.like(name) for name in ("x", "y", "x", "x_2")] == ["x_2", "y", "x_3", "x_2_2"]
    assert [fresh.like(name, "Mul") for name in ("y", "z")] == ["mul5", "z"]
