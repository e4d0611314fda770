"""Many cases in one test, of which each is checked; and cases that are left for the night."""

from __future__ import annotations

import pytest

from tests.together import together


def test_every_failure_is_raised_with_its_case():
    tried = []

    @together(("a", "b"), [(1, 1), (1, 2), (3, 3), (3, 4)], ids=["one", "two", "three", "four"])
    def check(a: int, b: int) -> None:
        tried.append((a, b))
        assert a == b

    with pytest.raises(ExceptionGroup, match="2 of 4 cases") as caught:
        check()
    assert [x.__notes__ for x in caught.value.exceptions] == [["case: two"], ["case: four"]]
    assert len(tried) == 4


def test_no_case_is_an_error():
    with pytest.raises(AssertionError, match="no case"):
        together("a", [])


@together("a", [1, 2])
@together("b", [3, 4])
def test_fixtures_are_given_to_every_case(tmp_path, a, b):
    (tmp_path / f"{a}{b}").touch()
    assert len([*tmp_path.iterdir()]) == 2 * (a - 1) + b - 2


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("case", range(7))
def test_one_case_in_so_many_is_not_for_the_night(request, case):
    at_night = request.node.get_closest_marker("night") is not None
    assert at_night == bool(case % 3)
