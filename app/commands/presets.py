"""Presets of parameters: save those of a block under a name, and give them to other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog, QMessageBox

from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import (
    Batch,
    PresetName,
    SetParameters,
    preset_type,
    preset_values,
    with_preset,
)

if TYPE_CHECKING:
    from gradwire.app.panels.workspace import Workspace
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Presets

_ANSWER = QMessageBox.StandardButton


class PresetCommands(WindowPart):
    """Saves, applies, renames and deletes presets; all blocks that get one are one undo."""

    def __init__(self, workspace: Workspace, presets: Presets) -> None:
        super().__init__(workspace)
        self._presets = presets

    def offered(self) -> list[PresetName]:
        """The presets for the type of the selected blocks; raises FileError."""
        kind = self._kind()
        return [preset for preset in self._presets.names() if preset.type_name == kind]

    def save(self) -> None:
        """Ask for a name, and save the parameters of the selected block under it."""
        chosen = self._chosen()
        kind = self._kind()
        if len(chosen) != 1 or not kind:
            self._canvas.hint(self.tr("Select one block that has parameters."))
            return
        (block,) = chosen.values()
        name, accepted = QInputDialog.getText(
            self._frame,
            self.tr("Save as preset"),
            self.tr("Name of these parameters of {0}:").format(kind),
        )
        preset = PresetName(kind, name.strip())
        if accepted and preset.name:
            self._save(preset, block)

    def apply(self, preset: PresetName) -> None:
        """Give the selected blocks the parameters of a preset, or none of them if one can't."""
        page = self._navigation.page
        if self._kind() != preset.type_name:
            self._canvas.hint(self.tr("Select blocks of type {0}.").format(preset.type_name))
            return
        changes = []
        try:
            values = self._presets.values(preset)
            for name, block in self._chosen().items():
                if with_preset(block, values) != block:
                    changes.append(SetParameters(name, values, page))
        except GradwireError as error:
            text = self.tr("Preset “{0}” was not applied. {1}").format(preset.name, error)
            self._document.problem.emit(text)
            return
        if changes:
            label = self.tr("Apply preset {0}").format(preset.name)
            self._document.apply(Batch(label, tuple(changes)))
        else:
            self._canvas.hint(self.tr("The parameters are those of “{0}”.").format(preset.name))

    def rename(self) -> None:
        """Ask which preset to rename, and how."""
        title = self.tr("Rename preset")
        try:
            preset = self._ask(title)
            if preset is None:
                return
            name, accepted = QInputDialog.getText(
                self._frame, title, self.tr("New name:"), text=preset.name
            )
            name = name.strip()
            if accepted and name not in ("", preset.name):
                self._presets.rename(preset, name)
                text = self.tr("Preset “{0}” is called “{1}” now.")
                self._say(text.format(preset.name, name))
        except GradwireError as error:
            self._document.problem.emit(self.tr("No preset was renamed. {0}").format(error))

    def delete(self) -> None:
        """Ask which preset to delete."""
        try:
            preset = self._ask(self.tr("Delete preset"))
            if preset is not None:
                self._presets.remove(preset)
                self._say(self.tr("Preset “{0}” is deleted.").format(preset.name))
        except GradwireError as error:
            self._document.problem.emit(self.tr("No preset was deleted. {0}").format(error))

    def _ask(self, title: str) -> PresetName | None:
        """The preset that the user chooses, those for the selected blocks first; raises
        FileError.
        """
        kind = self._kind()
        names = sorted(self._presets.names(), key=lambda preset: preset.type_name != kind)
        if not names:
            self._canvas.hint(self.tr("There are no presets."))
            return None
        lines = [f"{preset.type_name}: {preset.name}" for preset in names]
        line, accepted = QInputDialog.getItem(
            self._frame, title, self.tr("Preset:"), lines, 0, False
        )
        return names[lines.index(line)] if accepted else None

    def _save(self, preset: PresetName, block: Block) -> None:
        values, large = preset_values(block)
        try:
            if preset in self._presets.names() and not self._may_replace(preset):
                return
            self._presets.put(preset, values)
        except GradwireError as error:
            text = self.tr("Preset “{0}” was not saved. {1}").format(preset.name, error)
            self._document.problem.emit(text)
            return
        text = self.tr("Preset “{0}” is saved.")
        if large:
            text = self.tr("Preset “{0}” is saved without {1}, too large for a preset.")
        self._say(text.format(preset.name, ", ".join(large)))

    def _may_replace(self, preset: PresetName) -> bool:
        box = QMessageBox(self._frame)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(self.tr("Save as preset"))
        text = self.tr("{0} has a preset “{1}”. Replace it?")
        box.setText(text.format(preset.type_name, preset.name))
        box.setStandardButtons(_ANSWER.Yes | _ANSWER.No)
        box.setDefaultButton(_ANSWER.No)
        answer = box.exec()
        box.deleteLater()
        return answer == _ANSWER.Yes

    def _chosen(self) -> dict[str, Block]:
        blocks = self._page.blocks
        return {name: blocks[name] for name in sorted(self._canvas.selection())}

    def _kind(self) -> str:
        """The type of all selected blocks, if they have parameters; or else empty."""
        kinds = {preset_type(block) for block in self._chosen().values()}
        return kinds.pop() if len(kinds) == 1 else ""
