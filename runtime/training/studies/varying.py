"""The trainings of a study that varies numbers of a diagram: all combinations of their values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import MAIN
from gradwire.runtime.diagram.files.models import TRAINING, whole_numbers
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.limits import require_at_most
from gradwire.runtime.training.studies.files import MAX_SEEDS, MAX_STEPS, Variant
from gradwire.runtime.training.studies.task import TrainingTask
from gradwire.runtime.training.studies.variants import with_variant
from gradwire.runtime.training.trainer import DEFAULT

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.training import Training


# Fields of a recipe by name, each in all optimisers that have it, or in one: ``lr``, ``opt.lr``,
# ``schedule.gamma``, ``optimisers.opt.betas.0``, ``averages.slow.decay``.

_OPTIMISERS, _AVERAGES = "optimisers", "averages"
_BY_KIND = ("method", "schedule")
"""Fields whose value may be a word for the kind alone."""
_FIXED = ("name", "kind")
"""Fields that are not changed alone."""


class UnknownField(Exception):
    """A recipe has no field of this name."""


def with_fields(training: Training, fields: Mapping[str, object]) -> Training:
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


def _places(record: dict[str, Any], name: str) -> Iterator[Callable[[object], None]]:
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


def _fields(rules: list[dict[str, Any]], parts: list[str]) -> Iterator[Callable[[object], None]]:
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


def _key(here: object, part: str) -> str | int | None:
    """The key of a part of a path in an object or a list; None if it has no such entry."""
    if isinstance(here, dict) and part in here:
        return part
    if isinstance(here, list) and part.isdecimal() and int(part) < len(here):
        return int(part)
    return None


def _setter(here: Any, key: str | int) -> Callable[[object], None]:
    def put(value: object) -> None:
        here[key] = {"kind": value} if key in _BY_KIND and isinstance(value, str) else value

    return put


# The values of ``--vary NAME=VALUES``: lists, ranges of integers, and numbers between two ends.
#
# ``1e-3,1e-2``                a list; an entry is JSON, or a word for itself
# ``0..9``, ``0..100..10``     integers from one end to the other, by steps, as in a shell's braces
# ``linspace(0, 1, 5)``        so many numbers at equal distances, both ends among them, as numpy's
# ``geomspace(1e-4, 1, 5)``    likewise at equal ratios

MOST = 10_000
"""Trainings of one study, and values of one name."""
EXPECTED = (
    "a list such as 1e-3,1e-2, a range of integers such as 0..9 or 0..100..10, "
    "linspace(FIRST, LAST, COUNT) or geomspace(FIRST, LAST, COUNT)"
)
_RANGE = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)(?:\.\.(\d+))?")
_SPACE = re.compile(r"(linspace|geomspace)\((.*)\)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d][\w./*-]*")
_DIGITS = 18
"""Of an integer at the end of a range, at most."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)
"""A quoted text, or one character."""


def parse_varied(text: str) -> tuple[str, tuple[object, ...]]:
    """``"lr=1e-3,1e-2"`` as a name and its values; raises ParameterError."""
    name, equals, values = text.partition("=")
    name = name.strip()
    if not (name and equals and values.strip()):
        raise ParameterError(
            f"--vary {text!r} is not NAME=VALUES.",
            expected="NAME=VALUES",
            next_step="For example --vary lr=1e-3,1e-2 --vary seed=0..9.",
        )
    return name, parse_values(name, values)


def parse_values(name: str, text: str) -> tuple[object, ...]:
    """The values of a name as JSON data, none of them twice; raises ParameterError."""
    found: list[object] = []
    for entry in _entries(name, text):
        found += _values(name, entry)
        if len(found) > MOST:
            raise _wrong(name, text, "has too many values", f"at most {MOST:,}")
    seen = set()
    for value in found:
        key = json.dumps(whole_numbers(value), sort_keys=True)
        if key in seen:
            raise ParameterError(f"--vary {name} has the value {key} twice.")
        seen.add(key)
    return tuple(found)


def _entries(name: str, text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets and no quotes."""
    closing: list[str] = []
    entry = ""
    for part in _PART.findall(text):
        if part == "," and not closing:
            yield entry.strip()
            entry = ""
            continue
        entry += part
        if part in _PAIRS:
            closing.append(_PAIRS[part])
        elif closing and part == closing[-1]:
            closing.pop()
    if closing:
        raise _wrong(name, text, f"lacks a {closing[-1]}")
    yield entry.strip()


def _values(name: str, entry: str) -> list[object]:
    if found := _RANGE.fullmatch(entry):
        return _integers(name, entry, *found.groups())
    if found := _SPACE.fullmatch(entry):
        return _spaced(name, entry, found[1], found[2])
    if _NUMBER.fullmatch(entry):
        return [_number(name, entry)]
    try:
        return [json.loads(entry, parse_constant=_refuse)]
    except (ValueError, RecursionError):
        word = {"True": True, "False": False, "None": None}.get(entry, entry)
        if word != entry or _WORD.fullmatch(entry):
            return [word]
    raise _wrong(name, entry, "can't be read")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _number(name: str, text: str) -> int | float:
    """An integer if it is written as one; whole floats are integers to whoever needs these."""
    if len(text) <= _DIGITS and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise _wrong(name, text, "is too large")
    return value


def _integers(name: str, entry: str, first: str, last: str, step: str | None) -> list[object]:
    if max(map(len, (first, last, step or ""))) > _DIGITS:
        raise _wrong(name, entry, "is too large")
    begin, end, by = int(first), int(last), int(step or 1)
    if by == 0:
        raise _wrong(name, entry, "has a step of 0")
    found = range(begin, end + 1, by) if begin <= end else range(begin, end - 1, -by)
    if len(found) > MOST:
        raise _wrong(name, entry, "has too many values", f"at most {MOST:,}")
    return list(found)


def _spaced(name: str, entry: str, kind: str, arguments: str) -> list[object]:
    try:
        begin, end, count = (json.loads(part) for part in arguments.split(","))
        first, last = float(begin), float(end)
    except (ValueError, TypeError, RecursionError):
        raise _wrong(name, entry, "can't be read", f"{kind}(FIRST, LAST, COUNT)") from None
    if not (type(count) is int and 2 <= count <= MOST):
        raise _wrong(name, entry, "has no such count", f"an integer from 2 to {MOST:,}")
    if not math.isfinite(last - first):
        raise _wrong(name, entry, "is too large")
    if kind == "geomspace" and not min(first, last) > 0:
        raise _wrong(name, entry, "has no equal ratios", "two positive ends")
    space = np.geomspace if kind == "geomspace" else np.linspace
    return [float(f"{value:.12g}") for value in space(first, last, count).tolist()]


def _wrong(name: str, text: str, what: str, expected: str = EXPECTED) -> ParameterError:
    return ParameterError(f"--vary {name} {what}.", expected=expected, got=repr(text[:80]))


SEED, STEPS = "seed", "steps"


@dataclass(frozen=True, slots=True)
class PlannedTraining:
    """A training of a study: what is varied in it, by name, and its task."""

    settings: Mapping[str, object]
    task: TrainingTask


def plan(
    diagram: Diagram, varied: Mapping[str, Sequence[object]], steps: int | None = None
) -> list[PlannedTraining]:
    """A training for each combination of values, those of the last name next to each other.

    Raises ParameterError for names that mean nothing in the diagram, for values that can't be, and
    for too many combinations.
    """
    count = math.prod(map(len, varied.values()))
    require_at_most("There are too many combinations.", count, MOST, error=ParameterError)
    found = []
    for values in product(*varied.values()):
        settings = dict(zip(varied, values, strict=True))
        found.append(PlannedTraining(settings, _task(diagram, settings, steps)))
    return found


def _task(diagram: Diagram, settings: Mapping[str, Any], steps: int | None) -> TrainingTask:
    blocks: dict[str, dict[str, Any]] = {}
    fields: dict[str, Any] = {}
    for name, value in settings.items():
        path = PortPath(name)
        if name in (SEED, STEPS):
            _require_count(name, value)
        elif path.port and _has_block(diagram, path.block):
            blocks.setdefault(path.block, {})[path.port] = value
        else:
            fields[name] = value
    training = diagram.training or DEFAULT
    try:
        changed = with_fields(training, fields).to_record() if fields else {}
        variant = Variant(set=blocks, training=changed)
        with_variant(diagram, variant)
    except UnknownField as unknown:
        raise _unknown(diagram, training, str(unknown)) from None
    except GradwireError as error:
        raise _unfit(settings, error) from None
    return TrainingTask(variant, settings.get(SEED, 0), settings.get(STEPS, steps))


def _require_count(name: str, value: object) -> None:
    least, most = (0, MAX_SEEDS - 1) if name == SEED else (1, MAX_STEPS)
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(
            f"--vary {name} can't be {value!r}.", expected=f"integers from {least} to {most:,}"
        )


def _has_block(diagram: Diagram, path: InstancePath) -> bool:
    page = diagram.pages.get(str(path.use) or MAIN)
    return page is not None and path.name in page.blocks


def _unknown(diagram: Diagram, training: Training, name: str) -> ParameterError:
    known = [SEED, STEPS, *field_names(training), *_parameters(diagram)]
    return ParameterError(
        f"--vary {name}: there is nothing of that name to vary.",
        expected="seed, steps, a field of an optimiser such as lr or NAME.lr, or BLOCK.PARAMETER "
        "(PAGE/BLOCK.PARAMETER on another page than main)",
        next_step=did_you_mean(name, known),
    )


def _parameters(diagram: Diagram) -> Iterator[str]:
    for page, content in diagram.pages.items():
        for name, block in content.blocks.items():
            place = InstancePath(name) if page == MAIN else InstancePath.of(page, name)
            ports = (port.name for port in block.inputs)
            yield from map(place.port, (*block.parameter_names(), *ports))


def _unfit(settings: Mapping[str, object], error: GradwireError) -> ParameterError:
    """The error of a combination, with its values."""
    shown = ", ".join(f"{name}={value!r}" for name, value in settings.items() if name != SEED)
    return ParameterError(
        f"A study can't have {shown}: {error.what}",
        location=error.location,
        expected=error.expected,
        got=error.got,
        next_step=error.next_step,
    )
