"""The bar that gives one action another key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QKeySequenceEdit, QLineEdit, QPushButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.keymap import Keymap, KeymapError, native

if TYPE_CHECKING:
    from collections.abc import Callable


class KeyEditor(QWidget):
    """Records a key for one slot of a binding; says who uses it, and takes it only on request."""

    def __init__(self, keymap: Keymap, parent: QWidget) -> None:
        super().__init__(parent)
        self._keymap = keymap
        self._target: tuple[str, int] | None = None
        self.label = labels.plain(parent=self)
        self.field = QKeySequenceEdit(self)
        self.field.setMaximumSequenceLength(1)
        self.field.setAccessibleName(self.tr("New key"))
        self.field.setToolTip(self.tr("Press the new key"))
        self.field.keySequenceChanged.connect(self._show_use)
        if (line := self.field.findChild(QLineEdit)) is not None:
            line.setPlaceholderText(self.tr("Press a key"))
        self.assign = self._button(self.tr("Assign"), self._assign)
        self.remove = self._button(self.tr("Remove"), self._remove)
        self.reset = self._button(self.tr("Reset"), self._reset)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.label, 1)
        for widget in (self.field, self.assign, self.remove, self.reset):
            row.addWidget(widget)
        self.show_slot(None)

    def show_slot(self, target: tuple[str, int] | None) -> None:
        """Change the key of a binding's slot; None where there is nothing to change."""
        self._target = target
        self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(False)
        self._show_use()

    def _button(self, text: str, does: Callable[[], None]) -> QPushButton:
        made = QPushButton(text, self)
        made.setAutoDefault(False)
        made.clicked.connect(lambda checked=False: does())
        return made

    def _key(self) -> str:
        return self.field.keySequence().toString()

    def _show_use(self) -> None:
        """Show what is changed, and what uses the key that was pressed."""
        target, keymap = self._target, self._keymap
        binding = None if target is None else keymap.bindings[target[0]]
        can_change = binding is not None and not binding.is_fixed
        for widget in (self.field, self.assign, self.remove, self.reset):
            widget.setEnabled(can_change)
        self.assign.setText(self.tr("Assign"))
        if target is None or binding is None:
            self.label.setText(self.tr("Select an action to change its key."))
            return
        id, slot = target
        now, default = keymap.keys(id)[slot], binding.defaults[slot]
        self.assign.setEnabled(can_change and self._key() not in ("", now))
        self.remove.setEnabled(can_change and bool(now))
        self.reset.setEnabled(can_change and now != default)
        holder = keymap.holder(self._key(), id, slot) if self._key() else None
        if holder is None:
            self.label.setText(keymap.text(id))
        elif holder.is_fixed:
            self.assign.setEnabled(False)
            self.label.setText(
                self.tr("{0} stays with: {1}").format(native(self._key()), keymap.text(holder.id))
            )
        else:
            self.assign.setText(self.tr("Take It"))
            self.label.setText(
                self.tr("{0} is in use: {1}").format(native(self._key()), keymap.text(holder.id))
            )

    def _assign(self) -> None:
        self._change(self._key(), take=True)  # the button has said so

    def _remove(self) -> None:
        self._change("", take=False)

    def _reset(self) -> None:
        """Ask for the default key: as if the user had pressed it, if it is in use."""
        if self._target is None:
            return
        id, slot = self._target
        default = self._keymap.bindings[id].defaults[slot]
        if default and self._keymap.holder(default, id, slot) is not None:
            self.field.setKeySequence(QKeySequence(default))
            self.assign.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._change(default, take=False)

    def _change(self, key: str, *, take: bool) -> None:
        if self._target is None:
            return
        try:
            self._keymap.assign(*self._target, key, take=take)
        except KeymapError as error:
            self.label.setText(str(error))
        else:
            self.show_slot(self._target)
