"""Marks of a lesson's texts on a page: they are formatted wherever a text is shown or spoken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gradwire.runtime.lessons.texts import MARKED, unmarked
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page
from tests.runtime.lessons.marked import ANSWERED, RAW, marked_lesson, plainly

if TYPE_CHECKING:
    from pathlib import Path

    from tests.runtime.publish.living.script.browsers import Browser

WORDS = """(() => {
  const shown = [...document.querySelectorAll('#app *')].filter((e) => !e.matches('script, style'));
  const tips = shown.flatMap((e) => [e.getAttribute('aria-label'), e.getAttribute('title')]);
  return [document.title, document.getElementById('app').textContent, ...tips].join('\\n');
})()"""
"""All that can be read on the page, or heard of it."""
DONE = {
    1: "(living.ask.fill('7'), living.ask.commit(), 0)",
    2: "(living.ask.fill('3'), living.ask.commit(), 0)",
    3: "(living.ask.paint('mul1.b'), living.ask.commit(), 0)",
    4: "(living.live.set('x', 0, 10), living.switches.flip(0), 0)",
    6: "(living.lesson.pick(0), 0)",
}


def test_nobody_reads_or_hears_a_mark(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "marked.html"
    file.write_text(page(living_data(marked_lesson()).data, "<svg></svg>"), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    words = []
    for step in browser.run("living.lesson.shown"):
        browser.run(f"(living.lesson.enter({step}), living.time.pause(), 0)")
        browser.run("document.querySelector('[data-key=hint]')?.click()")
        words.append(browser.run(WORDS))
        if step in DONE:
            browser.run(DONE[step])
            words.append(browser.run(WORDS))
            if step in (1, 2, 3):
                name = {1: "wrong-1", 2: "own-2", 3: "own-3"}[step]
                assert plainly(name) in browser.text(".spoken")
    all_words = "\n".join(words)
    assert not RAW.search(all_words)
    seen = [name for name in ANSWERED if not name.endswith("-5")]  # nothing is drawn on a page
    assert [name for name in ("goal", *seen) if plainly(name) not in all_words] == []


def test_a_page_reads_marks_as_the_runtime_does(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "marks.html"
    file.write_text(page(living_data(marked_lesson()).data, "<svg></svg>"), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    for text in (
        "**a * b** and **c**", "**`w` is bold**", "**`x ** 2`**", "`x ** 2` and `y ** 2`",
        "2 ** 3", "**a ` b**", "`not\ncode`", "**open `a` `b` `c`", "**** and ``", "*a*",
    ):  # fmt: skip
        said, bold, code = browser.run(
            f"""((text) => {{
              const made = el('p', {{}}, ...inline(text)), of = (tag) => made.querySelectorAll(tag);
              return [unmarked(text), of('strong').length, of(':scope > code').length];
            }})({json.dumps(text)})"""
        )
        found = list(MARKED.finditer(text))
        assert said == unmarked(text), text
        assert (bold, code) == (sum(bool(m[1]) for m in found), sum(bool(m[2]) for m in found))
