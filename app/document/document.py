"""The open diagram with its file and undo history; the only place where it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from gradwire.app.document.loading import (
    Loaded,
    Stamp,
    read_file,
    saved_diagram,
    stamp,
    stamp_of_equal,
    write_file,
)
from gradwire.app.document.merging import Preview, Swap, continues, merge_key, same_values
from gradwire.app.services.background import Cancelled, JobRunner, at_once
from gradwire.blocks.errors import GradwireError, shortened
from gradwire.runtime import diagram as files
from gradwire.runtime.diagram import Arrange, Batch, Diagram, at_home, same_meaning
from gradwire.runtime.interchange import DEFAULTS, ImportOptions

_T = TypeVar("_T")

UNDO_LIMIT = 1_000
"""Changes that can be undone; the oldest are dropped beyond that."""

_LONGEST_TITLE = 200
"""Characters of a title that a window and messages show."""
LARGE_DIAGRAM = 1_000
"""Number of blocks from which changes to the whole diagram run in the background."""


class Document(QObject):
    """One diagram, its file, and an undo stack of snapshots.

    Every edit goes through ``apply`` and is one undo. While a hand moves, ``preview`` shows what
    the edit would be. A failed operation emits ``problem`` and leaves diagram, file and history
    unchanged. ``runner`` works on files; the diagram may have changed when it returns.
    """

    diagramChanged = Signal(object)
    """The Diagram as it is now: after an edit, an undo, a redo or an open."""
    opened = Signal()
    """Another diagram replaces the open one; ``diagramChanged`` follows."""
    pathChanged = Signal(object)
    """The Path of the file, or None."""
    cleanChanged = Signal(bool)
    """Whether the file matches the diagram."""
    upgraded = Signal(str)
    """What reading a file of an older version changed."""
    historyChanged = Signal()
    """A change was made, undone, redone or merged, or another state matches the file."""
    saved = Signal()
    """The file matches the diagram: it was written, or read again."""
    succeeded = Signal(object)
    """What was asked for is done: the Paths of the files that were written, the first one first."""
    restored = Signal(object, object)
    """An undo or redo replaced the first Diagram by the second; follows ``diagramChanged``."""
    problem = Signal(str)
    """What failed, where, and what to do about it."""

    def __init__(self, parent: QObject | None = None, runner: JobRunner = at_once) -> None:
        super().__init__(parent)
        self._runner = runner
        self._busy = False
        self._diagram = Diagram()
        self._path: Path | None = None
        self._stamp: Stamp | None = None
        self._last_edit: tuple[Hashable, float] | None = None
        self._jumping = False
        self.is_restoring = False
        """Whether ``diagramChanged`` is about an undo or a redo; ``restored`` follows."""
        self._is_practice = False
        self._preview: Preview | None = None
        self._run: Swap | None = None
        """The last change if it is that of a run which may go on."""
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(UNDO_LIMIT)
        self.undo_stack.cleanChanged.connect(self.cleanChanged)
        self.undo_stack.cleanChanged.connect(self.historyChanged)
        self.undo_stack.indexChanged.connect(self.historyChanged)

    @property
    def diagram(self) -> Diagram:
        """The diagram as it is now."""
        return self._diagram

    @property
    def path(self) -> Path | None:
        """The file of the diagram; None until it is saved."""
        return self._path

    @property
    def stamp(self) -> Stamp | None:
        """The stamp of the file when it was last read or written here; None without a file."""
        return self._stamp

    @property
    def name(self) -> str:
        """The name of the file, or else the title of the diagram."""
        if self._path is not None:
            return self._path.name
        return shortened(self._diagram.title, _LONGEST_TITLE) or self.tr("Untitled")

    @property
    def is_clean(self) -> bool:
        """Whether closing would lose nothing, as always with what is only for practice."""
        return self._is_practice or self.undo_stack.isClean()

    @property
    def busy(self) -> bool:
        """Whether its file is being read or written, or a large change is being computed."""
        return self._busy

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was opened or drawn, so that another diagram may replace this one."""
        empty = not any(page.blocks or page.notes for page in self._diagram.pages.values())
        return empty and self._path is None and self.is_clean

    def apply(self, change: files.Change) -> bool:
        """Apply ``change`` as one undo; emit ``problem`` and return False if it is refused.

        It replaces the preview.
        """
        preview, self._preview = self._preview, None
        if preview is None:
            return self._apply(change, merge_key(change))
        self._diagram = preview.before
        made = self._apply(change, None, preview)
        if self._diagram is preview.before:  # refused, or without effect
            self._show(preview.before)
        return made

    @property
    def is_previewing(self) -> bool:
        """Whether the diagram shows a change that is not made yet."""
        return self._preview is not None

    def preview(self, change: files.Change | None) -> bool:
        """Show the diagram with ``change`` without making it; None ends the preview.

        Each preview replaces the one before. Whatever else changes the diagram ends it.
        """
        preview, self._preview = self._preview, None
        before = self._diagram if preview is None else preview.before
        if change is None:
            if preview is not None:
                self._show(before)
            return True
        try:
            after = files.apply(before, change).after
        except GradwireError as error:
            self._show(before)
            self.problem.emit(str(error))
            return False
        self._preview = Preview(before, change, after)
        self._show(after)
        return True

    def advance(self, change: Callable[[Diagram], Diagram], label: str) -> None:
        """Show how far a run has come: all that it changes until ``settle`` is one undo.

        Whatever else changes the diagram meanwhile is an undo of its own, which leaves the run as
        it is, unless it changes variables: then the run goes on as another undo. A preview goes on.
        """
        preview, self._preview = self._preview, None
        if preview is not None:
            self._diagram = preview.before
        after = change(self._diagram)
        if self._run is None and same_meaning(after, self._diagram):
            self._show(after)
        elif self._run is None or (edits := self._edits_since(self._run)) is None:
            self._run = self._push(after, label, None)
        else:
            known = [(self._diagram, after)]

            def changed(diagram: Diagram) -> Diagram:
                for before, then in known:
                    if before is diagram:
                        return then
                known.append((diagram, change(diagram)))
                return known[-1][1]

            self._run.amend(changed)
            for edit in edits:
                edit.rebase(changed)
            self._show(after)
        if preview is not None:
            self.preview(preview.change)

    def _edits_since(self, run: Swap) -> list[Swap] | None:
        """What was done since a run began, and undone; None if the run can't go on below it."""
        stack, found = self.undo_stack, list[Swap]()
        for place in reversed(range(stack.count())):
            command = stack.command(place)
            assert isinstance(command, Swap)
            if command is run:  # what is saved stays as it is
                return found if stack.cleanIndex() <= place else None
            found.append(command)
        return None

    def settle(self) -> None:
        """End the run that ``advance`` showed: the next one is another undo."""
        self._run = None

    def _apply(self, change: files.Change, key: Hashable, preview: Preview | None = None) -> bool:
        diagram = self._diagram
        try:
            edit = self._edit(diagram, change)
        except GradwireError as error:
            self.problem.emit(str(error))
            return False
        except Cancelled:
            return False
        if diagram is not self._diagram:
            self.problem.emit(
                self.tr("{0} was not applied: the diagram changed meanwhile.").format(edit.label)
            )
            return False
        if edit.after != self._diagram:
            shown = preview is not None and preview.after == edit.after
            # What is shown already keeps its identity, so that it is not evaluated again.
            self._push(preview.after if preview and shown else edit.after, edit.label, key)
        return True

    def jump(self, index: int) -> None:
        """Undo or redo until ``index`` changes are done; what lies between is never shown."""
        before, self._jumping = self._diagram, True
        try:
            self.undo_stack.setIndex(index)
        finally:
            self._jumping = False
        if self._diagram is not before:
            self._finish_restore(before)

    def compute(self, text: str, job: Callable[[], _T], *, large: bool) -> _T:
        """Run ``job`` and return its result; a ``large`` job runs in the background.

        Raises whatever the job raises, and Cancelled.
        """
        return self._work(text, lambda pulse: job(), pure=True) if large else job()

    def new(self) -> None:
        """Start an empty diagram without a file."""
        self._begin(Diagram(), None)

    def practise(self, diagram: Diagram) -> None:
        """Show a diagram to practise on in place of the open one, whose file is left alone.

        Nothing of it needs to be saved, and undo goes back to here at most.
        """
        self._start_anew(None, None, practice=True)
        self._show(diagram)

    def read(self, path: Path, options: ImportOptions = DEFAULTS) -> Loaded | None:
        """Read a file or import a model; emit ``problem`` and return None if that fails."""
        text, job = self.tr("Opening {0}"), partial(read_file, path, options=options)
        try:
            loaded = self._work(text.format(path.name), job, pure=True)
        except (GradwireError, OSError) as error:
            self.problem.emit(self.tr("{0} was not opened. {1}").format(path.name, error))
            return None
        except Cancelled:
            return None
        self.succeeded.emit(())  # it may be shown in another window
        return loaded

    def adopt(self, loaded: Loaded, *, practice: bool = False) -> None:
        """Replace the open diagram by one that was read, if only for ``practice`` as ``practise``
        does.
        """
        self._begin(loaded.diagram, loaded.path, loaded.stamp, practice=practice)
        if loaded.notice:
            self.upgraded.emit(loaded.notice)

    def open(self, path: Path) -> bool:
        """Open a file; the open diagram stays if it can't be read."""
        if (loaded := self.read(path)) is None:
            return False
        self.adopt(loaded)
        return True

    def reload(self) -> bool:
        """Read the file again, as one undo; the open diagram stays if it can't be read."""
        path = self._path
        assert path is not None
        self.preview(None)
        text = self.tr("Reloading {0}").format(path.name)
        try:
            loaded = self._work(text, partial(read_file, path), pure=True)
        except (GradwireError, OSError) as error:
            self.problem.emit(self.tr("{0} was not reloaded. {1}").format(path.name, error))
            return False
        except Cancelled:
            return False
        if loaded.diagram != self._diagram:
            self._push(loaded.diagram, self.tr("Reload"), None)
        self._mark_saved(loaded.stamp)
        self.succeeded.emit(())
        if loaded.notice:
            self.upgraded.emit(loaded.notice)
        return True

    def changed_on_disk(self) -> bool:
        """Whether another program has changed the file since it was last read or written here."""
        now = stamp(self._path)
        return now is not None and now != self._stamp and not self.matches_file()

    def matches_file(self) -> bool:
        """Whether the file matches this diagram, which then counts as saved."""
        path, diagram = self._path, self._diagram
        assert path is not None
        try:
            text = self.tr("Comparing with {0}").format(path.name)
            before = self._work(text, partial(stamp_of_equal, path, diagram), pure=True)
        except (GradwireError, OSError, Cancelled):
            return False
        if before is not None:
            self._mark_saved(before, diagram)
        return before is not None

    def keep_own(self) -> None:
        """Count as unsaved: another program changed or removed the file, and saving writes it."""
        self._stamp = stamp(self._path)
        self.undo_stack.resetClean()

    def recover(self, diagram: Diagram, path: Path | None) -> None:
        """Open what a crash left unsaved, as an edit of the file it belongs to.

        Undo goes back to the file, or to an empty diagram if there is none.
        """
        known = stamp(path)
        self._begin(saved_diagram(path), path, known)
        self._push(diagram, self.tr("Recovered changes"), None)

    def save(self) -> bool:
        """Write the diagram's file; False if it has none or can't be written."""
        return self._path is not None and self.save_as(self._path)

    def save_as(self, path: Path) -> bool:
        """Write to ``path``, which becomes the diagram's file if that succeeds."""
        self.preview(None)
        diagram = self._diagram
        try:
            text = self.tr("Saving {0}").format(path.name)
            known = self._work(text, partial(write_file, path, diagram))
        except Cancelled:
            return False
        except (GradwireError, OSError) as error:
            self.problem.emit(
                self.tr(
                    "{0} was not saved. {1} Nothing is lost: the diagram is still open. Make "
                    "the folder writable, or choose another one with Save As."
                ).format(path.name, error)
            )
            return False
        self._set_path(path)
        self._is_practice = False  # from now on there is something to lose
        is_current = diagram is self._diagram
        if (home := at_home(self._diagram, path)) is not self._diagram:
            self._show(home)
        self._mark_saved(known, self._diagram if is_current else diagram)
        self.succeeded.emit((path,))
        return True

    def _work(self, text: str, job: Callable[[files.Pulse], _T], *, pure: bool = False) -> _T:
        was_busy, self._busy = self._busy, True
        try:
            return self._runner(text, job, pure=pure)
        finally:
            self._busy = was_busy

    def _edit(self, diagram: Diagram, change: files.Change) -> files.Edit:
        size = sum(len(page.blocks) for page in diagram.pages.values())
        if not isinstance(change, Arrange | Batch) or size < LARGE_DIAGRAM:
            return files.apply(diagram, change)
        text = change.label if isinstance(change, Batch) else self.tr("Arranging")
        return self._work(text, lambda pulse: files.apply(diagram, change), pure=True)

    def _mark_saved(self, known: Stamp | None, diagram: Diagram | None = None) -> None:
        """Record that the file matches ``diagram``, which may be out of date; None: the current."""
        self._last_edit = None
        self._stamp = known
        if diagram is None or diagram is self._diagram:
            self.undo_stack.setClean()
            self.saved.emit()
        else:
            self.undo_stack.resetClean()

    def _begin(
        self,
        diagram: Diagram,
        path: Path | None,
        known: Stamp | None = None,
        *,
        practice: bool = False,
    ) -> None:
        self._start_anew(path, known, practice=practice)
        self.opened.emit()
        self._show(diagram)

    def _start_anew(self, path: Path | None, known: Stamp | None, *, practice: bool) -> None:
        self._last_edit = self._preview = self._run = None
        self._is_practice = practice
        self.undo_stack.clear()
        self._stamp = known
        self._set_path(path)

    def _set_path(self, path: Path | None) -> None:
        if path != self._path:
            self._path = path
            self.pathChanged.emit(path)

    def _push(self, after: Diagram, label: str, key: Hashable) -> Swap:
        if self._run is not None and not same_values(self._diagram, after):
            self._run = None
        swap = Swap(self._diagram, after, label, self._swap_to, self._restore)
        now = time.monotonic()
        swap.continues = continues(self._last_edit, key, now)
        self.undo_stack.push(swap)
        self._last_edit = (key, now)
        return swap

    def _show(self, diagram: Diagram) -> None:
        self._diagram = diagram
        self.diagramChanged.emit(diagram)

    def _swap_to(self, diagram: Diagram) -> None:
        self._preview = None
        self._last_edit = None  # an edit after an undo never merges
        self._show(diagram)

    def _restore(self, diagram: Diagram, swap: Swap) -> None:
        if swap is self._run:
            self._run = None
        before, self._diagram = self._diagram, at_home(diagram, self._path)
        if not self._jumping:
            self._finish_restore(before)

    def _finish_restore(self, before: Diagram) -> None:
        after, self.is_restoring = self._diagram, True
        try:
            self._swap_to(after)
        finally:
            self.is_restoring = False
        self.restored.emit(before, after)
