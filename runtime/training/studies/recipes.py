"""Fields of a recipe by name, each in all optimisers that have it, or in one: ``lr``, ``opt.lr``,
``schedule.gamma``, ``optimisers.opt.betas.0``, ``averages.slow.decay``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.files.models import TRAINING

if TYPE_CHECKING:
    from gradwire.runtime.diagram.training import Training

_OPTIMISERS, _AVERAGES = "optimisers", "averages"
_BY_KIND = ("method", "schedule")
"""Fields whose value may be a word for the kind alone."""
_FIXED = ("name", "kind")
"""Fields that are not changed alone."""


class UnknownField(Exception):
    """A recipe has no field of this name."""


def with_fields(training: Training, fields: Mapping[str, Any]) -> Training:
    """The recipe with these fields changed, by name.

    Raises UnknownField for a name that means nothing in it, BuildError for a value that can't be.
    """

    def is_inside(name: str) -> bool:
        """Methods and schedules come first: they decide which other fields there are."""
        return name.rpartition(".")[2] not in _BY_KIND

    for name in sorted(fields, key=is_inside):
        record = training.model_dump(mode="json")
        places = list(_places(record, name))
        if not places:
            raise UnknownField(name)
        for put in places:
            put(fields[name])
        training = TRAINING.given(record) or training
    return training


def field_names(training: Training) -> Iterator[str]:
    """The names of fields of optimisers, those of all first."""
    record = training.model_dump(mode="json")
    found: dict[str, list[str]] = {}
    for rule in record[_OPTIMISERS]:
        schedule = [f"schedule.{key}" for key in rule["schedule"] if key not in _FIXED]
        own = [key for key in (*rule["method"], *rule) if key not in _FIXED]
        found[rule["name"]] = own + schedule
    yield from dict.fromkeys(key for own in found.values() for key in own)
    yield from (f"{name}.{key}" for name, own in found.items() for key in own)


def _places(record: dict[str, Any], name: str) -> Iterator[Callable[[Any], None]]:
    """What sets the field of a name in the record of a recipe: one for each place it has there."""
    parts = name.split(".")
    for group in (_OPTIMISERS, _AVERAGES):
        if parts[0] == group and len(parts) > 2:
            named = [rule for rule in record[group] if rule["name"] == parts[1]]
            yield from _fields(named, parts[2:])
            return
    named = [rule for rule in record[_OPTIMISERS] if rule["name"] == parts[0]]
    if named and len(parts) > 1:
        yield from _fields(named, parts[1:])
    else:
        yield from _fields(record[_OPTIMISERS], parts)


def _fields(rules: list[dict[str, Any]], parts: list[str]) -> Iterator[Callable[[Any], None]]:
    """Setters of the field at a path in each rule that has it, or in the rule's method."""
    *inner, last = parts
    for rule in rules:
        here: Any = rule if parts[0] in rule else rule.get("method")
        for part in inner:
            key = _key(here, part)
            here = None if key is None else here[key]
        key = _key(here, last)
        if key is not None and key not in _FIXED:
            yield _setter(here, key)


def _key(here: Any, part: str) -> str | int | None:
    """The key of a part of a path in an object or a list; None if it has no such entry."""
    if isinstance(here, dict) and part in here:
        return part
    if isinstance(here, list) and part.isdecimal() and int(part) < len(here):
        return int(part)
    return None


def _setter(here: Any, key: str | int) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        here[key] = {"kind": value} if key in _BY_KIND and isinstance(value, str) else value

    return put
