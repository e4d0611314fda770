"""Adds what a program does, operator by operator, as autograd sees it.

In a region without gradient nothing is cut at once: a value keeps in mind why autograd lost it, and
one StopGradient stands where it leaves the region for something that gradient reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.flow.checks.leaving import CURES
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.memory import Cut, TrackedTensor
from gradwire.runtime.interchange.importing.torch.nested import each, mapped
from gradwire.runtime.interchange.importing.torch.operators.families import find
from gradwire.runtime.interchange.importing.torch.operators.shapes import VIEWS, as_strided

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Call,
        Kwargs,
        Program,
        Tensor,
    )

Results: TypeAlias = "list[TrackedTensor]"
_DETACHING = frozenset({"detach", "detach_copy"})
HANDLED = frozenset({"detach", "detach_", "detach_copy", "item", "_local_scalar_dense"})
"""Operators that are known, though the table has no blocks for them."""
_BROKEN = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What functions of the table raise for arguments that no such operator has."""


class Performer:
    """Performs operators on tensors by adding blocks."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.no_grad: Cut | None = None
        """What turned gradient off here, if anything did."""

    def perform(self, name: str, args: Args, kwargs: Kwargs) -> Results:
        """The results of an operator, ``add.TrackedTensor``. Raises UnsupportedError."""
        base, _, overload = name.partition(".")
        if isinstance(kwargs.get("out"), TrackedTensor):
            rest = {key: value for key, value in kwargs.items() if key != "out"}
            (result,) = self.perform(base, args, rest)
            value, out = result.read(), kwargs["out"]
            return [self._written(out, [value], result.live, result.cut)]
        if base.rstrip("_") in _DETACHING:
            return [self.detached(args[0], in_place=base.endswith("_"))]
        plain = base[:-1] if base.endswith("_") and not base.endswith("__") else base
        function = find(f"{plain}.{overload}") if plain != base else find(name)
        function = function or find(_FUNCTIONAL.get(plain, ""))
        if function is None:
            raise UnsupportedError(f"aten.{base}", "no blocks for it are known")
        everything = [*args, *kwargs.values()]
        self.commit_cuts(everything)
        values = _read(args)
        more = {key: _read(value) for key, value in kwargs.items()}
        results = self._called(base, lambda: function(self.stage, *values, **more))
        live, cut = self.fate(everything)
        if plain != base and plain not in VIEWS:  # squeeze_ gives a view, in the tensor's place
            return [self._written(args[0], results, live, cut)]
        made = [self._made(value, live, cut) for value in results]
        if base in _APART:
            made = [
                self._made(value, *self.fate(x)) for value, x in zip(results, args[0], strict=True)
            ]
        if plain in VIEWS and isinstance(args[0], TrackedTensor):
            for i, tensor in enumerate(made):
                self._share(tensor, args[0], self._shower(function, i, values[1:], more))
        return made

    def detached(self, x: TrackedTensor, in_place: bool = False, name: str = "") -> TrackedTensor:
        """The tensor without gradient: a StopGradient where it had one."""
        value, cut = x.read(), x.cut
        if x.live or passes(value):
            name = name or ("detach_" if in_place else "detach")
            if self.no_grad is None:
                value, cut = self.stopped(x, name), None
            else:
                value = self._stop(value, name)
        if in_place:
            x.value, x.live, x.cut = value, False, cut
            return x
        return TrackedTensor(value, cut=cut)

    def stopped(self, x: TrackedTensor, name: str) -> Staged:
        """A StopGradient here, behind one for the cut that is still to be added."""
        value = x.read()  # which says what cuts it now
        return self._stop(value if x.cut is None else self._add_cut(value, x.cut), name)

    def _add_cut(self, value: Staged, cut: Cut) -> Staged:
        with self.stage.at(cut.path, cut.written):
            source = value.source
            if source and source.block.type_name() == "StopGradient":
                if self._is_stopped_here(value):  # as by what torch itself does in a region
                    value = source.inputs["x"]
            return self._stop(value, cut.name)

    def _stop(self, value: Staged, name: str) -> Staged:
        if self._is_stopped_here(value):
            return value
        stop = self.stage.block("StopGradient", value, name=name)
        text = f"{name} stops the gradient here. {CURES.get(name, '')}".rstrip()
        self.stage.remark("cut", text, stop)
        return stop

    def cut_at(self, x: TrackedTensor, cut: Cut) -> Staged:
        """What a cut leaves of a tensor: a StopGradient, where there is something to cut."""
        value = x.read()
        with self.stage.at(cut.path, cut.written):
            return self.stopped(x, cut.name) if passes(value) else value

    def cut_like(self, x: TrackedTensor, other: TrackedTensor) -> Staged:
        """What the cut that another tensor comes from, which shares the memory, leaves of one."""
        source = other.read().source
        if source is None or source.block.type_name() != "StopGradient":
            return self.stopped(x, "detach") if passes(x.read()) else x.read()
        return self.cut_at(x, Cut(source.name, source.scope.path, source.block.written))

    def _is_stopped_here(self, value: Staged) -> bool:
        """Whether stops for the same line are on all routes of a value: one is enough."""
        pending, seen = [value], set()
        while pending:
            source = pending.pop().source
            if source is None or not source.block.written:
                return False
            if source.block.written != self.stage.written:
                return False
            if source.block.type_name() != "StopGradient" and id(source) not in seen:
                seen.add(id(source))
                pending.extend(x for x in source.inputs.values() if passes(x))
        return True

    def commit_cut(self, x: TrackedTensor) -> None:
        """Add the cut that a tensor has in mind."""
        value = x.read()
        if x.cut is not None:
            x.value, x.cut = self._add_cut(value, x.cut), None

    def commit_cuts(self, arguments: object) -> None:
        """The same for all tensors among arguments, but for the cut of the region that runs."""
        for x in _tensors(arguments):
            if self.no_grad is None or x.cut not in (None, self.no_grad):
                x.read()
                self.commit_cut(x)

    def fate(self, arguments: object) -> tuple[bool, Cut | None]:
        """Whether results of these arguments are live, and the cut that they keep in mind."""
        given = list(_tensors(arguments))
        live = any(x.live for x in given)
        if self.no_grad is None:
            return live, None
        known = next((x.cut for x in given if x.cut is not None), None)
        may_pass = live or any(isinstance(x.value, Staged) and passes(x.value) for x in given)
        return False, known or (self.no_grad if may_pass else None)

    def _called(self, name: str, call: Call) -> list[Any]:
        try:
            with self.stage.operation(name):
                found = call()
        except UnsupportedError:
            raise
        except GradwireError as error:
            raise unsupported(name, error) from error
        except _BROKEN as error:
            raise UnsupportedError(
                f"aten.{name}", f"its arguments have no blocks: {error}"
            ) from error
        return [found] if isinstance(found, Staged) else list(found or ())

    def _written(
        self, x: TrackedTensor, results: list[Staged], live: bool, cut: Cut | None
    ) -> TrackedTensor:
        """``x`` with the first result in its place."""
        before = x.read()
        (value,) = self._called(
            "copy_",
            lambda: self.stage.broadcast(self.stage.cast(results[0], before.dtype), before.shape),
        )
        x.write(self.stage, value, live and value.is_float, cut)
        return x

    def _made(self, value: Staged | None, live: bool, cut: Cut | None) -> TrackedTensor:
        if value is None:
            return TrackedTensor(UnsupportedError("a further result", "no blocks for it are known"))
        if not value.is_float or value.array is not None or _is_random(value):
            return TrackedTensor(value)
        return TrackedTensor(value, live, cut)

    def shown(self, base: TrackedTensor, view: Tensor) -> TrackedTensor:
        """What stands for a view of torch's, which has its numbers where they lie in its base."""
        lies = view._base.stride(), view._base.storage_offset()
        place = view.shape, view.stride(), view.storage_offset()

        def show(value: Staged) -> Staged:
            return as_strided(value, *place, lies)

        found = self._made(show(base.read()), base.live, base.cut)
        self._share(found, base, show)
        return found

    def _share(
        self, view: TrackedTensor, of: TrackedTensor, show: Callable[[Staged], Staged]
    ) -> None:
        view.of, view.show, view.changes = of, show, of.root.changes

    def _shower(
        self, function: Program, index: int, rest: Args, more: Kwargs
    ) -> Callable[[Staged], Staged]:
        def show(value: Staged) -> Staged:
            found = function(self.stage, value, *rest, **more)
            shown: Staged = found if isinstance(found, Staged) else found[index]
            return shown

        return show


def passes(value: Staged) -> bool:
    """Whether gradient would come from a value to what is trained, if no stop were on the way."""
    if value.source is None or not value.is_float:
        return False
    pending = [value.source]
    while pending:
        source = pending[-1]
        inner = [x.source for x in source.inputs.values() if x.is_float and x.source is not None]
        unknown = [x for x in inner if x.passes is None]
        if source.passes is None and unknown:
            pending.extend(unknown)
            continue
        is_trained = isinstance(source.block, Variable) and source.block.trainable
        source.passes = is_trained or any(x.passes for x in inner)
        pending.pop()
    return bool(value.source.passes)


_APART = frozenset({"broadcast_tensors", "meshgrid"})
"""Operators whose results each depend on one of the given tensors."""
_FUNCTIONAL = {"normal": "normal_functional"}
"""In-place operators whose names mean something else without the underscore."""


def _is_random(value: Staged) -> bool:
    """Whether a value is drawn, so that it depends at most on the shape of something."""
    return value.source is not None and value.source.block.type_name().startswith("Random")


def _tensors(arguments: object) -> Iterator[TrackedTensor]:
    """All tensors among arguments, in order."""
    return (x for x in each(arguments) if isinstance(x, TrackedTensor))


def _read(argument: object) -> Any:
    """An argument with the values of its tensors."""
    return mapped(lambda x: x.read() if isinstance(x, TrackedTensor) else x, argument)


def failed(error: UnsupportedError, count: int, live: bool = False) -> Results:
    """Tensors that no block can express: the error is raised where one of them is needed."""
    return [TrackedTensor(error, live) for _ in range(count)]


def unsupported(name: str, error: GradwireError) -> UnsupportedError:
    """That an operator can't be expressed, for what went wrong with its blocks."""
    return UnsupportedError(f"aten.{name}", str(error).rstrip("."))
