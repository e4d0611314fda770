"""The sheet of all shortcuts, beside the diagram: search them, change them, share them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gradwire.app.canvas.input.bindings import MOUSE
from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import (
    line_edit,
    make_column,
    make_row,
    path_to_open,
    path_to_save,
    push_button,
)
from gradwire.app.services.keymap import MAX_CHARACTERS, Keymap, KeymapError, native
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import read_regular, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradwire.app.services.keymap import Binding, Keymap

_SLOT = Qt.ItemDataRole.UserRole
_SUFFIX = ".shortcuts.json"


class ShortcutSheet(Dialog):
    """Every key by menu, those of the canvas, and the mouse; typing narrows the list.

    An action that several keys belong to, such as arrows, has a line for each below it.
    """

    def __init__(self, keymap: Keymap, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self._keymap = keymap
        hint, name = self.tr("Search actions and keys"), self.tr("Search shortcuts")
        self.line = line_edit(self, hint, name, clears=True)
        self.line.textChanged.connect(self._search)
        self.line.installEventFilter(self)
        self.list = self._empty_list()
        self.editor = KeyEditor(keymap, self)
        self.message = labels.plain(parent=self)
        make_column(self, self.line, (self.list, 1), self.editor, self._footer(), margins=None)
        self.resize(760, 620)
        keymap.changed.connect(self._fill)
        self._fill()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.line.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go from the search line to the list by an arrow."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down:
                self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
                if lines := [line for line in self.lines() if not line.isHidden()]:
                    self.list.setCurrentItem(lines[0])
                return True
        return super().eventFilter(watched, event)

    def lines(self) -> Iterator[QTreeWidgetItem]:
        """The lines of all sections; those that don't match the search are hidden."""
        for section in _children(self.list.invisibleRootItem()):
            yield from _children(section)

    def export(self, path: Path) -> None:
        """Write all shortcuts to a file."""
        try:
            replace_file(path, self._keymap.to_text().encode())
        except (OSError, FileError) as error:
            self.message.setText(self.tr("{0} was not written. {1}").format(path.name, error))
        else:
            self.message.setText(self.tr("Written to {0}.").format(path.name))

    def take(self, path: Path) -> None:
        """Take all shortcuts from a file; one with an error changes nothing."""
        try:
            self._keymap.from_text(read_regular(path, MAX_CHARACTERS).decode("utf-8"))
        except (KeymapError, FileError, OSError, UnicodeDecodeError) as error:
            self.message.setText(self.tr("{0} was not taken. {1}").format(path.name, error))
        else:
            self.message.setText(self.tr("Taken from {0}.").format(path.name))

    def _empty_list(self) -> QTreeWidget:
        made = QTreeWidget(self)
        made.setHeaderLabels([self.tr("Action"), self.tr("Keys")])
        made.setAccessibleName(self.tr("Shortcuts"))
        made.setUniformRowHeights(True)
        made.header().setStretchLastSection(False)
        made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        made.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Interactive)
        made.header().resizeSection(1, 230)
        made.currentItemChanged.connect(self._select)
        made.itemActivated.connect(lambda: self.editor.field.setFocus())
        return made

    def _footer(self) -> QHBoxLayout:
        buttons: dict[str, Callable[[], object]] = {
            self.tr("Reset All"): self._keymap.reset_all,
            self.tr("Import…"): self._choose_import,
            self.tr("Export…"): self._choose_export,
            self.tr("Close"): self.close,
        }
        made = (push_button(self, text, act, takes_enter=False) for text, act in buttons.items())
        return make_row(None, (self.message, 1), *made)

    def _fill(self) -> None:
        """List everything again; the selected slot stays selected."""
        current = self.list.currentItem()
        chosen = current.data(0, _SLOT) if current is not None else None
        self.list.blockSignals(True)
        self.list.clear()
        for title, rows in groupby(self._keymap.bindings.values(), key=lambda row: row.section):
            section = self._section(editor.tr(title).replace("&", ""))
            for binding in rows:
                self._add(section, binding, chosen)
        mouse = self._section(self.tr("Mouse, and the same by keyboard"))
        for way in MOUSE:
            what, effect, keys = (
                self._keymap.spell(editor.tr(text)) for text in (way.mouse, way.text, way.keys)
            )
            line = QTreeWidgetItem(mouse, [f"{what}: {effect}", keys])
            line.setToolTip(0, tooltip(line.text(0)))
            line.setToolTip(1, tooltip(line.text(1)))
        self.list.blockSignals(False)
        self._search(self.line.text())
        if (current := self.list.currentItem()) is not None:
            self.list.scrollToItem(current)
        self.editor.show_slot(chosen)

    def _section(self, title: str) -> QTreeWidgetItem:
        made = QTreeWidgetItem(self.list, [title])
        font = made.font(0)
        font.setBold(True)
        made.setFont(0, font)
        made.setFlags(Qt.ItemFlag.ItemIsEnabled)
        made.setFirstColumnSpanned(True)
        made.setExpanded(True)
        return made

    def _add(
        self, section: QTreeWidgetItem, binding: Binding, chosen: tuple[str, int] | None
    ) -> None:
        keymap, id = self._keymap, binding.id
        made = QTreeWidgetItem(section, [keymap.text(id), keymap.shown(id)])
        made.setToolTip(0, tooltip(editor.tr(binding.tip) or made.text(0)))
        _embolden(made, keymap.is_changed(id))
        lines = [made]
        if len(binding.defaults) > 1:
            for default, key in zip(binding.defaults, keymap.keys(id), strict=True):
                lines.append(line := QTreeWidgetItem(made, [native(default), native(key)]))
                _embolden(line, key != default)
            lines.remove(made)
        for slot, line in enumerate(lines):
            line.setData(0, _SLOT, (id, slot))
            if (id, slot) == chosen:
                self.list.setCurrentItem(line)

    def _search(self, sought: str) -> None:
        words = sought.casefold().split()
        for section in _children(self.list.invisibleRootItem()):
            found = [_show_if(line, words) for line in _children(section)]
            section.setHidden(not any(found))
        self.list.scrollToTop()

    def _select(self, item: QTreeWidgetItem | None) -> None:
        self.editor.show_slot(None if item is None else item.data(0, _SLOT))

    def _choose_export(self) -> None:
        title, start = self.tr("Export shortcuts"), f"gradwire{_SUFFIX}"
        if (path := path_to_save(self, title, f"*{_SUFFIX}", start)) is not None:
            self.export(path)

    def _choose_import(self) -> None:
        if (path := path_to_open(self, self.tr("Import shortcuts"), "*.json")) is not None:
            self.take(path)


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = (item.child(number) for number in range(item.childCount()))
    return [child for child in found if child is not None]


def _embolden(item: QTreeWidgetItem, is_changed: bool) -> None:
    font = item.font(1)
    font.setBold(is_changed)
    item.setFont(1, font)


def _show_if(item: QTreeWidgetItem, words: list[str]) -> bool:
    """Show a line if its text and keys have all of the words; return whether they do."""
    text = f"{item.text(0)} {item.text(1)}".casefold()
    matches = all(word in text for word in words)
    item.setHidden(not matches)
    return matches


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
        self.assign = push_button(self, self.tr("Assign"), self._assign, takes_enter=False)
        self.remove = push_button(self, self.tr("Remove"), self._remove, takes_enter=False)
        self.reset = push_button(self, self.tr("Reset"), self._reset, takes_enter=False)
        make_row(self, (self.label, 1), self.field, self.assign, self.remove, self.reset)
        self.show_slot(None)

    def show_slot(self, target: tuple[str, int] | None) -> None:
        """Change the key of a binding's slot; None where there is nothing to change."""
        self._target = target
        with QSignalBlocker(self.field):
            self.field.clear()
        self._show_use()

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
