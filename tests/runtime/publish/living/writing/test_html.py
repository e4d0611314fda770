"""A page is one file that asks for nothing, and nothing of a diagram becomes markup or code."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.build import block, build, histogram, loss, stop_gradient, variable
from gradwire.runtime.diagram import Diagram, dumps, load, loads
from gradwire.runtime.diagram.lesson import Lesson, ShowStep
from gradwire.runtime.publish import living
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.publishing import publish, still
from gradwire.runtime.publish.living.writing.html import packed, page, page_script, source_hash
from gradwire.runtime.publish.living.writing.html import unpacked as unpack

ASSETS = Path(__file__).parents[5] / "assets"
EXAMPLES = sorted(ASSETS.glob("diagrams/*.json"))
LESSONS = sorted(ASSETS.glob("lessons/*.json"))
NASTY = "</script><script>alert(1)</script> \"quoted\" 'single' <!-- עברית 🎓 &amp;   \u2028"
LARGEST = 100 * 1024
"""Bytes of the page of an example."""


class Reader(HTMLParser):
    """Collects elements and the text of each script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style", "title") and data.strip():
            self.texts.append((self.tags[-1][0], data))


def small(**changes: Any) -> Diagram:
    w = variable("w", 3.0)
    return replace(build(loss(w * stop_gradient(w))), **changes)


def unpacked(html: str, id: str) -> str:
    """The text of a packed part of a page."""
    (found,) = re.findall(f'id="{id}">([^<]*)<', html)
    return unpack(found)


def policy(html: str) -> str:
    (found,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    return found


def test_a_page_may_run_its_own_script_and_nothing_else() -> None:
    html = publish(small())
    assert policy(html).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy(html) and "http" not in policy(html)
    reader = Reader(html)
    scripts = [text for tag, text in reader.texts if tag == "script"]
    assert len(scripts) == 4 and source_hash(scripts[3]) in policy(html)
    for part in ("look", "code"):
        assert source_hash(unpacked(html, part)) in policy(html)
    styles = [text for tag, text in reader.texts if tag == "style"]
    assert [source_hash(style) in policy(html) for style in styles] == [True]
    for _, attributes in reader.tags:
        assert not {"src", "href", "style", "onclick", "onload"} & set(attributes)


def test_a_packed_text_comes_back() -> None:
    for text in ("", "a", "∂ é" * 300, NASTY, *(str(7**k) for k in range(40))):
        assert unpack(packed(text)) == text
    assert not set(packed(NASTY)) & set('"&<\n')


def test_titles_are_harmless() -> None:
    html = publish(small(title=NASTY, description=NASTY))
    plain = publish(small())
    tags = [tag for tag, _ in Reader(html).tags]
    assert tags == [tag for tag, _ in Reader(plain).tags]
    data = json.loads(unpacked(html, "data"))
    assert data["title"] == NASTY and data["text"] == NASTY


def test_the_script_is_the_same_for_diagrams_of_the_same_blocks() -> None:
    assert policy(publish(small(title="One"))) == policy(publish(small(title="Other")))


def test_the_parts_of_the_script_share_no_name() -> None:
    """A page with all of them would not run."""
    parts = (Path(living.__file__).with_name("script")).rglob("*.js")
    script = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    found = re.findall(r"^(?:const|class|(?:async )?function\*?) ?(\w+)", script, re.MULTILINE)
    found += re.findall(r"(?:let|const) (LOOPS|SAY)=", page_script(has_lesson=True))
    assert len(found) > 150 and {"LOOPS", "SAY"} <= {*found}
    assert [name for name, count in Counter(found).items() if count > 1] == []


def test_the_script_of_a_lesson_has_more() -> None:
    assert "class Lesson" in unpacked(publish(load(LESSONS[0])), "code")
    assert "class Lesson" not in unpacked(publish(small()), "code")


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [("Inverse", "inverse"), ("CumulativeSum", "cumulative_sum"), ("MaxPool2D", "windows")],
)
def test_a_page_has_only_the_kernels_and_words_that_it_needs(kind: str, kernel: str) -> None:
    value = np.ones((1, 1, 2, 2)) if kind == "MaxPool2D" else np.eye(2)
    other = build(loss(block("Sum", block(kind, variable("x", value)))))
    assert f"KERNELS.{kernel}" in unpacked(publish(other), "code")
    code = unpacked(publish(small()), "code")
    assert f"KERNELS.{kernel}" not in code
    assert '"multiply":' in code and '"arctan2":' not in code
    assert '"Arctanh":' not in code


def test_a_view_is_in_the_file_once() -> None:
    w = variable("w", [1.0, 2.0])
    html = publish(build(loss(block("Sum", w)), histogram(w, name="counts")))
    (block_of,) = [each for each in json.loads(unpacked(html, "data"))["pages"]["main"]["blocks"]
                   if each[0] == "counts"]  # fmt: skip
    assert block_of[10]["view"] == 0 and html.count("data:image/svg+xml") == 1


@pytest.mark.night
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name.split(".")[0])
def test_an_example_is_small(file: Path) -> None:
    diagram = load(file)
    assert len(page(living_data(diagram).data, still(diagram)).encode()) <= LARGEST


@pytest.mark.night
@pytest.mark.parametrize("file", EXAMPLES[::6], ids=lambda file: file.name.split(".")[0])
def test_an_example_is_always_the_same(file: Path) -> None:
    assert publish(load(file)) == publish(load(file))


def test_readers_without_scripts_see_a_picture() -> None:
    html = publish(small())
    (picture,) = re.findall(r'<main id="app"[^>]*>(.*)</main>', html, re.DOTALL)
    assert picture.startswith("<h1>") and "<svg" in picture
    assert "role-stopped" in picture and ">loss</text>" in picture


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("language", "attributes"),
    [
        ("", 'lang="en"'), ("de", 'lang="de"'), ("pt-BR", 'lang="pt-BR"'),
        ("he", 'lang="he" dir="rtl"'), ("ar-EG", 'lang="ar-EG" dir="rtl"'),
        ("az-Arab", 'lang="az-Arab" dir="rtl"'), ("nqo", 'lang="nqo" dir="rtl"'),
        ("ar-Latn", 'lang="ar-Latn"'),
    ],
)  # fmt: skip
def test_a_page_says_the_language_of_its_lesson(language: str, attributes: str) -> None:
    lesson = Lesson(language=language, steps=[ShowStep(text="…")])
    made = replace(small(), lesson=lesson)
    assert publish(made).startswith(f"<!doctype html>\n<html {attributes}><head>")
    assert loads(dumps(made)).lesson == lesson


@pytest.mark.parametrize("language", ['de" onload="x', "a", "de_DE", "x" * 40])
def test_a_language_is_a_tag(language: str) -> None:
    with pytest.raises(ValueError, match="language"):
        Lesson(language=language)
