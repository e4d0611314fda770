"""The user's favourite blocks and recently added ones; both are listed before all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from gradwire.app.services.settings import Settings

_MAX_USED = 8


class Favourites(QObject):
    """Type names of blocks, stored in ``settings`` if given, or else only for this run."""

    changed = Signal()
    """A block has become a favourite, or is one no longer."""

    def __init__(self, settings: Settings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._starred = () if settings is None else settings.starred
        self._used = () if settings is None else settings.used

    @property
    def starred(self) -> tuple[str, ...]:
        """Favourite blocks, in the order they were starred."""
        return self._starred

    @property
    def used(self) -> tuple[str, ...]:
        """Recently added blocks, most recent first."""
        return self._used

    def toggle(self, type_name: str) -> None:
        """Add a block to the favourites, or remove it."""
        if type_name in self._starred:
            self._starred = tuple(name for name in self._starred if name != type_name)
        else:
            self._starred = (*self._starred, type_name)
        if self._settings is not None:
            self._settings.starred = self._starred
        self.changed.emit()

    def use(self, type_name: str) -> None:
        """Remember an added block; nothing happens for a page, which has an empty type name."""
        if not type_name:
            return
        others = [name for name in self._used if name != type_name]
        self._used = (type_name, *others)[:_MAX_USED]
        if self._settings is not None:
            self._settings.used = self._used
