import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import loads
from gradwire.runtime.diagram.files import parsing
from gradwire.runtime.diagram.files.parsing import (
    TextLimits,
    first_outside,
    members,
    object_closed,
    parse,
    pieces,
    survey,
)

TEXTS = st.text(alphabet='"\\{}[],:ab1eé😀\ud800', max_size=30)
VALUES = st.recursive(
    st.none() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=15,
)


@pytest.fixture(params=[2, 4, 1 << 20], ids=str)
def piece(request, monkeypatch):
    """The size of a piece."""
    monkeypatch.setattr(parsing, "_PIECE", request.param)


def outside_of(text):
    """Which characters are outside strings, found one by one."""
    found, inside, escaped = [], False, False
    for character in text:
        if inside and not escaped and character == '"':
            inside = False
        elif not inside and character == '"':
            inside = True
            found.append(False)
            continue
        found.append(not inside)
        escaped = inside and not escaped and character == "\\"
    return found


def counts(value):
    """Commas and opening brackets of a value, and the brackets alone."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, list | dict):
        return 0, 0
    entries, containers = max(0, len(value) - 1) + 1, 1
    for item in inner:
        more = counts(item)
        entries, containers = entries + more[0], containers + more[1]
    return entries, containers


def objects_and_members(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [objects_and_members(each) for each in inner]
    objects, members = (1, len(value)) if isinstance(value, dict) else (0, 0)
    return objects + sum(a for a, _ in found), members + sum(b for _, b in found)


@pytest.mark.night
@pytest.mark.parametrize("size", [2, 4, 1 << 20])
@given(value=VALUES)
def test_strings_are_told_from_what_is_outside(size, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_PIECE", size)
        text = json.dumps(value, ensure_ascii=False)
        found = [bool(each) for piece in pieces(text) for each in piece.outside]
        assert found == outside_of(text)
        entries, containers = counts(value)
        seen = survey(text, TextLimits(100, entries, containers))
        assert seen.excess is None
        assert (seen.objects, seen.members) == objects_and_members(value)
        if containers:
            assert survey(text, TextLimits(100, entries, containers - 1)).excess[0] == "containers"
            assert survey(text, TextLimits(100, entries - 1, containers)).excess[0] == "entries"


@pytest.mark.parametrize(
    ("number", "may"),
    [("1e308", True), ("1E+5", True), ("1e-400", False), ("true", False)],
)
def test_a_number_that_may_be_infinite_is_noticed(piece, number, may):
    text = f'{{"e1e9": [0.5, {number}, 2]}}'
    seen = survey(text, TextLimits(100, 100, 100)).may_overflow
    assert seen or not may
    if parsing._PIECE > 4:
        assert seen == may


@pytest.mark.parametrize("before", [0, 50, 150, 199, 200, 300])
def test_digits_that_may_be_an_infinite_number_are_noticed_across_pieces(before, monkeypatch):
    monkeypatch.setattr(parsing, "_PIECE", 310)
    limits = TextLimits(100, 100, 100)
    assert survey("[" + " " * before + "9" * 309 + "]", limits).may_overflow
    assert not survey("[" + " " * before + '"' + "9" * 309 + '", 9999]', limits).may_overflow


def test_an_object_is_found_by_the_number_of_those_closed_before(piece):
    text = '{"a": {"}": 1}, "b": [{}, {"c": {"x": 1}}], "d": {}}'
    places = [object_closed(text, number, 100) for number in range(6)]
    assert [text[at:][:6] for at in places] == [
        '{"}": ', "{}, {\"", '{"x": ', '{"c": ', "{}}", '{"a": ',
    ]  # fmt: skip


def test_a_match_in_a_string_is_none(piece):
    text = '["NaN", "x\\"NaN", NaN]'
    assert first_outside(text, re.compile("NaN")) == text.rindex("NaN")


def test_numbers_have_no_members():
    assert list(members("3", 0)) == []


@pytest.mark.parametrize(
    ("limit", "text", "what", "column"),
    [
        ("MAX_ENTRIES", "[1, 2, 3, 4, 5]", "too many values", 9),
        ("MAX_CONTAINERS", "[[], {}, [], []]", "too many lists and objects", 10),
    ],
)
def test_what_a_file_holds_is_limited(monkeypatch, limit, text, what, column):
    monkeypatch.setattr(parsing, limit, 3)
    with pytest.raises(FileError, match=what) as caught:
        parse(text)
    assert caught.value.column == column


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("middle", "end"),
    [
        ("x", '", "title": 1}'),
        ("x", '", "pages": 1}'),
        ("x", '", "a": NaN}'),
        ("\\\\", '", "pages": 1}'),
        ("x", ""),
    ],
)
def test_a_flaw_is_found_in_little_memory(middle, end):
    text = '{"gradwire": 3, "title": "' + middle * (2**23 // len(middle)) + end
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            loads(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(text)  # besides the text itself
