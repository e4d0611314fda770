"""The settings that the editor keeps between sessions.

Their file may have been damaged, or written by anything. So each value is checked when it is read:
in place of one that can't be, there is the default, and ``damaged`` names it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QByteArray, QSettings, QStandardPaths

from gradwire.app.services import theme
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import PROMPT, answered
from gradwire.runtime.engine.session.engines import NAMES
from gradwire.runtime.flow import OLDER_THRESHOLDS, Thresholds
from gradwire.runtime.lessons import user_file

_T = TypeVar("_T")

_MAX_TEXT = 200_000
"""Characters of the longest text that is taken."""
_LONGEST_PATH, _LONGEST_NAME = 4_095, 255
"""Characters of a path and bytes of each of its names, beyond which no system has one."""
_MAX_NAMES = 1_000
_TALLEST = 10_000
"""Height of a panel, px, at most."""
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
        self._damaged: dict[str, bool] = {}
        """Keys of values that can't be taken, and whether that was said."""

    def newly_damaged(self) -> tuple[str, ...]:
        """Keys of stored values that can't be taken, each the first time that it was found."""
        for name in dir(type(self)):
            if isinstance(getattr(type(self), name), property):
                getattr(self, name)
        found = tuple(key for key, said in self._damaged.items() if not said)
        self._damaged = dict.fromkeys(self._damaged, True)
        return found

    @property
    def recent(self) -> list[Path]:
        """Recently opened files that still exist, most recent first."""
        remembered = self.remembered
        with suppress(FileError):
            return answered(Path(), lambda: [*filter(os.path.exists, remembered)], PROMPT)
        return []  # a drive does not answer

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
        return Path(self._read("library", _path, "") or self._library)

    @library.setter
    def library(self, folder: Path) -> None:
        self._store.setValue("library", str(folder))

    @property
    def shortcuts(self) -> str:
        """The changed shortcuts as JSON; empty if all are as by default."""
        return self._read("shortcuts", _object, "")

    @shortcuts.setter
    def shortcuts(self, text: str) -> None:
        self._store.setValue("shortcuts", text)

    @property
    def learner(self) -> str:
        """The name that is written into files of answers; empty until it was asked for."""
        return self._read("learner", _text, "")

    @learner.setter
    def learner(self, name: str) -> None:
        self._store.setValue("learner", name)

    @property
    def engine(self) -> str:
        """Name of the engine that computes."""
        return self._read("engine", _one_of(NAMES), "numpy")

    @engine.setter
    def engine(self, name: str) -> None:
        self._store.setValue("engine", name)

    @property
    def theme(self) -> str:
        """Name of the chosen theme; ``system`` follows the desktop."""
        return self._read("theme", _one_of(("system", *theme.THEMES)), "system")

    @theme.setter
    def theme(self, name: str) -> None:
        self._store.setValue("theme", name)

    @property
    def text(self) -> str:
        """Text size: ``small``, ``normal`` or ``large``."""
        return self._read("text", _one_of(theme.TEXT_SIZES), "normal")

    @text.setter
    def text(self, size: str) -> None:
        self._store.setValue("text", size)

    @property
    def rate(self) -> float:
        """Learning rate of gradient steps."""
        return self._read("rate", _positive, 0.1)

    @rate.setter
    def rate(self, rate: float) -> None:
        self._store.setValue("rate", rate)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the numeric states, such as vanishing and exploding."""
        default = Thresholds()
        older = {newer: name for name, newer in OLDER_THRESHOLDS.items()}
        return Thresholds(
            **{
                name: self._read(
                    f"thresholds/{name}",
                    _positive,
                    self._read(f"thresholds/{older[name]}", _positive, number)
                    if name in older
                    else number,
                )
                for name, number in asdict(default).items()
            }
        )

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        for field in fields(thresholds):
            self._store.setValue(f"thresholds/{field.name}", getattr(thresholds, field.name))

    @property
    def reduced_motion(self) -> bool:
        """Whether animations are turned off."""
        return self._read("still", _flag, False)

    @reduced_motion.setter
    def reduced_motion(self, reduced: bool) -> None:
        self._store.setValue("still", "true" if reduced else "false")

    @property
    def wire_numbers(self) -> str:
        """The numbers beside wires: ``value``, ``gradient``, ``both`` or ``none``."""
        return self._read(
            "wire_numbers", _one_of(("value", "gradient", "both", "none")), "gradient"
        )

    @wire_numbers.setter
    def wire_numbers(self, numbers: str) -> None:
        self._store.setValue("wire_numbers", numbers)

    @property
    def numbered_wires(self) -> str:
        """The wires with numbers: ``all``, or those of the ``selection``."""
        return self._read("numbered_wires", _one_of(("all", "selection")), "selection")

    @numbered_wires.setter
    def numbered_wires(self, wires: str) -> None:
        self._store.setValue("numbered_wires", wires)

    @property
    def picture(self) -> dict[str, str]:
        """The options of the last exported picture, as texts."""
        self._store.beginGroup("picture")
        keys = self._store.childKeys()
        self._store.endGroup()
        found = {key: self._read(f"picture/{key}", _text, "") for key in keys}
        return {key: text for key, text in found.items() if text}

    @picture.setter
    def picture(self, options: Mapping[str, str]) -> None:
        for key, value in options.items():
            self._store.setValue(f"picture/{key}", value)

    @property
    def toolbar(self) -> bool:
        """Whether the tool bar is shown."""
        return self._read("toolbar", _flag, True)

    @toolbar.setter
    def toolbar(self, shown: bool) -> None:
        self._store.setValue("toolbar", "true" if shown else "false")

    @property
    def tour_taken(self) -> bool:
        """Whether the tour was taken to its end."""
        return self._read("tour_taken", _flag, False)

    @tour_taken.setter
    def tour_taken(self, taken: bool) -> None:
        self._store.setValue("tour_taken", "true" if taken else "false")

    @property
    def arrangement(self) -> tuple[QByteArray, QByteArray, QByteArray]:
        """Geometry and dock states of the last closed window; empty before that.

        The second dock state is the one before all panels were put away.
        """
        geometry, state, kept = (self._read(key, _bytes, QByteArray()) for key in _ARRANGEMENT)
        return geometry, state, kept

    @arrangement.setter
    def arrangement(self, arrangement: tuple[QByteArray, QByteArray, QByteArray]) -> None:
        for key, value in zip(_ARRANGEMENT, arrangement, strict=True):
            self._store.setValue(key, value)

    @property
    def curves_height(self) -> int:
        """Height of the panel of curves, px; 0 until it was open."""
        return self._read("curves_height", _height, 0)

    @curves_height.setter
    def curves_height(self, height: int) -> None:
        self._store.setValue("curves_height", height)

    def _names(self, key: str) -> tuple[str, ...]:
        return self._read(key, _texts, ())

    def _read(self, key: str, taken: Callable[[Any], _T], default: _T) -> _T:
        """What ``taken`` makes of a stored value; the default without one, or if it refuses it."""
        if not self._store.contains(key):
            return default
        try:
            return taken(self._store.value(key))
        except Exception:  # whatever Qt or a check makes of a damaged text: it stops no start
            self._damaged.setdefault(key, False)
            return default


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT or "\0" in value:
        raise ValueError
    return value


def _path(value: Any) -> str:
    parts = os.fsencode(_text(value)).replace(b"\\", b"/").split(b"/")
    if len(value) > _LONGEST_PATH or max(map(len, parts)) > _LONGEST_NAME:
        raise ValueError
    return str(value)


def _object(value: Any) -> str:
    if _text(value) and not isinstance(json.loads(value), dict):
        raise TypeError
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]  # QSettings reads one of one as a text
    if value is None:
        return ()  # and an empty one as nothing
    if len(found) > _MAX_NAMES:
        raise ValueError
    return tuple(_text(each) for each in found if each)


def _one_of(names: Collection[str]) -> Callable[[Any], str]:
    def taken(value: Any) -> str:
        if _text(value) not in names:
            raise ValueError
        return str(value)

    return taken


def _flag(value: Any) -> bool:
    return ("false", "true").index(str(value).lower()) == 1


def _positive(value: Any) -> float:
    found = float(str(value))
    if not 0.0 < found < math.inf:
        raise ValueError
    return found


def _height(value: Any) -> int:
    found = int(str(value))
    if not 0 <= found <= _TALLEST:
        raise ValueError
    return found


def _bytes(value: Any) -> QByteArray:
    if not isinstance(value, QByteArray):
        raise TypeError
    return value
