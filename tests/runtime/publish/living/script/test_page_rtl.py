"""A lesson that is read from the right: its diagram, its numbers and its code are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.runtime.build import build, loss, mul, variable
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page, picture_page

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser

STEPS = [
    {"do": "show", "text": "القيمة {value('w')} في `2*w` هنا، و {value('v')} أيضًا."},
    {"do": "change", "text": "غيّر", "goals": ["grad('w') == 10"]},
]
OUTSIDE = """[...document.querySelectorAll('.canvas .block, .still .block')].flatMap((block) => {
  const face = block.querySelector('rect').getBoundingClientRect();
  return [...block.querySelectorAll('text')].map((e) => [e.textContent, e.getBoundingClientRect()])
    .filter(([text, box]) => text && (box.left < face.left - 1 || box.right > face.right + 1))
    .map(([text]) => text);
})"""
"""Texts that are not on the faces that they belong to."""
SPOTS = """((text, part) => {
  const walker = document.createTreeWalker(document.querySelector(part), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const from = node.data.indexOf(text), spot = document.createRange();
    if (from < 0) continue;
    return [...text].map((_, k) => {
      spot.setStart(node, from + k);
      spot.setEnd(node, from + k + 1);
      return spot.getBoundingClientRect().left;
    });
  }
})(%r, %r)"""
"""Where each character of a text is."""


def lesson(language: str) -> Diagram:
    w, v = variable("w", -3.5), variable("v", [-1.0, 2.0])
    made = build(loss(mul(w, 2.0, name="product") + mul(v, v), name="loss"), title="درس")
    fields = {"language": language, "steps": STEPS}
    return replace(made, lesson=Lesson.model_validate(fields))


def test_the_diagram_numbers_and_code_are_read_from_the_left(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "rtl.html"
    file.write_text(page(living_data(lesson("ar")).data, "<svg></svg>"), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    assert browser.run("getComputedStyle(document.body).direction") == "rtl"
    assert browser.run(OUTSIDE) == []
    for text in ("−3.5", "2*w", "[−1, 2]"):
        spots = browser.run(SPOTS % (text, ".lesson"))
        assert spots == sorted(spots), text
    browser.run("(living.lesson.enter(1), 0)")
    spots = browser.run(SPOTS % (" is as asked.", ".goals"))
    assert spots == sorted(spots)  # with its full stop at the end


def test_a_picture_of_a_lesson_is_read_from_the_left(browser: Browser, tmp_path: Path) -> None:
    from gradwire.runtime.publish.living.publishing import still

    file = tmp_path / "still.html"
    made = lesson("he")
    html = picture_page(made.title, "", still(made), "Too large.", "he")
    file.write_text(html, encoding="utf-8")
    browser.open(file)
    assert browser.count(".still .block") > 2 and browser.run(OUTSIDE) == []
