"""The inspector: a form for what is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal

from gradwire.app.canvas.input.previews import Previews
from gradwire.app.panels.inspector.block_form import BlockForm, form_shape
from gradwire.app.panels.inspector.diagram_form import DiagramForm
from gradwire.app.panels.inspector.selection_form import SelectionForm
from gradwire.app.panels.layouts import Sheet
from gradwire.app.panels.pacing import Paced
from gradwire.app.services.background import JobRunner, at_once
from gradwire.app.services.theme import LIGHT, Theme, follow_theme
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram import (
    MAIN,
    ROOT,
    Batch,
    Change,
    Diagram,
    InstancePath,
    PortName,
    RenameBlock,
    SetParameters,
    apply,
    move_out,
    own_variables,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.evaluation.result import EvaluationResult


class Inspector(Sheet):
    """The form of the selected block, a list of several blocks, or the form of the diagram.

    Edits are first checked on the diagram, then emitted as ``changeRequested``. A refused edit
    stays in its field with the reason under it, even after other blocks were selected. While
    ``is_previewing``, a hand moves elsewhere or here: what it does not hold follows a little later.
    """

    changeRequested = Signal(object)
    previewRequested = Signal(object)
    """A Change to show without making it, or None to show the diagram without one."""
    blockRequested = Signal(str)
    """Name of a block of this page that a link points to."""

    def __init__(
        self,
        parent: QWidget | None = None,
        runner: JobRunner = at_once,
        is_previewing: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(parent)
        self._runner = runner
        self._is_previewing = is_previewing
        self._diagram = Diagram()
        self._page = MAIN
        self._blocks: frozenset[str] = frozenset()
        self._result: EvaluationResult | None = None
        self._use = ROOT
        self._theme = LIGHT
        self._drafts: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
        self._contracts: str | None = None
        self._previews = Previews(self, self.previewRequested.emit)
        self._values = Paced(self, self._refresh)
        self._results = Paced(self, self._show_result)
        self._rebuild()
        follow_theme(self)

    @property
    def form(self) -> BlockForm | None:
        """The form of the selected block; None unless exactly one is selected."""
        inner = self.widget()
        return inner if isinstance(inner, BlockForm) else None

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show the selection in another diagram."""
        self._diagram, self._page = diagram, page
        is_elsewhere = self._is_previewing() and not self._previews.is_showing
        self._values.follow(is_moving=is_elsewhere)

    def forget(self) -> None:
        """Discard all drafts, since another diagram is opened."""
        self._drafts.clear()
        self._contracts = None
        if isinstance(self.widget(), DiagramForm):
            self._rebuild()

    def set_selection(self, selection: Selection) -> None:
        """Show the selected blocks, after committing the current field."""
        if selection.blocks == self._blocks:
            return
        if (typing := self.focusWidget()) is not None:
            typing.clearFocus()
        self._blocks = selection.blocks
        self._refresh()

    def set_result(self, result: EvaluationResult | None, use: InstancePath = ROOT) -> None:
        """Show a result; ``use`` is the instance path of the page's current use."""
        self._result, self._use = result, use
        self._previews.result_shown()
        self._results.follow(is_moving=self._is_previewing())

    def _show_result(self) -> None:
        if self.form:
            self.form.show_result(self._result, self._use)
        elif isinstance(inner := self.widget(), DiagramForm):
            inner.training.show_result(self._result)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        if theme != self._theme:
            self._theme = theme
            self._rebuild()

    def focus_name(self) -> None:
        """Put the cursor into the name of the selected block."""
        if self.form:
            self.form.name_line.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.form.name_line.selectAll()

    def _selected(self) -> list[str]:
        """The selected blocks of the page, in its order."""
        blocks = self._diagram.pages[self._page].blocks
        chosen = [name for name in self._blocks if name in blocks]
        return chosen if len(chosen) < 2 else [name for name in blocks if name in self._blocks]

    def _refresh(self) -> None:
        names, form = self._selected(), self.form
        if (
            form is not None
            and names == [form.name]
            and form.shape_of_form == form_shape(self._diagram, self._page, form.name)
        ):
            form.show_block(self._diagram, self._drafts_of(form))
        elif isinstance(inner := self.widget(), DiagramForm) and not names:
            inner.show_diagram(self._diagram)
        elif isinstance(inner, SelectionForm) and inner.fits(self._diagram, self._page, names):
            inner.show_selection(self._diagram)
        else:
            self._rebuild()

    def _rebuild(self) -> None:
        names = self._selected()
        if len(names) == 1:
            self._show_block_form(names[0])
        elif names:
            several = SelectionForm(self._diagram, self._page, names, self._runner)
            several.blockRequested.connect(self.blockRequested)
            several.committed.connect(lambda field, value: self._commit_all(several, field, value))
            several.previewed.connect(lambda field, value: self._preview_all(several, field, value))
            self._show(several)
        else:
            form = DiagramForm(self._diagram, self._contracts)
            form.committed.connect(self.changeRequested)
            form.draftChanged.connect(self._keep_contracts)
            form.training.show_result(self._result)
            self._show(form)

    def _show_block_form(self, name: str) -> None:
        form = BlockForm(self._diagram, self._page, name, self._theme, self._runner)
        form.committed.connect(lambda field, value: self._commit(form, field, value))
        form.previewed.connect(lambda field, value: self._preview(form, field, value))
        form.draftChanged.connect(lambda field, text: self._keep(form, field, text))
        form.renamed.connect(lambda new: self._rename(form, new))
        form.blockRequested.connect(self.blockRequested)
        form.setRequested.connect(
            lambda values: self.changeRequested.emit(SetParameters(form.name, values, form.page))
        )
        form.ownRequested.connect(lambda port, own: self._move(form, port, own=own))
        for field, (text, error) in self._drafts_of(form).items():
            form.show_draft(field, text, error)
        form.show_result(self._result, self._use)
        self._show(form)

    def _keep_contracts(self, draft: str | None) -> None:
        self._contracts = draft

    def _show(self, inner: QWidget) -> None:
        if (old := self.takeWidget()) is not None:
            old.hide()
            old.deleteLater()
        self.setWidget(inner)

    def _drafts_of(self, form: BlockForm) -> dict[str, tuple[str, str]]:
        return self._drafts.setdefault((form.page, form.name), {})

    def _keep(self, form: BlockForm, field: str, text: str | None) -> None:
        drafts = self._drafts_of(form)
        if text is None:
            drafts.pop(field, None)
            form.show_error(field, "")
        else:
            drafts[field] = (text, drafts.get(field, ("", ""))[1])

    def _preview(self, form: BlockForm, field: str, value: object) -> None:
        if value is None:
            self._show_preview(None)
            return
        try:
            values = form.values_of(field, value)
        except GradwireError:
            return
        self._show_preview(SetParameters(form.name, values, form.page))

    def _preview_all(self, form: SelectionForm, field: str, value: object) -> None:
        self._show_preview(None if value is None else _set_all(form, field, value))

    def _show_preview(self, change: Change | None) -> None:
        """Show a number while it is dragged; one that would be refused is not shown."""
        if change is None or self._refusal(change) is None:
            self._previews.put(change)

    def _commit_all(self, form: SelectionForm, field: str, value: object) -> None:
        """Give a parameter of all selected blocks the same value, as one undo."""
        change = _set_all(form, field, value)
        self._previews.stop()
        reason = self._refusal(change)
        form.show_error(field, reason or "")
        if reason is None:
            self.changeRequested.emit(change)
        else:
            self._previews.put(None)

    def _commit(self, form: BlockForm, field: str, value: object) -> None:
        drafts = self._drafts_of(form)
        self._previews.stop()
        try:
            change = SetParameters(form.name, form.values_of(field, value), form.page)
            reason = self._refusal(change)
        except GradwireError as error:
            reason = _sentences(error)
        if reason is None:
            drafts.pop(field, None)
            self.changeRequested.emit(change)
        else:
            self._previews.put(None)
            if not isinstance(value, Tensor):  # generated or loaded, not typed
                drafts[field] = (drafts.get(field, (str(value), ""))[0], reason)
            form.show_error(field, reason)

    def _move(self, form: BlockForm, port: str, *, own: bool) -> None:
        """Give an input a variable of its own, or move it out of the block."""
        target = PortName(form.name, port)
        make = own_variables if own else move_out
        self.changeRequested.emit(make(self._diagram, form.page, [target]))

    def _rename(self, form: BlockForm, new: str) -> None:
        change = RenameBlock(form.name, new, form.page)
        reason = self._refusal(change)
        form.show_name_error(reason or "")
        if reason is None:
            self.changeRequested.emit(change)

    def _refusal(self, change: Change) -> str | None:
        try:
            apply(self._diagram, change)
        except GradwireError as error:
            return _sentences(error)
        return None


def _sentences(error: GradwireError) -> str:
    return " ".join(filter(None, (error.what, error.next_step)))


def _set_all(form: SelectionForm, field: str, value: object) -> Batch:
    """The change that gives a parameter of several blocks the same value."""
    changes = tuple(SetParameters(name, {field: value}, form.page) for name in form.names)
    return Batch(f"Change {field} of {len(form.names)} blocks", changes)
