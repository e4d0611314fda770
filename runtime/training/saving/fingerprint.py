"""What a training depends on, in digests: they tell which blocks of two diagrams differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.files.records import (
    large_tensors,
    record_of,
    with_arrays,
    without_arrays,
)

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram, Page
    from gradwire.runtime.training.saving.checkpoint import TrainerState


SHOWN = 5
"""Differences that are named; more are counted."""
_LENGTH = 16
"""Hexadecimal digits of a digest."""


def fingerprint(diagram: Diagram, *, values: bool = False) -> dict[str, dict[str, str]]:
    """Digests of the blocks and wires of every page that takes part, by page and block.

    Layout, titles, notes and lessons don't count, nor do the numbers of variables, which training
    changes, unless ``values`` asks for them.
    """
    return {name: _page(page, values) for name, page in diagram.pages.items()}


def differences(
    before: Mapping[str, object], now: Mapping[str, object], what: str = ""
) -> list[str]:
    """What differs between two JSON objects, as short texts: places and, if short, values."""
    found: list[str] = []
    for key in {**before, **now}:
        place = f"{what}.{key}" if what else str(key)
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other, place)
        elif _is_list_of_objects(one) and _is_list_of_objects(other) and len(one) == len(other):
            for i, (a, b) in enumerate(zip(one, other, strict=True)):
                found += differences(a, b, f"{place}[{i}]")
        else:
            found.append(f"{place}: {_short(one)}, now {_short(other)}")
    return found


def block_differences(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Which blocks differ between two fingerprints."""
    found = []
    for page in {**before, **now}:
        one, other = before.get(page), now.get(page)
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            found.append(f"page {page} {'is new' if one is None else 'is gone'}")
            continue
        where = "" if page == "main" else f" on page {page}"
        for name in {**one, **other}:
            if name not in other:
                found.append(f"{name} is gone{where}")
            elif name not in one:
                found.append(f"{name} is new{where}")
            elif one[name] != other[name]:
                found.append(f"{name} differs{where}")
    return found


def require_same(own: TrainerState, state: TrainerState) -> None:
    """Raise FileError unless a training whose state is ``own`` can go on from another state."""
    about = state.about
    recipe, diagram = about.get("recipe"), about.get("diagram")
    if not isinstance(recipe, Mapping) or not isinstance(diagram, Mapping):
        raise _other("it does not say of which diagram it is")
    found = block_differences(diagram, own.about["diagram"])
    if found:
        raise _other("the diagram is another: " + _first(found))
    found = differences(recipe, own.about["recipe"])
    if found:
        raise _other("the recipe is another: " + _first(found))
    _require_counts(own, state)
    forms, wanted = forms_of(state.arrays), forms_of(own.arrays)
    for name in {**forms, **wanted}:
        if name.startswith("set/"):
            continue
        if forms.get(name) != wanted.get(name):
            raise _other(f"its array {name} is {_form_text(forms.get(name))}, not "
                         f"{_form_text(wanted.get(name))}")  # fmt: skip
    for name, array in own.arrays.items():
        path = name.removeprefix("set/")
        if path == name:
            continue
        if name not in state.arrays:
            raise _other(f"{path} was not set when the training began")
        if not same_bits(array, state.arrays[name]):
            raise _other(f"{path} was set to another value when the training began")


def forms_of(arrays: Mapping[str, Array]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtypes and shapes of arrays, by name."""
    return {name: (array.dtype.name, array.shape) for name, array in arrays.items()}


def same_bits(one: Array, other: Array) -> bool:
    """Whether two arrays have one dtype and shape, and equal bits."""
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def _require_counts(own: TrainerState, state: TrainerState) -> None:
    updates, step = state.about.get("updates"), state.about.get("step_number")
    if not _is_count(step):
        raise _other("its step number is no count")
    for kind, counts in own.about["updates"].items():
        stated = updates.get(kind) if isinstance(updates, Mapping) else None
        if not isinstance(stated, Mapping) or not all(_is_count(stated.get(n)) for n in counts):
            raise _other(f"its counts of updates are wrong ({kind})")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _form_text(form: tuple[str, tuple[int, ...]] | None) -> str:
    return "missing" if form is None else f"{form[0]} of shape {list(form[1])}"


def _first(found: list[str]) -> str:
    more = len(found) - SHOWN
    return "; ".join(found[:SHOWN]) + (f"; and {more} more" if more > 0 else "") + "."


def _other(why: str) -> FileError:
    return FileError(
        f"The training can't go on from this checkpoint: {why.rstrip('.')}.",
        next_step="Take the diagram and values with which it began, or begin a new training.",
    )


def _page(page: Page, values: bool) -> dict[str, str]:
    wires: dict[str, list[list[str]]] = {}
    for target, source in page.wires.items():
        wires.setdefault(target.block, []).append([str(target), str(source)])
    return {
        name: _digest([_record(block, values), sorted(wires.get(name, ()))])
        for name, block in page.blocks.items()
    }


def _record(block: Block, values: bool) -> dict[str, object]:
    """What decides how a block trains: its record; without ``values``, of variables their form."""
    if isinstance(block, Variable) and not values:
        return _form(block)
    large = large_tensors(block)
    record = record_of(without_arrays(block, large) if large else block)
    formed = {} if values else {name: _form(own) for name, own in block.owned.items()}
    record |= formed
    arrays = {name: tensor.array for name, tensor in large.items() if name not in formed}
    digests = {name: [str(a.dtype), a.shape, _digest_of(a)] for name, a in arrays.items()}
    return with_arrays(record, digests)


def _form(variable: Variable) -> dict[str, object]:
    shape = list(variable.open_shape or ())
    return {"type": "Variable", "trainable": variable.trainable,
            "dtype": variable.leaf_dtype, "shape": shape}  # fmt: skip


def _digest_of(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:_LENGTH]


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def _is_list_of_objects(value: object) -> TypeGuard[list[Mapping[str, object]]]:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _short(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
