"""Texts of lessons are shown by one formatter: nobody reads a raw backtick or asterisk.

Those of the terminal, the editor, and pages in a browser are read in tests of these.
"""

from __future__ import annotations

import re
from html import unescape

import pytest

from gradwire.runtime.lessons.texts import unmarked
from gradwire.runtime.publish.living.publishing import published
from gradwire.runtime.publish.living.writing.html import picture_page
from tests.runtime.lessons.marked import (
    RAW,
    marked,
    marked_lesson,
    plainly,
    unmarked_fields,
)


def test_every_text_field_of_a_lesson_is_marked():
    assert unmarked_fields() == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("**a * b** and **c**", "a * b and c"),
        ("**`w` is bold**", "w is bold"),
        ("**`x ** 2`**", "x ** 2"),
        ("`x ** 2` and `y ** 2`", "x ** 2 and y ** 2"),
        ("2 ** 3", "2 ** 3"),
        ("**a ` b**", "a ` b"),
        ("`not\ncode`", "`not\ncode`"),
        ("**open `a` `b` `c`", "**open a b c"),
    ],
)
def test_marks_are_read(text, wanted):
    assert unmarked(text) == wanted


def test_many_marks_that_are_never_closed_are_read_at_once():
    text = "**" + "`a` ` " * 600
    assert unmarked(text).startswith("**a")


def test_the_still_parts_of_pages_show_descriptions_without_marks():
    lesson = marked_lesson()
    pages = [published(lesson).html, picture_page("", marked("description"), "", "A reason.")]
    for html in pages:
        body = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
        words = unescape(re.sub(r"<[^>]*>", "", body))
        assert plainly("description") in words and not RAW.search(words)
