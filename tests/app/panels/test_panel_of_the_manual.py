"""The panel that the manual adds, in a real window."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget

from gradwire.app.services.examples import ASSETS, SUFFIX
from tests.assets.examples import MANUAL, run_python


def test_it_shows_results_in_a_dock(window, qtbot):
    names, _ = run_python(MANUAL / "extend" / "panel.md")
    dock = QDockWidget("Summary", window)
    panel = names["Summary"](dock)
    dock.setWidget(panel)
    window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
    window.evaluator.resultChanged.connect(panel.show_result)
    assert window.open_path(ASSETS / "diagrams" / f"mxnet_seed{SUFFIX}")
    qtbot.waitUntil(lambda: panel.label.text() == "1 of 2 variables have a gradient")
