"""The pages of the manual: contents, HTML, anchors and search."""

from __future__ import annotations

import re

import pytest

from gradwire.app.panels.help.manual import FOLDER, INDEX, anchor_of, html, manual
from tests.together import together


@pytest.fixture
def small(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "index.md").write_text(
        "# Book\n\nWelcome.\n\n## First\n\n- [One](one.md)\n\n## Second\n\n- [Two](deep/two.md)\n"
    )
    (tmp_path / "one.md").write_text(
        "# One\n\nApples and *pears*.\n\n```sh\n# no heading\n```\n\n"
        "## Red `apples`\n\n<b>raw</b> pears\n"
    )
    (tmp_path / "deep" / "two.md").write_text(
        "# Two\n\nPears, [linked](../one.md).\n\n| a |\n|-|\n| b |\n"
    )
    return manual(tmp_path)


def test_chapters_are_the_sections_of_the_index(small):
    assert small.chapters == {"First": ("one.md",), "Second": ("deep/two.md",)}
    assert [page.title for page in small.pages.values()] == ["Two", "Book", "One"]


def test_headings_are_anchors_and_comments_in_code_are_not(small):
    assert [section.anchor for section in small.pages["one.md"].sections] == ["one", "red-apples"]
    assert '<h2 id="red-apples">' in html(small.pages["one.md"])
    assert "# no heading</code>" in html(small.pages["one.md"])


def test_tables_are_rendered_and_raw_html_is_text(small):
    assert "<td>b</td>" in html(small.pages["deep/two.md"])
    assert "&lt;b&gt;raw" in html(small.pages["one.md"])


def test_every_word_must_be_there_and_headings_come_first(small):
    assert [(hit.page, hit.anchor) for hit in small.search("APPLES pears")] == [
        ("one.md", "red-apples"),
        ("one.md", "one"),
    ]
    assert [hit.line for hit in small.search("pears two")] == ["Pears, linked."]
    assert small.search("plums") == small.search(" ") == []


def test_anchors_are_those_of_the_site():
    assert anchor_of("What `xp` offers, and more") == "what-xp-offers-and-more"


def test_the_index_lists_every_page_once():
    listed = [name for names in manual().chapters.values() for name in names]
    assert sorted(listed) == sorted(set(manual().pages) - {INDEX})
    assert len(listed) == len(set(listed))


@together("name", manual().pages)
def test_a_page_has_one_title_and_no_heading_twice(name):
    page = manual().pages[name]
    assert len(re.findall("<h1", html(page))) == 1
    anchors = [section.anchor for section in page.sections]
    assert len(anchors) == len(set(anchors))
    assert (FOLDER / name).is_file()
