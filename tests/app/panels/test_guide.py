"""A panel that is made by the page of the manual shows what the window computes."""

from __future__ import annotations

import re

from tests.assets.examples import MANUAL, run_python
from tests.examples.gallery import diagram

GUIDE = MANUAL / "extend" / "panel.md"


def test_a_panel_by_the_manual_shows_results(opened, qtbot):
    names, _ = run_python(GUIDE)
    text = GUIDE.read_text("utf-8")
    (connecting,) = re.findall(r"`presenter\.resultShown\.connect\((.*)\)`", text)
    window = opened(diagram("mxnet_seed"))
    panel = names["Summary"](window)
    window.presenter.resultShown.connect(eval(connecting, {"panel": panel}))
    assert panel.label.accessibleName() == "Summary of gradients"
    window.evaluator.refresh(window.document.diagram)
    qtbot.waitUntil(lambda: panel.label.text() == "1 of 2 variables have a gradient")
