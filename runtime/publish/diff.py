"""The report of a comparison of two diagrams: words and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.diagram.files.records import type_of
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.effects import Effect, effects
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.diff import (
        BlockChange,
        Changed,
        DiagramChanges,
        PageChanges,
        WireChange,
    )
    from gradwire.runtime.flow.tools.effects import Effects, VariableEffect

_LONGEST = 60
"""Length of a value in words, in characters, from which its numbers are counted instead."""
_STRUCTURE_ALONE = "A diagram has errors, so gradients are compared by structure alone."
_LISTS = {
    "lesson": ("steps", "step"),
    "training": ("optimisers", "optimiser"),
    "comparison": ("disagreements", "disagreement"),
}
"""The list that a lesson or a training mainly is, and what an entry of it is called."""
_FIELDS = {
    "apart": "largest relative difference",
    "absent": "gradients that are None",
    "gradients": "gradients compared",
    "numbers": "whether numbers were compared",
    "missteps": "what the program does wrongly",
}
"""What fields of a comparison are called, where their names don't say it."""
_COLUMNS = ("", "what", "change")
_WORDS = {
    Effect.LOST: "loses its gradient",
    Effect.GAINED: "gains a gradient",
    Effect.NEW_WITH: "is new, and gets a gradient",
    Effect.NEW_WITHOUT: "is new, and gets no gradient",
    Effect.REMOVED: "is removed",
    Effect.OTHER_REASON: "gets no gradient, for another reason",
    Effect.OTHER_VALUE: "gets another gradient",
    Effect.SAME: "as before",
}


@dataclass(frozen=True, slots=True, eq=False)
class DiffReport:
    """What differs between two files, and what that does to gradients.

    ``notices`` are about what could not be compared.
    """

    before: str
    after: str
    changes: DiagramChanges
    effects: Effects
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()

    def parts(self) -> list[Part]:
        """Tables of pages with + for added, − for removed and ~ for changed, then the gradients."""
        parts: list[Part] = [f"{self.before} → {self.after}", *self.notices]
        if self.changes.is_empty:
            return [*parts, "No difference."]
        if self.changes.head:
            rows = tuple(_field_row(changed) for changed in self.changes.head)
            parts.append(TextTable("Diagram", _COLUMNS, rows))
        for page in self.changes.pages:
            parts += _page_parts(page, self.changes)
        return [*parts, *_effect_parts(self.effects)]

    def to_json(self) -> dict[str, object]:
        """``{"report": "diff", "version": 2, …}``."""
        return {
            "report": "diff",
            "version": 2,
            "before": self.before,
            "after": self.after,
            "same": self.changes.is_empty,
            "same_meaning": not self.changes.has_meaning,
            "diagram": {c.name: {"before": c.before, "after": c.after} for c in self.changes.head},
            "pages": [_page_json(page) for page in self.changes.pages],
            "gradients": _effects_json(self.effects),
            "notices": list(self.notices),
            "problems": [problem.to_json() for problem in self.problems],
        }


def diff_report(
    before: Diagram,
    after: Diagram,
    names: tuple[str, str],
    *,
    run: bool = False,
    notices: Sequence[str] = (),
) -> DiffReport:
    """Compare two diagrams that are shown under these names.

    With ``run`` gradients are compared by their numbers, unless a diagram has errors.
    """
    sessions = [Session(diagram, partial=True) for diagram in (before, after)]
    problems = tuple(
        Problem(diagnostic, name)
        for session, name in zip(sessions, names, strict=True)
        for diagnostic in session.diagnostics
    )
    can_run = run and not any(problem.is_error for problem in problems)
    flows = [
        observe(session, session.losses) if can_run else analyse(session.program)
        for session in sessions
    ]
    changes = diff(before, after)
    found = effects(changes, flows[0], flows[1])
    said = dict.fromkeys([*notices, *([_STRUCTURE_ALONE] if run and not can_run else [])])
    return DiffReport(*names, changes, found, problems, tuple(said))


def _page_parts(page: PageChanges, changes: DiagramChanges) -> Iterator[Part]:
    """A line about the page itself, and a table of what differs on it."""
    title = f"Page {page.name}"
    if page.was is None:
        title += " (new)"
    elif page.page is None:
        title += " (removed)"
    elif page.was != page.page:
        title += f" (was {page.was})"
    rows = tuple(_page_rows(page, changes))
    yield TextTable(title, _COLUMNS, rows) if rows else title


def _page_rows(page: PageChanges, changes: DiagramChanges) -> Iterator[tuple[str, str, str]]:
    old = changes.before.pages.get(page.was or "")
    new = changes.after.pages.get(page.page or "")
    for name in page.removed:
        yield "−", name, type_of(old.blocks[name]) if old else ""
    for name in page.added:
        yield "+", name, type_of(new.blocks[name]) if new else ""
    for was, name in page.renamed.items():
        yield "~", name, f"was {was}"
    for block in page.changed:
        yield from (_block_row(block, changed) for changed in block.fields)
    yield from map(_wire_row, page.wires)
    for note in page.notes:
        sign = "+" if note.before is None else "−" if note.after is None else "~"
        shown = note.after or note.before
        yield sign, f"note {note.name}", short(shown.text if shown else "")
    if page.moved:
        yield "~", "moved", _few(page.moved)
    if page.rerouted:
        yield "~", "rerouted", _few([f"the wire into {target}" for target in page.rerouted])
    if page.restyled:
        yield "~", "other colours, or collapsed", _few(page.restyled)
    if page.rewritten:
        yield "~", "written elsewhere", _few(page.rewritten)


def _block_row(block: BlockChange, changed: Changed) -> tuple[str, str, str]:
    return "~", f"{block.name}: {changed.name}", _from_to(changed.before, changed.after)


def _field_row(changed: Changed) -> tuple[str, str, str]:
    if changed.name in _LISTS:
        return _model_row(changed.name, changed.before, changed.after)
    if changed.name != "contracts":
        return "~", changed.name, _from_to(changed.before, changed.after)
    gone = [f"− {line}" for line in changed.before if line not in changed.after]
    come = [f"+ {line}" for line in changed.after if line not in changed.before]
    return "~", "contracts", "; ".join([*gone, *come]) or "another order"


def _model_row(
    name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[str, str, str]:
    """Which fields of a lesson or a training differ, and which of its steps or optimisers."""
    key, one = _LISTS[name]
    if before is None or after is None:
        count = len((before or after or {}).get(key, ()))
        return "−" if after is None else "+", name, f"{count} {one if count == 1 else key}"
    fields = [field for field in {**before, **after} if before.get(field) != after.get(field)]
    pairs = zip_longest(before.get(key, ()), after.get(key, ()))
    entries = [str(i) for i, (was, now) in enumerate(pairs, 1) if was != now]
    found = [_FIELDS.get(field, field) for field in fields if field != key]
    found += [f"{one if len(entries) == 1 else key} {_few(entries)}"] if entries else []
    return "~", name, ", ".join(found)


def _wire_row(wire: WireChange) -> tuple[str, str, str]:
    if wire.before is None:
        return "+", f"wire into {wire.target}", f"from {wire.after}"
    if wire.after is None:
        return "−", f"wire into {wire.target}", f"from {wire.before}"
    return "~", f"wire into {wire.target}", f"from {wire.after}, was from {wire.before}"


def _from_to(before: object, after: object) -> str:
    """``3 → 4``; of long values how many of their numbers differ."""
    if isinstance(before, list) and isinstance(after, list):
        if max(len(json.dumps(before)), len(json.dumps(after))) > _LONGEST:
            return _numbers(list(_leaves(before)), list(_leaves(after)))
    return f"{short(before)} → {short(after)}"


def _numbers(before: Sequence[object], after: Sequence[object]) -> str:
    if len(before) != len(after):
        return f"{len(before)} numbers → {len(after)} numbers"
    differing = sum(one != other for one, other in zip(before, after, strict=True))
    return f"{differing} of {len(before)} numbers"


def _leaves(data: object) -> Iterator[object]:
    if isinstance(data, list):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def short(value: object) -> str:
    """A value as in the file; – for none."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _effect_parts(effects: Effects) -> Iterator[Part]:
    if effects.is_empty:
        yield "Every gradient flows as before."
        return
    for word, losses in (("new", effects.losses_added), ("gone", effects.losses_removed)):
        if losses:
            yield f"Losses that are {word}: {_few(losses)}."
    if effects.changed:
        rows = tuple((each.name, _WORDS[each.effect], _why(each)) for each in effects.changed)
        yield TextTable("Gradients of variables", ("variable", "gradient", "why"), rows)
    if effects.wires:
        states = tuple((w, was.value, now.value) for w, (was, now) in effects.wires.items())
        yield TextTable("Wires in another state", ("wire", "before", "after"), states)


def _why(effect: VariableEffect) -> str:
    if effect.effect is Effect.OTHER_VALUE and effect.numbers is not None:
        percent = effect.numbers.percent
        return f"{percent:+.1f} %".replace("-", "−") if percent else ""
    return f"before: {effect.reason}" if effect.effect is Effect.GAINED else effect.reason


def _page_json(page: PageChanges) -> dict[str, object]:
    return {
        "page": page.page,
        "was": page.was,
        "added": list(page.added),
        "removed": list(page.removed),
        "renamed": dict(page.renamed),
        "changed": {
            block.name: {
                c.name: {"before": _json(c.before), "after": _json(c.after)} for c in block.fields
            }
            for block in page.changed
        },
        "wires": {
            str(wire.target): {
                "before": str(wire.before) if wire.before else None,
                "after": str(wire.after) if wire.after else None,
            }
            for wire in page.wires
        },
        "notes": {
            note.name: {
                "before": note.before.text if note.before else None,
                "after": note.after.text if note.after else None,
            }
            for note in page.notes
        },
        "moved": list(page.moved),
        "rerouted": [str(target) for target in page.rerouted],
        "restyled": list(page.restyled),
        "rewritten": list(page.rewritten),
    }


def _json(value: object) -> object:
    """JSON data with numbers that are not finite as text."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _effects_json(effects: Effects) -> dict[str, Json]:
    return {
        "losses_added": list(effects.losses_added),
        "losses_removed": list(effects.losses_removed),
        "variables": {
            each.name: {
                "effect": each.effect.value,
                "before": each.before.state.value if each.before else None,
                "after": each.after.state.value if each.after else None,
                "reason": each.reason,
            }
            for each in effects.variables
        },
        "wires": {
            wire: {"before": was.value, "after": now.value}
            for wire, (was, now) in effects.wires.items()
        },
    }
