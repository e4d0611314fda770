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
from typing import Generic, Self, TypeVar, overload

from PySide6.QtCore import QByteArray, QSettings, QStandardPaths

from gradwire.app.services.theme import TEXT_SIZES, THEMES
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


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT or "\0" in value:
        raise ValueError
    return value


def _path(value: object) -> str:
    text = _text(value)
    parts = os.fsencode(text).replace(b"\\", b"/").split(b"/")
    if len(text) > _LONGEST_PATH or max(map(len, parts)) > _LONGEST_NAME:
        raise ValueError
    return text


def _object(value: object) -> str:
    if (text := _text(value)) and not isinstance(json.loads(text), dict):
        raise TypeError
    return text


def _texts(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]  # QSettings reads one of one as a text
    if value is None:
        return ()  # and an empty one as nothing
    if len(found) > _MAX_NAMES:
        raise ValueError
    return tuple(_text(each) for each in found if each)


def _one_of(names: Collection[str]) -> Callable[[object], str]:
    def taken(value: object) -> str:
        if _text(value) not in names:
            raise ValueError
        return str(value)

    return taken


def _flag(value: object) -> bool:
    return ("false", "true").index(str(value).lower()) == 1


def _word(value: bool) -> str:
    return "true" if value else "false"


def _positive(value: object) -> float:
    found = float(str(value))
    if not 0.0 < found < math.inf:
        raise ValueError
    return found


def _height(value: object) -> int:
    found = int(str(value))
    if not 0 <= found <= _TALLEST:
        raise ValueError
    return found


def _bytes(value: object) -> QByteArray:
    if not isinstance(value, QByteArray):
        raise TypeError
    return value


def _system(kind: QStandardPaths.StandardLocation) -> Path:
    """A folder of the system for files of one kind."""
    return Path(QStandardPaths.writableLocation(kind))


class Setting(Generic[_T]):
    """A stored value. Where ``checked`` raises for what the file has, it is the default."""

    def __init__(
        self,
        key: str,
        checked: Callable[[object], _T],
        default: _T,
        stored: Callable[[_T], object] = lambda value: value,
    ) -> None:
        self._key, self._checked, self._default, self.stored = key, checked, default, stored

    @overload
    def __get__(self, settings: None, owner: type) -> Self: ...
    @overload
    def __get__(self, settings: Settings, owner: type) -> _T: ...
    def __get__(self, settings: Settings | None, owner: type) -> Self | _T:
        if settings is None:
            return self
        return settings.read(self._key, self._checked, self._default)

    def __set__(self, settings: Settings, value: _T) -> None:
        settings.write(self._key, self.stored(value))


class Settings:
    """Recent files, favourite blocks, appearance, learning rate, thresholds, window layout."""

    recent_names = Setting[tuple[str, ...]]("recent", _texts, (), list)
    """Names of recently opened files, most recent first."""
    starred = Setting[tuple[str, ...]]("starred", _texts, (), list)
    """Type names of the favourite blocks."""
    used = Setting[tuple[str, ...]]("used", _texts, (), list)
    """Type names of the most recently added blocks, most recent first."""
    commands = Setting[tuple[str, ...]]("commands", _texts, (), list)
    """Keys of the actions last chosen in the command palette, most recent first."""
    shortcuts = Setting("shortcuts", _object, "")
    """The changed shortcuts as JSON; empty if all are as by default."""
    learner = Setting("learner", _text, "")
    """The name that is written into files of answers; empty until it was asked for."""
    engine = Setting("engine", _one_of(NAMES), "numpy")
    """Name of the engine that computes."""
    theme = Setting("theme", _one_of(("system", *THEMES)), "system")
    """Name of the chosen theme; ``system`` follows the desktop."""
    text = Setting("text", _one_of(TEXT_SIZES), "normal")
    """Text size: ``small``, ``normal`` or ``large``."""
    rate = Setting("rate", _positive, 0.1)
    """Learning rate of gradient steps."""
    reduced_motion = Setting("still", _flag, False, _word)
    """Whether animations are turned off."""
    wire_numbers = Setting(
        "wire_numbers", _one_of(("value", "gradient", "both", "none")), "gradient"
    )
    """The numbers beside wires: ``value``, ``gradient``, ``both`` or ``none``."""
    numbered_wires = Setting("numbered_wires", _one_of(("all", "selection")), "selection")
    """The wires with numbers: ``all``, or those of the ``selection``."""
    toolbar = Setting("toolbar", _flag, True, _word)
    """Whether the tool bar is shown."""
    tour_taken = Setting("tour_taken", _flag, False, _word)
    """Whether the tour was taken to its end."""
    curves_height = Setting("curves_height", _height, 0)
    """Height of the panel of curves, px; 0 until it was open."""

    def __init__(self, store: QSettings | None = None) -> None:
        self.store = store or QSettings("Gradwire", "Gradwire")
        own = None if store is None else Path(store.fileName()).parent
        kind = QStandardPaths.StandardLocation
        self.folder = own or _system(kind.StateLocation)
        """The folder for crash recovery."""
        self.presets = (own or _system(kind.AppConfigLocation)) / "presets.json"
        """The file with the user's presets of parameters."""
        self.progress = own / "progress.json" if own else user_file()
        """The file with how far the user is in each lesson."""
        shared = _system(kind.DocumentsLocation) / "Gradwire Library"
        self._library = own / "library" if own else shared
        self._damaged: dict[str, bool] = {}
        """Keys of values that can't be taken, and whether that was said."""

    def newly_damaged(self) -> tuple[str, ...]:
        """Keys of stored values that can't be taken, each the first time that it was found."""
        for name in dir(type(self)):
            if isinstance(getattr(type(self), name), property | Setting):
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
        return [Path(name) for name in self.recent_names]

    def remember(self, path: Path) -> None:
        """Put ``path`` first among the recent files."""
        others = [other for other in self.remembered if other != path.resolve()]
        self.recent_names = tuple(map(str, [path.resolve(), *others][:_MAX_RECENT]))

    def remember_command(self, key: str) -> None:
        """Put an action first among the recent ones."""
        others = [other for other in self.commands if other != key]
        self.commands = (key, *others)[:_MAX_COMMANDS]

    @property
    def library(self) -> Path:
        """The folder of the user's own pages."""
        return Path(self.read("library", _path, "") or self._library)

    @library.setter
    def library(self, folder: Path) -> None:
        self.write("library", str(folder))

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the numeric states, such as vanishing and exploding."""
        older = {newer: name for name, newer in OLDER_THRESHOLDS.items()}

        def threshold(name: str, number: float) -> float:
            return self.read(f"thresholds/{name}", _positive, number)

        return Thresholds(
            **{
                name: threshold(name, threshold(older[name], number) if name in older else number)
                for name, number in asdict(Thresholds()).items()
            }
        )

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds) -> None:
        for field in fields(thresholds):
            self.write(f"thresholds/{field.name}", getattr(thresholds, field.name))

    @property
    def picture(self) -> dict[str, str]:
        """The options of the last exported picture, as texts."""
        self.store.beginGroup("picture")
        keys = self.store.childKeys()
        self.store.endGroup()
        found = {key: self.read(f"picture/{key}", _text, "") for key in keys}
        return {key: text for key, text in found.items() if text}

    @picture.setter
    def picture(self, options: Mapping[str, str]) -> None:
        for key, value in options.items():
            self.write(f"picture/{key}", value)

    @property
    def arrangement(self) -> tuple[QByteArray, QByteArray, QByteArray]:
        """Geometry and dock states of the last closed window; empty before that.

        The second dock state is the one before all panels were put away.
        """
        geometry, state, kept = (self.read(key, _bytes, QByteArray()) for key in _ARRANGEMENT)
        return geometry, state, kept

    @arrangement.setter
    def arrangement(self, arrangement: tuple[QByteArray, QByteArray, QByteArray]) -> None:
        for key, value in zip(_ARRANGEMENT, arrangement, strict=True):
            self.write(key, value)

    def read(self, key: str, taken: Callable[[object], _T], default: _T) -> _T:
        """What ``taken`` makes of a stored value; the default without one, or if it refuses it."""
        if not self.store.contains(key):
            return default
        try:
            return taken(self.store.value(key))
        except Exception:  # whatever Qt or a check makes of a damaged text: it stops no start
            self._damaged.setdefault(key, False)
            return default

    def write(self, key: str, value: object) -> None:
        """Store a value."""
        self.store.setValue(key, value)
