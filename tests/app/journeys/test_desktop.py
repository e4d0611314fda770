from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gradwire.app.services import theme
from gradwire.app.shell.main_window import MainWindow


@pytest.mark.night
@pytest.mark.parametrize(("chosen", "shown"), [("system", theme.DARK), ("light", theme.LIGHT)])
def test_the_window_follows_the_desktop_unless_a_theme_is_chosen(
    qapp, settings, monkeypatch, chosen, shown
):
    settings.theme = chosen
    monkeypatch.setattr(theme, "system", lambda: theme.LIGHT)
    window = MainWindow(settings)
    assert window.canvas.view.theme is theme.LIGHT
    monkeypatch.setattr(theme, "system", lambda: theme.DARK)
    QApplication.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert window.canvas.view.theme is shown
    window.close()
    window.windows.deleteLater()
    window.deleteLater()
