"""The trainings of a study that varies numbers of a diagram: all combinations of their values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import MAIN
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.training.studies.files import MAX_SEEDS, MAX_STEPS, Variant
from gradwire.runtime.training.studies.recipes import UnknownField, field_names, with_fields
from gradwire.runtime.training.studies.task import TrainingTask
from gradwire.runtime.training.studies.values import MOST
from gradwire.runtime.training.studies.variants import with_variant
from gradwire.runtime.training.trainer import DEFAULT

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.training import Training

SEED, STEPS = "seed", "steps"


@dataclass(frozen=True, slots=True)
class PlannedTraining:
    """A training of a study: what is varied in it, by name, and its task."""

    settings: Mapping[str, Any]
    task: TrainingTask


def plan(
    diagram: Diagram, varied: Mapping[str, Sequence[Any]], steps: int | None = None
) -> list[PlannedTraining]:
    """A training for each combination of values, those of the last name next to each other.

    Raises ParameterError for names that mean nothing in the diagram, for values that can't be, and
    for too many combinations.
    """
    count = math.prod(map(len, varied.values()))
    if count > MOST:
        raise ParameterError(
            "There are too many combinations.", expected=f"at most {MOST:,}", got=f"{count:,}"
        )
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


def _require_count(name: str, value: Any) -> None:
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


def _unfit(settings: Mapping[str, Any], error: GradwireError) -> ParameterError:
    """The error of a combination, with its values."""
    shown = ", ".join(f"{name}={value!r}" for name, value in settings.items() if name != SEED)
    return ParameterError(
        f"A study can't have {shown}: {error.what}",
        location=error.location,
        expected=error.expected,
        got=error.got,
        next_step=error.next_step,
    )
