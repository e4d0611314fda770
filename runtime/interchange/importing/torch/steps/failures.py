"""Why a backward pass raises, with the lines of the program: torch says only that it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.diagram.comparison import MAX_TEXT, Misstep
from gradwire.runtime.interchange.importing.torch.capture.frames import user_place
from gradwire.runtime.interchange.importing.torch.inspection import memory_of, node_of
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, ProgramLine

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import Node, Reference, Tensor

_WRITTEN, _FREED, _NOTHING = (
    "modified by an inplace operation",
    "a second time",
    "does not require grad",
)
"""What torch's messages have in them."""


_AUGMENTED = re.compile(r"(?P<name>[\w.]+)\s*(?P<sign>\+|-|\*\*|\*|//|/|@)=(?!=)")
_ITEM = re.compile(r"[\w.]+\[.*\]\s*(\+|-|\*|/)?=(?!=)")
"""Statements that write to a whole tensor, and to a part of one."""


@by_identity
class Made(NamedTuple):
    """An operator that made a node of autograd's graph."""

    node: Node
    name: str
    place: ProgramLine
    seen: tuple[tuple[Reference, int], ...]
    """Its arguments and results, as far as they are still there, with their versions then."""


class Write(NamedTuple):
    """A change of memory in place."""

    name: str
    place: ProgramLine
    version: int
    """Of the tensor, afterwards."""


class NodeHistory:
    """What made the nodes of a run, and what wrote to its tensors. Not thread-safe."""

    def __init__(self, reference: Callable[[Tensor], Reference]) -> None:
        self._reference = reference
        """Makes of a tensor what gives it, or None once it is gone."""
        self._made: dict[int, Made] = {}
        self._writes: dict[int, list[Write]] = {}
        """By where the tensor's numbers begin in memory."""
        self._passes: list[tuple[Node | None, ProgramLine]] = []
        """Where backward passes began that have succeeded, and where they stand."""
        with torch.inference_mode(False), torch.enable_grad():
            self._began = (torch.zeros((), requires_grad=True) * 1).grad_fn._sequence_nr()
        """The number of the first node that the run can have made."""
        self.stepping = False
        """Whether an optimiser is making a step."""

    def note(
        self,
        name: str,
        place: ProgramLine,
        given: Sequence[Tensor],
        results: Iterable[Tensor],
        written: Iterable[Tensor],
    ) -> None:
        """An operator has run."""
        base = name.partition(".")[0]
        for tensor in (x for x in written if not x.is_inference()):
            called = "step()" if self.stepping else base
            write = Write(called, place, tensor._version)
            self._writes.setdefault(memory_of(tensor), []).append(write)
        for result in results:
            if (node := node_of(result)) is not None:
                seen = tuple(
                    (self._reference(x), x._version)
                    for x in (*given, result)
                    if not x.is_inference()
                )
                self._made[id(node)] = Made(node, base, place, seen)

    def made(self, tensor: Tensor) -> Made | None:
        """What made a tensor, if that is known."""
        return self._made.get(id(node_of(tensor)))

    def passed(self, loss: Tensor) -> None:
        """A backward pass has succeeded."""
        self._passes.append((loss.grad_fn, user_place()))

    def why(self, loss: Tensor, error: RuntimeError, place: ProgramLine | None = None) -> Misstep:
        """What a backward pass from a loss raises, and why."""
        where = f"backward() ({place.line})" if place else "The backward pass"
        text = str(error)
        if _WRITTEN in text:
            said, at = self._written_over(where, loss)
        elif _FREED in text:
            said, at = self._freed(where, loss)
        elif _NOTHING in text:
            said, at = f"{where} raises: nothing trained reaches what it differentiates.", None
        else:
            said, at = f"{where} raises: {text.partition(chr(10))[0]}", None
        known = at or place or NOWHERE
        return Misstep(text=said[:MAX_TEXT], written=known.written, raises=True)

    def _written_over(self, where: str, loss: Tensor) -> tuple[str, ProgramLine | None]:
        for node, made in self._nodes(loss.grad_fn):
            for reference, version in made.seen if made and _raises(node, _WRITTEN) else ():
                tensor = reference()
                if tensor is None:
                    continue
                writes = self._writes.get(memory_of(tensor), ())
                write = next((w for w in writes if w.version > version), None)
                if write is None or tensor._version == version:
                    continue
                assert made is not None
                return (
                    f"{where} raises: {made.name} ({made.place.written}) needs a tensor as it was, "
                    f"and {write.name} ({write.place.line}) has written over it since. "
                    f"{_cure(write)}",
                    write.place,
                )
        said = "it needs a tensor as it was, which has been changed in place since."
        return f"{where} raises: {said}", None

    def _freed(self, where: str, loss: Tensor) -> tuple[str, ProgramLine | None]:
        """The nearest node that an earlier pass has been through, or one from before the run."""
        nodes = list(self._nodes(loss.grad_fn))
        freed, by = self._freed_before({id(node) for node, _ in nodes})
        for node, made in nodes:
            is_old = node._sequence_nr() < self._began
            if not is_old and id(node) not in freed:
                continue
            which = f" by {made.name} ({made.place.written})" if made else ""
            whose = "one from before this run, which an earlier pass has freed" if is_old else by
            return (
                f"{where} raises: it goes{which} into a graph a second time, {whose}. Take what "
                "is carried over from there, such as a hidden state, with detach().",
                made.place if made else None,
            )
        return f"{where} raises: it goes through a graph a second time, which is freed.", None

    def _freed_before(self, own: set[int]) -> tuple[set[int], str]:
        """The nodes of these that an earlier pass of the run has been through, and which."""
        for root, place in self._passes:
            if common := own & {id(node) for node, _ in self._nodes(root)}:
                return common, f"which backward() ({place.line}) has freed"
        return set(), ""

    def _nodes(self, root: Node | None) -> Iterator[tuple[Node, Made | None]]:
        """The nodes of a graph but for leaves, the nearest first, with what made them, or the
        nearest after them.
        """
        pending: list[tuple[Node | None, Made | None]] = [(root, None)]
        seen = set()
        for node, after in pending:
            if node is None or id(node) in seen or hasattr(node, "variable"):
                continue
            seen.add(id(node))
            made = self._made.get(id(node), after)
            yield node, made
            pending += [(before, made) for before, _ in node.next_functions]


def unseen_write(place: ProgramLine) -> Misstep:
    """What a write does to a result which gradient comes to where autograd doesn't see it."""
    text = (
        f"A write through .data or detach() ({place.line}) changes a tensor that backward() "
        "goes through, and autograd doesn't see it: its gradient is as if nothing had been "
        "written. Write to the tensor itself, or use torch.where."
    )
    return Misstep(text=text, written=place.written)


def _raises(node: Node, why: str) -> bool:
    """Whether a node no longer has what it has saved, for this reason."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    for name in (*names, "saved_tensors"):
        try:
            getattr(node, name)
        except RuntimeError as error:
            if why in str(error):
                return True
        except AttributeError:
            continue
    return False


def _cure(write: Write) -> str:
    if write.name == "step()":
        return (
            "Call backward() before step(), compute it anew after step(), or take what an earlier "
            "step has made with detach()."
        )
    code, plain = write.place.code, write.name.rstrip("_")
    if f".{plain}_(" in code:
        return f"Write {plain} without the _, which makes a new tensor."
    if found := _AUGMENTED.match(code):
        name, sign = found["name"], found["sign"]
        return f"Write {name} = {name} {sign} … instead, which makes a new tensor."
    if _ITEM.match(code):
        return "Write into a clone() of it instead, or choose by torch.where."
    if write.name.endswith("_"):
        return "Give it inplace=False, or a clone()."
    return "Make a new tensor instead, or write to a clone()."
