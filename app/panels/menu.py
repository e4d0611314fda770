"""Menus that keep the keys pressed while they are open, and say why an item is disabled."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QMenu, QToolTip, QWidget


class Menu(QMenu):
    """A menu in which a letter chooses an item, and is no shortcut of what lies behind it."""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            action = self.actionAt(event.pos())
            is_off = action is not None and not action.isEnabled()
            QToolTip.showText(event.globalPos(), action.toolTip() if is_off else "", self)
            return True
        return super().event(event)


class MenusOfQt(QObject):
    """Does the same for the menus that Qt makes where a bar has no room for all of its items."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        for menu in parent.findChildren(QMenu):
            if not isinstance(menu, Menu):
                self.keep_keys(menu)

    def keep_keys(self, menu: QMenu) -> None:
        """Do the same for a menu that Qt has made since."""
        menu.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return False
