"""The settings that the editor keeps between sessions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QSettings, QStandardPaths

from gradwire.runtime.flow import Thresholds
from gradwire.runtime.lessons.course.progress import user_file

_MAX_RECENT = 8
_MAX_COMMANDS = 20
_ARRANGEMENT = ("geometry", "state", "panels")
"""Keys of the window's geometry and of its dock states."""


class Settings:
    """Recent files, favourite blocks, appearance, learning rate, thresholds, window layout."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._store = store or QSettings("Gradwire", "Gradwire")
        place = QStandardPaths.StandardLocation.StateLocation
        self.folder = (
            Path(QStandardPaths.writableLocation(place))
            if store is None
            else Path(store.fileName()).parent
        )
        """The folder for crash recovery."""
        documents = QStandardPaths.writableLocation(
            QStandardPaths.StandardLocation.DocumentsLocation
        )
        configuration = QStandardPaths.writableLocation(
            QStandardPaths.StandardLocation.AppConfigLocation
        )
        self.presets = (Path(configuration) if store is None else self.folder) / "presets.json"
        """The file with the user's presets of parameters."""
        self.progress = user_file() if store is None else self.folder / "progress.json"
        """The file with how far the user is in each lesson."""
        own = Path(documents) / "Gradwire Library" if store is None else self.folder / "library"
        self._library = own

    @property
    def recent(self) -> list[Path]:
        """Recently opened files that still exist, most recent first."""
        return [path for path in self.remembered if path.exists()]

    @property
    def remembered(self) -> list[Path]:
        """All recently opened files, most recent first; a missing drive may come back."""
        return [Path(name) for name in self._names("recent")]

    def remember(self, path: Path) -> None:
        """Put ``path`` first among the recent files."""
        others = [other for other in self.remembered if other != path.resolve()]
        names = [str(other) for other in [path.resolve(), *others][:_MAX_RECENT]]
        self._store.setValue("recent", names)

    @property
    def starred(self) -> tuple[str, ...]:
        """Type names of the favourite blocks."""
        return self._names("starred")

    @starred.setter
    def starred(self, names: tuple[str, ...]) -> None:
        self._store.setValue("starred", list(names))

    @property
    def used(self) -> tuple[str, ...]:
        """Type names of the most recently added blocks, most recent first."""
        return self._names("used")

    @used.setter
    def used(self, names: tuple[str, ...]) -> None:
        self._store.setValue("used", list(names))

    @property
    def commands(self) -> tuple[str, ...]:
        """Keys of the actions last chosen in the command palette, most recent first."""
        return self._names("commands")

    def remember_command(self, key: str) -> None:
        """Put an action first among the recent ones."""
        others = [other for other in self.commands if other != key]
        self._store.setValue("commands", [key, *others][:_MAX_COMMANDS])

    @property
    def library(self) -> Path:
        """The folder of the user's own pages."""
        return Path(str(self._store.value("library", "") or self._library))

    @library.setter
    def library(self, folder: Path) -> None:
        self._store.setValue("library", str(folder))

    @property
    def shortcuts(self) -> str:
        """The changed shortcuts as JSON; empty if all are as by default."""
        return str(self._store.value("shortcuts", ""))

    @shortcuts.setter
    def shortcuts(self, text: str) -> None:
        self._store.setValue("shortcuts", text)

    @property
    def learner(self) -> str:
        """The name that is written into files of answers; empty until it was asked for."""
        return str(self._store.value("learner", ""))

    @learner.setter
    def learner(self, name: str) -> None:
        self._store.setValue("learner", name)

    @property
    def engine(self) -> str:
        """Name of the engine that computes."""
        return str(self._store.value("engine", "numpy"))

    @engine.setter
    def engine(self, name: str) -> None:
        self._store.setValue("engine", name)

    @property
    def theme(self) -> str:
        """Name of the chosen theme; ``system`` follows the desktop."""
        return str(self._store.value("theme", "system"))

    @theme.setter
    def theme(self, name: str) -> None:
        self._store.setValue("theme", name)

    @property
    def text(self) -> str:
        """Text size: ``small``, ``normal`` or ``large``."""
        return str(self._store.value("text", "normal"))

    @text.setter
    def text(self, size: str) -> None:
        self._store.setValue("text", size)

    @property
    def rate(self) -> float:
        """Learning rate of gradient steps."""
        try:
            return float(str(self._store.value("rate", 0.1)))
        except ValueError:
            return 0.1

    @rate.setter
    def rate(self, rate: float) -> None:
        self._store.setValue("rate", rate)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the numeric states, such as vanishing and exploding."""
        known = {field.name: self._stored(field.name) for field in fields(Thresholds)}
        return replace(Thresholds(), **{n: x for n, x in known.items() if x is not None})

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        for field in fields(thresholds):
            self._store.setValue(f"thresholds/{field.name}", getattr(thresholds, field.name))

    def _stored(self, name: str) -> float | None:
        """The stored threshold of that name; None if missing or invalid."""
        try:
            stored = float(str(self._store.value(f"thresholds/{name}")))
        except ValueError:
            return None
        return stored if 0.0 < stored < math.inf else None

    @property
    def reduced_motion(self) -> bool:
        """Whether animations are turned off."""
        return str(self._store.value("still", "false")) == "true"

    @reduced_motion.setter
    def reduced_motion(self, reduced: bool) -> None:
        self._store.setValue("still", "true" if reduced else "false")

    @property
    def wire_numbers(self) -> str:
        """The numbers beside wires: ``value``, ``gradient``, ``both`` or ``none``."""
        return str(self._store.value("wire_numbers", "gradient"))

    @wire_numbers.setter
    def wire_numbers(self, numbers: str) -> None:
        self._store.setValue("wire_numbers", numbers)

    @property
    def numbered_wires(self) -> str:
        """The wires with numbers: ``all``, or those of the ``selection``."""
        return str(self._store.value("numbered_wires", "selection"))

    @numbered_wires.setter
    def numbered_wires(self, wires: str) -> None:
        self._store.setValue("numbered_wires", wires)

    @property
    def picture(self) -> dict[str, str]:
        """The options of the last exported picture, as texts."""
        self._store.beginGroup("picture")
        try:
            return {key: str(self._store.value(key)) for key in self._store.childKeys()}
        finally:
            self._store.endGroup()

    @picture.setter
    def picture(self, options: Mapping[str, str]) -> None:
        for key, value in options.items():
            self._store.setValue(f"picture/{key}", value)

    @property
    def toolbar(self) -> bool:
        """Whether the tool bar is shown."""
        return str(self._store.value("toolbar", "true")) == "true"

    @toolbar.setter
    def toolbar(self, shown: bool) -> None:
        self._store.setValue("toolbar", "true" if shown else "false")

    @property
    def tour_taken(self) -> bool:
        """Whether the tour was taken to its end."""
        return str(self._store.value("tour_taken", "false")) == "true"

    @tour_taken.setter
    def tour_taken(self, taken: bool) -> None:
        self._store.setValue("tour_taken", "true" if taken else "false")

    @property
    def arrangement(self) -> tuple[QByteArray, QByteArray, QByteArray]:
        """Geometry and dock states of the last closed window; empty before that.

        The second dock state is the one before all panels were put away.
        """
        read = [self._store.value(key) for key in _ARRANGEMENT]
        geometry, state, kept = (v if isinstance(v, QByteArray) else QByteArray() for v in read)
        return geometry, state, kept

    @arrangement.setter
    def arrangement(self, arrangement: tuple[QByteArray, QByteArray, QByteArray]) -> None:
        for key, value in zip(_ARRANGEMENT, arrangement, strict=True):
            self._store.setValue(key, value)

    @property
    def curves_height(self) -> int:
        """Height of the panel of curves, px; 0 until it was open."""
        try:
            return max(0, int(str(self._store.value("curves_height", 0))))
        except ValueError:
            return 0

    @curves_height.setter
    def curves_height(self, height: int) -> None:
        self._store.setValue("curves_height", height)

    def _names(self, key: str) -> tuple[str, ...]:
        stored: Any = self._store.value(key, [])
        # QSettings reads a list of one entry as a string.
        return (stored,) if isinstance(stored, str) else tuple(stored or ())
