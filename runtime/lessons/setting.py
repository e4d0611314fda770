"""Gives sources their values and opens or closes stops, as the steps of a lesson ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from gradwire.blocks.block import Source
from gradwire.blocks.errors import ChangeError, Location, ParameterError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.diagram.edits.applying import apply
from gradwire.runtime.diagram.edits.changes import Batch, SetParameters
from gradwire.runtime.diagram.pages import Address, all_blocks, resolve
from gradwire.runtime.diagram.paths import InstancePath

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.lesson import Lesson, Setting
    from gradwire.runtime.diagram.model import Diagram

Settings: TypeAlias = "Mapping[str, Setting]"
OPEN: Final = "open"
CLOSED: Final = "closed"
MAX_SEED = 2**32 - 1
_MASK = 2**32 - 1


def setting_change(diagram: Diagram, settings: Settings) -> Batch:
    """The change that gives sources these values, and opens or closes these stops.

    Raises ChangeError for a path at which there is neither, and for a value that doesn't fit.
    """
    changes = tuple(_change(diagram, path, value) for path, value in settings.items())
    return Batch("Set up", changes)


def with_settings(diagram: Diagram, settings: Settings) -> Diagram:
    """The diagram after ``setting_change``; the same if nothing is to be set."""
    return apply(diagram, setting_change(diagram, settings)).after if settings else diagram


def adjustable(diagram: Diagram) -> Iterator[str]:
    """The paths of everything that can be set: sources that have values, and StopGradients."""
    for path, block in all_blocks(diagram):
        if isinstance(block, StopGradient) or _has_value(block):
            yield path
        yield from (path / port for port in block.owned)


def settings_between(before: Diagram, after: Diagram) -> tuple[dict[str, Setting], dict[str, bool]]:
    """The new values of sources, and the stops that were opened (True) or closed.

    Raises ChangeError if anything else that has meaning differs.
    """
    values: dict[str, Setting] = {}
    opened: dict[str, bool] = {}
    for path in adjustable(before):
        old, new = (_block_at(diagram, path) for diagram in (before, after))
        if old == new or type(old) is not type(new):
            continue
        if isinstance(old, StopGradient) and isinstance(new, StopGradient):
            opened[path] = new.open
        else:
            value = getattr(new, "value", None)
            if value is not None:
                values[path] = value.to_json()
    if diff(with_settings(before, values | switched(opened)), after).has_meaning:
        raise ChangeError(
            "Only values of sources and stops are to be changed in this step.",
            next_step="Undo what else was changed.",
        )
    return values, opened


def switched(opened: Mapping[str, bool]) -> dict[str, Setting]:
    """The settings that open stops (True) or close them."""
    return {path: OPEN if is_open else CLOSED for path, is_open in opened.items()}


def _block_at(diagram: Diagram, path: str) -> Block | None:
    address = resolve(diagram, InstancePath(path))
    return None if address is None else address.block(diagram)


def variation(lesson: Lesson, seed: int) -> dict[str, float]:
    """What a seed chooses for the sources that vary; nothing for seed 0."""
    if seed == 0:
        return {}
    return {
        path: values[mixed(seed, place) % len(values)]
        for place, (path, values) in enumerate(lesson.vary.items())
    }


def mixed(seed: int, place: int) -> int:
    """A number below 2³² for a seed and a place; published pages compute the same."""
    bits = (seed * 0x9E3779B1 + place * 0x85EBCA6B + 0xC2B2AE35) & _MASK
    bits = ((bits ^ (bits >> 16)) * 0x7FEB352D) & _MASK
    bits = ((bits ^ (bits >> 15)) * 0x846CA68B) & _MASK
    return bits ^ (bits >> 16)


def _change(diagram: Diagram, path: str, value: Setting) -> SetParameters:
    address = resolve(diagram, InstancePath(path))
    block = None if address is None else address.block(diagram)
    if address is None or not (isinstance(block, StopGradient) or _has_value(block)):
        known = list(adjustable(diagram))
        raise ChangeError(
            f"{path!r} can't be set: it is neither a source of numbers nor a StopGradient.",
            next_step=did_you_mean(path, known),
        )
    if isinstance(block, StopGradient) != (value in (OPEN, CLOSED)):
        wanted = '"open" or "closed"' if isinstance(block, StopGradient) else "numbers"
        raise ChangeError(f"{path!r} can't be set so.", expected=wanted, got=repr(value)[:80])
    if isinstance(block, StopGradient):
        return _set(diagram, address, path, {"open": value == OPEN, "spare": []})
    try:
        tensor = Tensor(value)
    except ValueError as error:
        raise ChangeError(f"{path!r} can't be set so: {error}.", got=repr(value)[:80]) from None
    return _set(diagram, address, path, {"value": tensor})


def _set(
    diagram: Diagram, address: Address, path: str, values: Mapping[str, object]
) -> SetParameters:
    try:
        given = address.parameters(diagram, values)
    except ParameterError as error:
        raise ChangeError(
            error.what,
            location=Location(address.page, path),
            expected=error.expected,
            got=error.got,
            next_step=error.next_step,
        ) from error
    return SetParameters(address.name, dict(given), address.page)


def _has_value(block: object) -> bool:
    return isinstance(block, Source) and "value" in type(block).model_fields
