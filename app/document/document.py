"""The open diagram: its file, its history, and the only place that changes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app.document.file_watch import Stamp, stamp
from app.services.background import Cancelled, Runner, at_once
from blocks.errors import GradwireError
from runtime import diagram as files
from runtime.diagram import Arrange, Batch, Diagram, MoveBlocks, SetParameters

_T = TypeVar("_T")

MERGE_SECONDS = 1.0
"""Nudges of the same blocks, and edits of the same field, this close together are one undo."""

LARGE_DIAGRAM = 1_000
"""Blocks from which on a change of many is worked out while the window lives on."""


class Loaded(NamedTuple):
    """What was read from a file. A copy, which saving must not write there, has no path."""

    diagram: Diagram
    path: Path | None
    stamp: Stamp | None
    notice: str = ""
    """What was changed in an older file so that it means what it did."""

    def copy(self) -> Loaded:
        """The same, as a diagram without a file."""
        return Loaded(self.diagram, None, None, self.notice)


class Document(QObject):
    """One diagram, where it is stored, and an undo stack of snapshots.

    Every edit goes through ``apply`` and is one undo. What can't be done is
    told by ``problem`` and leaves diagram, file and history as they were. Files are read and
    written by ``runner``; with one that lets events go on, the diagram may have changed since.
    """

    diagramChanged = Signal(object)
    """The Diagram as it is now: after an edit, an undo, a redo or an open."""
    opened = Signal()
    """Another diagram takes the place of the one that was open; ``diagramChanged`` follows."""
    pathChanged = Signal(object)
    """The Path of the file, or None."""
    cleanChanged = Signal(bool)
    """Whether the file holds what is on the screen."""
    upgraded = Signal(str)
    """What was changed in a file of an older version when it was read."""
    saved = Signal()
    """The file holds the diagram: it was written, or read again."""
    restored = Signal(object, object)
    """An undo or a redo put the second Diagram in place of the first; after ``diagramChanged``."""
    problem = Signal(str)
    """What could not be done, where, and what to do about it."""

    def __init__(self, parent: QObject | None = None, runner: Runner = at_once) -> None:
        super().__init__(parent)
        self._runner = runner
        self._busy = False
        self._diagram = Diagram()
        self._path: Path | None = None
        self._stamp: Stamp | None = None
        self._last_edit: tuple[Hashable, float] | None = None
        self.undo_stack = QUndoStack(self)
        self.undo_stack.cleanChanged.connect(self.cleanChanged)

    @property
    def diagram(self) -> Diagram:
        """The diagram as it is now."""
        return self._diagram

    @property
    def path(self) -> Path | None:
        """The file it came from or was saved to; None before that."""
        return self._path

    @property
    def stamp(self) -> Stamp | None:
        """What the file held when it was last read or written here; None without a file."""
        return self._stamp

    @property
    def name(self) -> str:
        """What the diagram is called: its file, else its title."""
        if self._path is not None:
            return self._path.name
        return self._diagram.title or self.tr("Untitled")

    @property
    def suggested_stem(self) -> str:
        """A file name without its ending, made of the title."""
        words = (self._diagram.title or "diagram").casefold().split()
        return "_".join("".join(c for c in word if c.isalnum()) for word in words)[:60]

    @property
    def is_clean(self) -> bool:
        """Nothing would be lost by closing."""
        return self.undo_stack.isClean()

    @property
    def busy(self) -> bool:
        """Its file is being read or written, or a change of much of it worked out."""
        return self._busy

    @property
    def is_untouched(self) -> bool:
        """Nothing was opened and nothing drawn: another diagram may take this one's place."""
        empty = not any(page.blocks or page.notes for page in self._diagram.pages.values())
        return empty and self._path is None and self.is_clean

    def apply(self, change: files.Change) -> bool:
        """Make ``change`` as one undo; False, and a ``problem``, when it is refused."""
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
                self.tr("{0} was not done: the diagram changed meanwhile.").format(edit.label)
            )
            return False
        if edit.after != self._diagram:
            self._push(edit.after, edit.label, _merge_key(change))
        return True

    def compute(self, text: str, job: Callable[[], _T], *, large: bool) -> _T:
        """What ``job`` returns; where that is ``large`` work, events go on meanwhile.

        Raises what the job raises, and Cancelled.
        """
        return self._work(text, lambda pulse: job(), pure=True) if large else job()

    def new(self) -> None:
        """Begin an empty diagram without a file."""
        self._begin(Diagram(), None)

    def read(self, path: Path) -> Loaded | None:
        """Read a file; None, and a ``problem``, when it can't be."""
        try:
            return self._work(self.tr("Opening {0}").format(path.name), partial(_read, path))
        except (GradwireError, OSError) as error:
            self.problem.emit(self.tr("{0} was not opened. {1}").format(path.name, error))
        except Cancelled:
            pass
        return None

    def adopt(self, loaded: Loaded) -> None:
        """Put what was read in the place of what is open."""
        self._begin(loaded.diagram, loaded.path, loaded.stamp)
        self._report_upgrade(loaded.notice)

    def open(self, path: Path) -> bool:
        """Load a file; what was open stays when it can't be read."""
        if (loaded := self.read(path)) is None:
            return False
        self.adopt(loaded)
        return True

    def reload(self) -> bool:
        """Take what the file holds now, as one undo; what is open stays when it can't be read."""
        path = self._path
        assert path is not None
        try:
            text = self.tr("Reloading {0}").format(path.name)
            diagram, _, before, notice = self._work(text, partial(_read, path))
        except (GradwireError, OSError) as error:
            self.problem.emit(self.tr("{0} was not reloaded. {1}").format(path.name, error))
            return False
        except Cancelled:
            return False
        if diagram != self._diagram:
            self._push(diagram, self.tr("Reload"), None)
        self._mark_saved(before)
        self._report_upgrade(notice)
        return True

    def _report_upgrade(self, notice: str) -> None:
        if notice:
            self.upgraded.emit(notice)

    def changed_on_disk(self) -> bool:
        """Whether the file holds something else than when it was last read or written here."""
        now = stamp(self._path)
        return now is not None and now != self._stamp and not self.matches_file()

    def matches_file(self) -> bool:
        """Whether the file, whoever wrote it, holds this diagram; then it is saved."""
        path, diagram = self._path, self._diagram
        assert path is not None

        def compare(pulse: files.Pulse) -> Stamp | None:
            found = _read(path, pulse)
            return found.stamp if found.diagram == diagram else None

        try:
            text = self.tr("Comparing with {0}").format(path.name)
            before = self._work(text, compare, pure=True)
        except (GradwireError, OSError, Cancelled):
            return False
        if before is not None:
            self._mark_saved(before, diagram)
        return before is not None

    def keep_own(self) -> None:
        """Let this diagram stand against what another program wrote: a save will replace it."""
        self._stamp = stamp(self._path)
        self.undo_stack.resetClean()

    def mark_file_missing(self) -> None:
        """The file is gone, so the diagram is not saved; a save writes it anew."""
        self._stamp = None
        self.undo_stack.resetClean()

    def recover(self, diagram: Diagram, path: Path | None) -> None:
        """Begin with what a crash left unsaved, as an edit of the file it belongs to.

        Undo leads back to the file as it is, or to an empty diagram where there is none.
        """
        known = stamp(path)
        try:
            saved = Diagram() if path is None else files.load(path)
        except (GradwireError, OSError):
            saved = Diagram()
        self._begin(saved, path, known)
        self._push(diagram, self.tr("Recovered changes"), None)

    def save(self) -> bool:
        """Write the file this diagram has; False when it has none or it can't be written."""
        return self._path is not None and self.save_as(self._path)

    def save_as(self, path: Path) -> bool:
        """Write to ``path``, which becomes this diagram's file when that succeeds."""
        diagram = self._diagram

        def write(pulse: files.Pulse) -> Stamp | None:
            files.save(diagram, path, pulse)
            return stamp(path)

        try:
            known = self._work(self.tr("Saving {0}").format(path.name), write)
        except Cancelled:
            return False
        except (GradwireError, OSError) as error:
            self.problem.emit(
                self.tr(
                    "{0} was not saved. {1} Nothing is lost: the diagram is still open. Free the "
                    "place it goes to, or choose another one with Save As."
                ).format(path.name, error)
            )
            return False
        self._set_path(path)
        self._mark_saved(known, diagram)
        return True

    def _work(self, text: str, job: Callable[[files.Pulse], _T], *, pure: bool = False) -> _T:
        was_busy, self._busy = self._busy, True
        try:
            return self._runner(text, job, pure=pure)
        finally:
            self._busy = was_busy

    def _edit(self, diagram: Diagram, change: files.Change) -> files.Edit:
        if not isinstance(change, Arrange | Batch) or _size(diagram) < LARGE_DIAGRAM:
            return files.apply(diagram, change)
        text = change.label if isinstance(change, Batch) else self.tr("Arranging")
        return self._work(text, lambda pulse: files.apply(diagram, change), pure=True)

    def _mark_saved(self, known: Stamp | None, diagram: Diagram | None = None) -> None:
        """The file holds ``diagram``; None for this one, which may be another by now."""
        self._last_edit = None
        self._stamp = known
        if diagram is None or diagram is self._diagram:
            self.undo_stack.setClean()
            self.saved.emit()
        else:
            self.undo_stack.resetClean()

    def _begin(self, diagram: Diagram, path: Path | None, known: Stamp | None = None) -> None:
        self._last_edit = None
        self.undo_stack.clear()
        self._stamp = known
        self._set_path(path)
        self.opened.emit()
        self._show(diagram)

    def _set_path(self, path: Path | None) -> None:
        if path != self._path:
            self._path = path
            self.pathChanged.emit(path)

    def _push(self, after: Diagram, label: str, key: Hashable) -> None:
        now = time.monotonic()
        continues = (
            key is not None
            and self._last_edit is not None
            and self._last_edit[0] == key
            and now - self._last_edit[1] < MERGE_SECONDS
        )
        self.undo_stack.push(_Swap(self, self._diagram, after, label, continues))
        self._last_edit = (key, now)

    def _show(self, diagram: Diagram) -> None:
        self._diagram = diagram
        self.diagramChanged.emit(diagram)

    def _swap_to(self, diagram: Diagram) -> None:
        self._last_edit = None  # an edit after an undo begins an undo of its own
        self._show(diagram)

    def _restore(self, diagram: Diagram) -> None:
        before = self._diagram
        self._swap_to(diagram)
        self.restored.emit(before, diagram)


class _Swap(QUndoCommand):
    """Puts one snapshot in place of another. ``continues`` joins it to the command before."""

    def __init__(
        self, document: Document, before: Diagram, after: Diagram, label: str, continues: bool
    ) -> None:
        super().__init__(label)
        self._document = document
        self._before = before
        self._after = after
        self._continues = continues
        self._made = False

    def redo(self) -> None:
        if self._made:
            self._document._restore(self._after)
        else:  # the stack calls this for what is new, too
            self._made = True
            self._document._swap_to(self._after)

    def undo(self) -> None:
        self._document._restore(self._before)

    def id(self) -> int:
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not (isinstance(other, _Swap) and other._continues):
            return False
        self._after = other._after
        return True


def _read(path: Path, pulse: files.Pulse) -> Loaded:
    before = stamp(path)  # first: what is written while it is read is a change
    notices: list[str] = []
    return Loaded(files.load(path, pulse, notices.append), path, before, "\n".join(notices))


def _size(diagram: Diagram) -> int:
    return sum(len(page.blocks) for page in diagram.pages.values())


def _merge_key(change: files.Change) -> Hashable:
    """What two changes must share to be one undo; None for a change that stands alone."""
    if isinstance(change, MoveBlocks):
        notes, bends = frozenset(change.notes), frozenset(change.bends)
        return ("move", change.page, frozenset(change.places), notes, bends)
    if isinstance(change, SetParameters):
        return ("set", change.page, change.name, frozenset(change.values))
    return None
