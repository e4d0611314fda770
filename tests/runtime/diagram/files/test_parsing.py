import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files import parsing
from gradwire.runtime.diagram.files.parsing import MAX_DEPTH, members, offset_of, parse


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{\n "a": 1,\n "a": 2}', 3, 2, "'a' appears twice"),
        ('{"x": {"b": [{"k": 1, "é": 2, "é": 3}]}}', 1, 31, "'é' appears twice"),
        ('{"a": 1, "\\u0061": 2}', 1, 10, "'a' appears twice"),
        ('{"a": [1,\n  NaN]}', 2, 3, "NaN is not a JSON number"),
        ('{"a": -Infinity}', 1, 7, "-Infinity is not a JSON number"),
        ('{"a": "NaN", "b": 1e999}', 1, 19, "1e999 is too large for a number."),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "is too large for a number."),
        ('{"a":}', 1, 6, "Not JSON: Expecting value"),
        ("", 1, 1, "Not JSON"),
        ('{"a": 1} x', 1, 10, "Not JSON: Extra data"),
        ('{"a": "\n"}', 1, 8, "Not JSON: Invalid control character."),
        ("\n" + "[" * (MAX_DEPTH + 1), 2, MAX_DEPTH + 1, "Brackets are nested more than"),
        (
            '"' + "é" * 5 + '"' + '{"a":' * 200,
            1,
            8 + 5 * MAX_DEPTH,
            "Brackets are nested more than",
        ),
    ],
)
def test_every_flaw_has_a_line_and_a_column(text, line, column, message):
    with pytest.raises(FileError, match=message.replace("(", r"\(")) as caught:
        parse(text, "x.json")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"x.json:{line}:{column}: ")


def test_brackets_in_texts_are_not_deep():
    text = '{"a": "' + "[" * 500 + '\\"' + "{" * 500 + '", "b": []}'
    assert parse(text) == {"a": "[" * 500 + '"' + "{" * 500, "b": []}


def test_the_limit_of_depth_is_reached_and_not_passed():
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_the_limit_of_length(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_CHARACTERS", 10)
    assert parse("[1,    2 ]") == [1, 2]
    with pytest.raises(FileError, match=r"too large\. Expected at most 10 characters, got 11"):
        parse("[1,     2 ]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1]))
def test_every_value_is_found_at_its_place(value, indent):
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assert parse(text) == value
    decoder = json.JSONDecoder()
    waiting = [(value, offset_of(text, ()), ())]
    for found, at, path in waiting:
        assert decoder.raw_decode(text, at)[0] == found
        for member in members(text, at):
            inner = (*path, member.part)
            waiting.append((found[member.part], member.value, inner))
            assert offset_of(text, inner) == member.key
            if isinstance(member.part, str):
                assert decoder.raw_decode(text, member.key)[0] == member.part


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(ANYTHING, st.booleans(), st.sampled_from([None, 1]))
def test_a_text_is_read_as_the_standard_library_reads_it(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        wanted = repr(json.loads(text, parse_constant=parsing._refuse))
    except parsing._NotFinite:
        with pytest.raises(FileError, match="is not a JSON number"):
            parse(text)
    else:
        assert repr(parse(text)) == wanted  # also -0.0, and 1 is not 1.0


@given(st.lists(ANYTHING, max_size=3), ANYTHING, ANYTHING)
def test_a_key_that_appears_twice_is_found_anywhere(before, first, second):
    twice = f'{{"k": {json.dumps(first)}, "\\u006b": {json.dumps(second)}}}'
    text = f'{{"a": {json.dumps(before)}, "b": [[0], [1, {{"c": [{twice}]}}]]}}'
    with pytest.raises(FileError, match=r"'k' appears twice|is not a JSON number"):
        parse(text)


@pytest.mark.parametrize("text", ['{"a": [1, 2.5, {"b": null}], "c": "é"}', "3", "[]", "{}", '""'])
def test_what_is_well_formed_is_read_once(text, monkeypatch):
    monkeypatch.delattr(parsing, "_explained")
    assert parse(text) == json.loads(text)


def test_half_a_pair_of_surrogates_is_a_text():
    assert parse('{"a": "\\ud800"}') == {"a": "\ud800"}
    assert parse('{"a": "\ud800"}') == {"a": "\ud800"}
    with pytest.raises(FileError):
        parse("\ud800")


def test_a_path_that_leads_nowhere_ends_at_its_last_part_that_is_there():
    text = '{"a": {"b": 1}}'
    assert offset_of(text, ("a", "c", "d")) == text.index('"a"')
    assert offset_of(text, ()) == 0
