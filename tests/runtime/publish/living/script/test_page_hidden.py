"""What a lesson hides is nowhere on its page: whatever is chosen, played, spoken or drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from gradwire.runtime.build import (
    build,
    histogram,
    loss,
    mul,
    relu,
    sigmoid,
    stop_gradient,
    variable,
)
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.model import Note
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser

SECRETS = {
    "values": ("−10.5", "0.9707", "10.19"),
    "gradients": ("0.2988", "0.299", "1.046", "1.05"),
    "states": (
        "stopped",
        "carries gradient",
        "Stopped",
        "Carries gradient",
        "Its gradient is zero",
    ),
}
"""What values, gradients and states of the diagram are, in words that nothing else has."""
WORDS = """(() => {
  const shown = [...document.querySelectorAll('#app *')].filter(
    (e) => !e.matches('script, style, .keys') && getComputedStyle(e).visibility !== 'hidden');
  const own = (e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data);
  return shown.flatMap((e) => [e.getAttribute('aria-label'), e.getAttribute('title'),
    e.getAttribute('aria-valuetext'), ...own(e)]).filter(Boolean).join('\\n');
})()"""
"""All that can be read on the page, or heard of it."""
LOOKED_AT = """(() => {
  const found = [], look = () => found.push(WORDS);
  document.querySelectorAll('aside details').forEach((e) => { e.open = true; });
  living.cards.hasOutline = true;
  for (const key of [...living.faces.keys(), ...living.wires.keys(), null]) {
    living.choose(key);
    look();
  }
  for (const isDetailed of [true, false]) {
    living.time.detail(isDetailed);
    for (let k = 0; k <= living.time.events.length; k += 1) {
      living.time.go(k);
      look();
    }
  }
  return found.join('\\n');
})()""".replace("WORDS", WORDS)


def diagram() -> Diagram:
    """mean of σ(w·x) and relu(−3·3.5): values 0.97 and −10.5; gradients of one and none."""
    w, x, v = variable("w", 3.5), variable("x", 1.0), variable("v", 3.5)
    off = mul(v, -3.0, name="product")
    total = sigmoid(mul(w, x, name="dot"), name="bent") * 10.5
    made = build(
        loss(total + relu(off, name="off") + stop_gradient(v, name="sg"), name="L"),
        histogram(off, name="counts"),
    )
    notes = {"1": Note('{value("product")} {grad("w")} {state("sg.x")}')}
    return made.with_page("main", replace(made.main, notes=notes))


@pytest.mark.parametrize(
    "hidden", [("values",), ("gradients",), ("states",), ("gradients", "states")], ids="+".join
)
def test_nothing_that_is_hidden_is_on_the_page(
    browser: Browser, tmp_path: Path, hidden: tuple[str, ...]
) -> None:
    steps: list[dict[str, Any]] = [{"do": "show", "text": "Look."}]
    lesson = Lesson.model_validate({"hide": hidden, "steps": steps})
    file = tmp_path / "hidden.html"
    made = replace(diagram(), lesson=lesson)
    file.write_text(page(living_data(made).data, "<svg></svg>"), encoding="utf-8")
    browser.open(file)
    browser.until("globalThis.living?.lesson")
    words = browser.run(LOOKED_AT)
    found = [secret for name in hidden for secret in SECRETS[name] if secret in words]
    assert found == []
    shown = [name for name in SECRETS if name not in hidden]
    assert [name for name in shown if not any(secret in words for secret in SECRETS[name])] == []
    widths = browser.run(
        "[...new Set([...document.querySelectorAll('.canvas .lane.form-solid')]"
        ".map((e) => e.getAttribute('stroke-width')))]"
    )
    if "states" not in hidden:
        assert (len(widths) == 1) == ("gradients" in hidden)
    seen = browser.run("getComputedStyle(document.querySelector('image.view')).visibility")
    assert seen == ("hidden" if "values" in hidden else "visible")
