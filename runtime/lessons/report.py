"""The timeline as a table of sentences, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, assert_never

from gradwire.blocks import Tensor
from gradwire.runtime.lessons.inside import PrimitiveBackward, PrimitiveForward
from gradwire.runtime.lessons.steps import BackwardStep, ForwardStep, Seed, UpdateStep
from gradwire.runtime.lessons.words import sentence

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import PortPath, WirePath
    from gradwire.runtime.lessons.steps import Step
    from gradwire.runtime.lessons.timeline import Event, Timeline


def rows(timeline: Timeline, events: Iterable[Event]) -> tuple[tuple[str, str, str], ...]:
    """Position, phase and sentence of each event."""
    return tuple(
        (str(event.position), event.phase.value, _sentence(timeline, event)) for event in events
    )


def steps_json(timeline: Timeline, events: Iterable[Event]) -> list[dict[str, object]]:
    """A record of each event: position, phase, block, sentence and the arrays at full precision.

    None is null. An array that was not kept is missing in ``inputs`` and ``outputs``; elsewhere
    it is null, with ``"known": false``.
    """
    return [
        {
            "position": event.position,
            "phase": event.phase.value,
            "block": event.path,
            "sentence": _sentence(timeline, event),
            **_numbers(timeline.step(event.position)),
        }
        for event in events
    ]


def _sentence(timeline: Timeline, event: Event) -> str:
    step = timeline.step(event.position)
    assert step is not None  # an event has a step
    return sentence(timeline.steps, step)


def _numbers(step: Step | None) -> dict[str, object]:
    match step:
        case ForwardStep():
            return {"inputs": _arrays(step.inputs), "outputs": _arrays(step.outputs)}
        case Seed():
            return {"port": step.port, "gradient": _json(step.value)}
        case BackwardStep():
            return {
                "arrivals": [
                    {
                        "port": arrival.port,
                        "terms": [
                            {"by": entry.by, "gradient": _json(entry.amount)}
                            for entry in arrival.terms
                        ],
                        "sum": _json(arrival.total),
                        "known": arrival.total is not None,
                    }
                    for arrival in step.arrivals
                ],
                "returns": [
                    {
                        "wire": back.wire,
                        "to": back.source,
                        "gradient": _json(back.value),
                        "known": back.is_known,
                        "state": back.state.value,
                        "thrown_away": back.is_discarded or back.wire in step.absorbs,
                        "reason": step.absorbs.get(back.wire),
                    }
                    for back in step.returns
                ],
            }
        case PrimitiveForward():
            return {
                "result": step.result,
                "formula": step.formula.text,
                "value": _json(step.value),
                "known": step.value is not None,
            }
        case PrimitiveBackward():
            return {
                "result": step.result,
                "formula": None if step.formula is None else step.formula.text,
                "terms": [{"by": by, "gradient": _json(array)} for by, array in step.terms],
                "sum": _json(step.total),
                "known": step.total is not None,
                "returns": [
                    {
                        "to": back.receiver,
                        "rule": None if back.rule is None else back.rule.text,
                        "gradient": _json(back.value),
                        "known": back.is_known,
                        "thrown_away": back.is_discarded,
                        "reason": back.reason or None,
                    }
                    for back in step.returns
                ],
            }
        case UpdateStep():
            return {
                "before": _json(step.before),
                "gradient": _json(step.gradient),
                "after": _json(step.after),
            }
        case None:
            return {}
        case _:
            assert_never(step)


def _arrays(arrays: Mapping[PortPath, Array] | Mapping[WirePath, Array]) -> dict[str, object]:
    return {name: _json(array) for name, array in arrays.items()}


def _json(array: Array | None) -> object:
    return None if array is None else Tensor(array).to_json()
