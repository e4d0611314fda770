import itertools

import pytest

from gradwire.blocks.nearest import did_you_mean, nearest


def test_the_most_similar_names_come_first():
    assert nearest("gradiant", ["stop_gradient", "gradient", "sum"])[0] == "gradient"
    assert did_you_mean("gradiet", ["gradient", "gradients"]) == (
        "Did you mean gradient or gradients?"
    )


def test_there_may_be_none():
    assert did_you_mean("zzz", ["gradient"]) is None
    assert did_you_mean("zzz", []) is None


def test_what_is_not_text_is_no_name():
    for name in (None, 3.5, slice(None)):
        with pytest.raises(TypeError):
            did_you_mean(name, ["gradient"])


def test_only_so_many_names_are_compared():
    endless = (f"block{i}.out" for i in itertools.count())
    assert nearest("blok7.out", endless)[0] == "block7.out"


def test_long_names_are_not_compared():
    assert nearest("a" * 100_000, ["a" * 100_000, "a" * 200]) == ["a" * 200]
