"""Windows without a screen, settings that no other run has seen, and nothing left behind."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QEvent, QSettings

from app import theme
from app.settings import Settings


@pytest.fixture(autouse=True)
def dressed(qapp):
    """The light theme, whatever the desktop is, and no widgets of the test before."""
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # no event loop runs between tests
    theme.apply(theme.LIGHT, qapp)


@pytest.fixture
def settings(tmp_path) -> Settings:
    """Settings of a user who has just installed the editor and uses it in daylight."""
    made = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    made.theme = "light"
    return made


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not [thread.name for thread in threading.enumerate() if thread.name == "evaluator"]
