"""Lists of paths as they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.path_lists import listed
from gradwire.blocks.paths import path_text
from tests.blocks.test_paths import PATHS


@given(st.lists(PATHS.filter(bool), max_size=4))
def test_paths_of_any_keys_can_be_listed_with_commas(paths: list[tuple[str, ...]]) -> None:
    texts = [path_text(path) for path in paths]
    assert list(listed(", ".join(texts))) == texts


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("", ()),
        ("[]", ()),
        ("a", ("a",)),
        (" a , b/c ", ("a", "b/c")),
        ("[a, b]", ("a", "b")),
        ([1, "b"], ("1", "b")),
        (2, ("2",)),
    ],
)
def test_what_is_typed_becomes_a_list(given: object, paths: tuple[str, ...]) -> None:
    assert listed(given) == paths
