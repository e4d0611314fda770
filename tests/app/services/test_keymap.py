"""Shortcuts are changed one by one or from a file, and no key ever has two actions."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.input.bindings import KEYS, MOUSE
from gradwire.app.services.keymap import FIELD, MAX_CHARACTERS, Binding, Keymap, KeymapError
from gradwire.app.shell.actions.building import bindings

ROWS = (
    Binding(id="save", section="&File", text="&Save", defaults=("Ctrl+S",)),
    Binding(id="rate", section="&Run", text="&Rate…"),
    Binding(id="go", section="Canvas", text="Go", defaults=("Left", "Right"), shown="Arrows"),
    Binding(id="leave", section="Canvas", text="Leave", defaults=("Esc",), is_fixed=True),
)


@pytest.fixture
def keymap(settings):
    return Keymap(ROWS, settings)


def file(**keys):
    return json.dumps({FIELD: 1, "keys": keys})


def test_all_keys_of_the_editor_are_known_and_none_is_used_twice():
    keymap = Keymap(bindings())
    keys = [key for id in keymap.bindings for key in keymap.keys(id) if key]
    assert len(keys) == len(set(keys))
    for id, binding in keymap.bindings.items():
        assert [bool(key) for key in keymap.keys(id)] == [bool(key) for key in binding.defaults]


def test_texts_refer_to_keys_by_their_bindings_so_that_they_stay_right():
    keymap = Keymap(bindings())
    texts = [text for row in KEYS for text in (row.text,)]
    texts += [text for way in MOUSE for text in (way.mouse, way.text, way.keys)]
    known = {id for text in texts for id in re.findall(r"\{([^}]*)\}", text)}
    assert known and known <= keymap.bindings.keys()
    keys = {key for id in keymap.bindings for key in keymap.keys(id) if "+" in key}
    literal = {key for key in keys for text in texts if key in re.split(r"[,;: ]+", text)}
    assert literal == set()


def test_a_key_is_changed_and_kept_for_the_next_time(keymap, settings):
    keymap.assign("save", 0, "ctrl+k")
    assert keymap.keys("save") == ("Ctrl+K",)
    assert Keymap(ROWS, settings).keys("save") == ("Ctrl+K",)
    keymap.reset("save", 0)
    assert settings.shortcuts == ""


def test_a_key_in_use_is_refused_and_named(keymap):
    with pytest.raises(KeymapError, match=r"^Ctrl\+S is in use: Save\.$"):
        keymap.assign("rate", 0, "Ctrl+S")
    assert keymap.keys("rate") == ("",)


def test_it_is_taken_on_purpose(keymap):
    keymap.assign("rate", 0, "Ctrl+S", take=True)
    assert (keymap.keys("rate"), keymap.keys("save")) == (("Ctrl+S",), ("",))
    with pytest.raises(KeymapError):
        keymap.reset("save", 0)
    keymap.reset("save", 0, take=True)
    assert (keymap.keys("rate"), keymap.keys("save")) == (("",), ("Ctrl+S",))


def test_one_of_several_keys_is_changed(keymap):
    assert keymap.shown("go") == "Arrows"
    keymap.assign("go", 1, "L")
    assert keymap.shown("go") == "Left, L"
    with pytest.raises(KeymapError):
        keymap.assign("go", 0, "L")


@pytest.mark.parametrize("take", [False, True])
def test_some_keys_stay(keymap, take):
    with pytest.raises(KeymapError, match="stay"):
        keymap.assign("leave", 0, "Q", take=take)
    with pytest.raises(KeymapError, match="in use"):
        keymap.assign("rate", 0, "Esc", take=take)


def test_references_in_a_text_are_spelled_as_they_are_now(keymap):
    keymap.assign("save", 0, "F7")
    assert keymap.spell("{go} to it, {save}; {rate}") == "Arrows to it, F7; —"


def test_a_file_brings_all_keys_to_another_user(keymap):
    keymap.assign("save", 0, "F7")
    keymap.assign("go", 0, "")
    other = Keymap(ROWS)
    other.assign("rate", 0, "R")
    other.from_text(keymap.to_text())
    assert {id: other.keys(id) for id in other.bindings} == {
        id: keymap.keys(id) for id in keymap.bindings
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no file of Gradwire's shortcuts"),
        ("[]", "no file of Gradwire's shortcuts"),
        ('{"keys": {}}', "no file of Gradwire's shortcuts"),
        ("[" * 100_000, "no file of Gradwire's shortcuts"),
        (" " * MAX_CHARACTERS + "{}", "no file of Gradwire's shortcuts"),
        (json.dumps({FIELD: 1}), "must be an object"),
        (file(missing=["F7"]), "There is no action 'missing'"),
        (file(save="F7"), "'save' needs 1 keys"),
        (file(save=["F7", "F8"]), "'save' needs 1 keys"),
        (file(save=["Bogus"]), "'save' needs 1 keys"),
        (file(save=["Ctrl+K, Ctrl+S"]), "'save' needs 1 keys"),
        (file(save=[7]), "'save' needs 1 keys"),
        (file(leave=["Q"]), "stay"),
        (file(rate=["ctrl+s"]), "Ctrl+S has two actions: Save; Rate."),
        (file(go=["L", "L"]), "L has two actions"),
    ],
)
def test_a_file_with_an_error_or_a_conflict_changes_nothing(keymap, text, message):
    keymap.assign("save", 0, "F7")
    keymap.assign("save", 0, "Ctrl+S")
    before = {id: keymap.keys(id) for id in keymap.bindings}
    with pytest.raises(KeymapError, match=message.replace("+", r"\+").replace(".", r"\.")):
        keymap.from_text(text)
    assert {id: keymap.keys(id) for id in keymap.bindings} == before


@pytest.mark.parametrize(
    "stored", ["{", "[]", '{"missing": ["F7"]}', '{"save": ["F7"], "rate": ["F7"]}']
)
def test_what_is_stored_wrongly_is_left(settings, stored):
    settings.shortcuts = stored
    assert Keymap(ROWS, settings).keys("save") == ("Ctrl+S",)


def test_a_new_default_gives_way_to_what_the_user_chose(settings):
    Keymap(ROWS, settings).assign("rate", 0, "F7")
    new = Binding(id="new", section="&Run", text="New", defaults=("F7",))
    keymap = Keymap((new, *ROWS), settings)
    assert (keymap.keys("rate"), keymap.keys("new")) == (("F7",), ("",))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([("save", 0), ("rate", 0), ("go", 0), ("go", 1)]),
            st.sampled_from(["", "A", "Ctrl+S", "Left", "Right", "F7"]),
            st.booleans(),
        )
    )
)
def test_no_key_ever_has_two_actions_and_a_file_is_the_whole_truth(steps):
    keymap = Keymap(ROWS)
    for (id, slot), key, take in steps:
        try:
            keymap.assign(id, slot, key, take=take)
        except KeymapError:
            continue
    keys = [key for id in keymap.bindings for key in keymap.keys(id) if key]
    assert len(keys) == len(set(keys))
    other = Keymap(ROWS)
    other.from_text(keymap.to_text())
    assert other.to_text() == keymap.to_text()
