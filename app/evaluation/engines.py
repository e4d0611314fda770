"""The engine that all windows compute with."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gradwire.app.services.background import tell
from gradwire.blocks.errors import reason_of, shortened
from gradwire.runtime import extras
from gradwire.runtime.engine.session.engines import NAMES, EngineChoice

if TYPE_CHECKING:
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.engine.engine import Engine

_NUMPY = EngineChoice()


class Engines(QObject):
    """Opens the engine of the settings where it is first needed; NumPy without settings.

    In place of one that can't be opened NumPy computes from then on, and ``refused`` says why.
    """

    changed = Signal()
    """The user has chosen another engine."""
    refused = Signal(str)
    """Why the chosen engine could not be opened."""
    _failed = Signal(str)

    def __init__(self, settings: Settings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        name = "numpy" if settings is None else settings.engine
        self.choice = EngineChoice(name if name in NAMES else "numpy")
        """The engine, in words that another process can be told."""
        self._opened: tuple[EngineChoice, Engine] | None = None
        self._opening = threading.Lock()
        self._failed.connect(self._refuse)

    def choose(self, name: str) -> None:
        """Compute with another engine from now on; it is opened later."""
        if name == self.choice.name:
            return
        self.choice = EngineChoice(name)
        self._keep(name)
        self.changed.emit()

    def open(self) -> Engine:
        """The engine, for any thread that computes: to open it may take seconds."""
        with self._opening:
            choice = self.choice
            if self._opened is None or self._opened[0] != choice:
                self._opened = self._open(choice)
            return self._opened[1]

    def _open(self, choice: EngineChoice) -> tuple[EngineChoice, Engine]:
        try:
            return choice, choice.open()
        except Exception as error:  # a package that is installed by half may raise anything
            if self.choice == choice:
                self.choice = _NUMPY
            tell(self._failed, shortened(str(error)) or reason_of(error))
            return _NUMPY, _NUMPY.open()

    def _refuse(self, reason: str) -> None:
        self._keep(self.choice.name)
        self.refused.emit(reason)

    def _keep(self, name: str) -> None:
        if self._settings is not None:
            self._settings.engine = name


def why_missing(name: str) -> str:
    """What to install for an engine; empty if that is there."""
    return "" if name == "numpy" or extras.installed(name) else extras.command(name)
