"""Blocks that the user marked with a star, and those added last: both stand before the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from app.services.settings import Settings

_MAX_USED = 8


class Favourites(QObject):
    """Type names of blocks, kept in ``settings`` where there are any, else for this run."""

    changed = Signal()
    """Another block has a star, or one less."""

    def __init__(self, settings: Settings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._starred = () if settings is None else settings.starred
        self._used = () if settings is None else settings.used

    @property
    def starred(self) -> tuple[str, ...]:
        """Blocks with a star, in the order they got it."""
        return self._starred

    @property
    def used(self) -> tuple[str, ...]:
        """Blocks that were added, the last one first."""
        return self._used

    def toggle(self, type_name: str) -> None:
        """Give a block a star, or take it away."""
        if type_name in self._starred:
            self._starred = tuple(name for name in self._starred if name != type_name)
        else:
            self._starred = (*self._starred, type_name)
        if self._settings is not None:
            self._settings.starred = self._starred
        self.changed.emit()

    def use(self, type_name: str) -> None:
        """A block was added; a page of a diagram has no type to be remembered by."""
        if not type_name:
            return
        others = [name for name in self._used if name != type_name]
        self._used = (type_name, *others)[:_MAX_USED]
        if self._settings is not None:
            self._settings.used = self._used
