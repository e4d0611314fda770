"""The keyboard shortcuts as the user has them: defaults, changes, conflicts, and their file.

A shortcut file is a JSON object: ``{"gradwire shortcuts": 1, "keys": {"save": ["Ctrl+S"], …}}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeySequence

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.services.settings import Settings

FIELD = "gradwire shortcuts"
"""The field of a shortcut file that contains its version."""
VERSION = 1
MAX_CHARACTERS = 200_000
"""Length of the longest shortcut file that is read; a complete one has about 8,000."""
_REFERENCE = re.compile(r"\{([\w.]+)\}")

Keys: TypeAlias = tuple[str, ...]
"""Portable names of keys, such as ``Ctrl+S``; empty for none."""


class KeymapError(ValueError):
    """A change of shortcuts that is refused; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a key does. ``defaults`` are several keys if each has its own effect, as arrows do.

    ``shown`` replaces the names of the keys while they are the defaults.
    """

    id: str
    section: str
    text: str
    tip: str = ""
    defaults: Keys = ("",)
    shown: str = ""
    is_fixed: bool = False


class Keymap(QObject):
    """Keys by the id of their binding; changes are kept in ``settings``, if given.

    No key has two bindings.
    """

    changed = Signal()

    def __init__(
        self,
        bindings: Iterable[Binding],
        settings: Settings | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.bindings: Mapping[str, Binding] = {binding.id: binding for binding in bindings}
        self._settings = settings
        self._keys = self._defaults()
        if settings is not None:
            self._restore(settings.shortcuts)

    def keys(self, id: str) -> Keys:
        """The current keys of a binding, in the order of its defaults."""
        return self._keys[id]

    def is_changed(self, id: str) -> bool:
        """Whether a binding has other keys than its defaults."""
        return self._keys[id] != self.bindings[id].defaults

    def shown(self, id: str) -> str:
        """The current keys of a binding as the user reads them; empty without any."""
        binding = self.bindings[id]
        if binding.shown and not self.is_changed(id):
            return binding.shown
        return ", ".join(native(key) for key in self._keys[id] if key)

    def text(self, id: str) -> str:
        """What a binding does, in the user's language and without the mark of a mnemonic."""
        text = editor.tr(self.bindings[id].text)
        return self.spell(text.replace("&", "").removesuffix("…"))

    def spell(self, text: str) -> str:
        """``text`` with each ``{id}`` replaced by the current keys of that binding."""
        return _REFERENCE.sub(lambda found: self.shown(found[1]) or "—", text)

    def holder(self, key: str, id: str, slot: int) -> Binding | None:
        """The binding that uses ``key``, unless it is this slot itself; None if it is free."""
        for other, keys in self._keys.items():
            for place, taken in enumerate(keys):
                if taken == key and (other, place) != (id, slot):
                    return self.bindings[other]
        return None

    def assign(self, id: str, slot: int, key: str, *, take: bool = False) -> None:
        """Give a slot another key, or none if it is empty. Raises KeymapError if it is in use.

        With ``take`` the key is taken from whatever uses it.
        """
        binding = self.bindings[id]
        if binding.is_fixed:
            raise KeymapError(editor.tr("The keys of “{0}” stay.").format(self.text(id)))
        key = normal(key)
        holder = self.holder(key, id, slot) if key else None
        if holder is not None and (holder.is_fixed or not take):
            raise KeymapError(
                editor.tr("{0} is in use: {1}.").format(native(key), self.text(holder.id))
            )
        keys = dict(self._keys)
        if holder is not None:
            keys[holder.id] = tuple("" if taken == key else taken for taken in keys[holder.id])
        keys[id] = (*keys[id][:slot], key, *keys[id][slot + 1 :])
        self._take(keys)

    def reset(self, id: str, slot: int, *, take: bool = False) -> None:
        """Give a slot its default key; raises KeymapError if that is in use."""
        self.assign(id, slot, self.bindings[id].defaults[slot], take=take)

    def reset_all(self) -> None:
        """Give every binding its default keys."""
        self._take(self._defaults())

    def to_text(self) -> str:
        """The shortcuts as a file: all of them, so that it can be read and edited."""
        keys = ",\n".join(
            f"    {json.dumps(id)}: {json.dumps(list(keys))}" for id, keys in self._keys.items()
        )
        return f'{{\n  "{FIELD}": {VERSION},\n  "keys": {{\n{keys}\n  }}\n}}\n'

    def from_text(self, text: str) -> None:
        """Take the shortcuts of a file; those that it lacks get their defaults.

        Raises KeymapError, without any effect, for a file with an error or a conflict.
        """
        self._take(self._defaults() | self._checked(_parsed(text)))

    def _defaults(self) -> dict[str, Keys]:
        return {id: tuple(map(normal, b.defaults)) for id, b in self.bindings.items()}

    def _take(self, keys: dict[str, Keys]) -> None:
        self._refuse_conflicts(keys)
        if keys == self._keys:
            return
        self._keys = keys
        if self._settings is not None:
            changed = {id: list(keys) for id, keys in keys.items() if self.is_changed(id)}
            self._settings.shortcuts = json.dumps(changed) if changed else ""
        self.changed.emit()

    def _restore(self, text: str) -> None:
        """Take stored changes. Defaults that are new since they were made give way to them."""
        try:
            changed = self._checked(json.loads(text)) if text else {}
        except ValueError:
            return  # written by another version
        used = {key for keys in changed.values() for key in keys if key}
        for id, keys in self._keys.items():
            left = (
                keys if self.bindings[id].is_fixed else tuple("" if k in used else k for k in keys)
            )
            self._keys[id] = changed.get(id, left)
        try:
            self._refuse_conflicts(self._keys)
        except KeymapError:
            self._keys = self._defaults()

    def _checked(self, keys: object) -> dict[str, Keys]:
        if not isinstance(keys, dict):
            raise KeymapError(editor.tr("The keys must be an object."))
        for id, given in keys.items():
            binding = self.bindings.get(id)
            if binding is None:
                raise KeymapError(editor.tr("There is no action {0}.").format(repr(id)[:80]))
            count = len(binding.defaults)
            if not (
                isinstance(given, list)
                and len(given) == count
                and all(isinstance(key, str) and (not key or normal(key)) for key in given)
            ):
                raise KeymapError(
                    editor.tr('{0} needs {1} keys such as "Ctrl+S", or "" for none.').format(
                        repr(id), count
                    )
                )
            if binding.is_fixed and tuple(given) != binding.defaults:
                raise KeymapError(editor.tr("The keys of “{0}” stay.").format(self.text(id)))
        return {id: tuple(map(normal, given)) for id, given in keys.items()}

    def _refuse_conflicts(self, keys: Mapping[str, Keys]) -> None:
        holders: dict[str, str] = {}
        for id, own in keys.items():
            for key in filter(None, own):
                if key in holders:
                    one, other = (self.text(at) for at in (holders[key], id))
                    raise KeymapError(
                        editor.tr("{0} has two actions: {1}; {2}.").format(native(key), one, other)
                    )
                holders[key] = id


def normal(key: str) -> str:
    """The portable name of one key with its modifiers; empty for anything else."""
    sequence = QKeySequence(key)
    return sequence.toString() if sequence.count() == 1 else ""


def native(key: str) -> str:
    """A key as the system writes it."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def _parsed(text: str) -> object:
    """The keys of a shortcut file; raises KeymapError if it is none."""
    try:
        document = json.loads(text) if len(text) <= MAX_CHARACTERS else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get(FIELD) != VERSION:
        raise KeymapError(editor.tr("This is no file of Gradwire's shortcuts."))
    return document.get("keys")
