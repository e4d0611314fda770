"""The drawing of the house, made from the imports: ``python -m tests.assets.house`` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import grimp

import gradwire

ROOT = Path(__file__).parents[2]
DRAWING = ROOT / "assets" / "manual" / "pictures" / "house.svg"
FLOORS = ("app", "runtime", "blocks")
TINTS = {"app": "#eaf2fd", "runtime": "#eaf7ee", "blocks": "#fbf3e2"}
_BOX, _HIGH, _STEP, _GAP = 128, 30, 64, 14
"""Width and height of a room, from row to row, and between rooms of a row, px."""

Imports = Mapping[str, frozenset[str]]


def rooms() -> Imports:
    """The rooms that each room imports when it runs. A room is what stands directly on a floor of
    ``app`` and ``runtime``; ``blocks`` is one.
    """
    graph = grimp.build_graph(gradwire.__name__, exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in sorted(graph.modules):
        if (room := _room(module)) is not None:
            others = map(_room, graph.find_modules_directly_imported_by(module))
            found.setdefault(room, set()).update(o for o in others if o is not None and o != room)
    return {room: frozenset(others) for room, others in found.items()}


def _room(module: str) -> str | None:
    floor, _, rest = module.removeprefix("gradwire.").partition(".")
    if floor not in FLOORS:
        return None
    if floor == "blocks":
        return floor
    name = rest.partition(".")[0]
    return f"{floor}.{name}" if name and name != "version" else None


def circle(imports: Imports, room: str) -> frozenset[str]:
    """The room, and those that import it and that it imports, directly or through others."""
    return frozenset({room} | {o for o in _reached(imports, room) if room in _reached(imports, o)})


def needed(imports: Imports) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""
    return [
        (room, other)
        for room, others in imports.items()
        for other in sorted(others - circle(imports, room))
        if not any(
            other in _reached(imports, between)
            for between in others - circle(imports, other) - circle(imports, room)
        )
    ]


def _reached(imports: Imports, start: str) -> set[str]:
    found: set[str] = set()
    pending = list(imports[start])
    while pending:
        room = pending.pop()
        if room not in found:
            found.add(room)
            pending += imports[room]
    return found


def _heights(imports: Imports) -> dict[str, int]:
    """How many rooms stand below each; those of a floor stand above all of the floor below."""
    height: dict[str, int] = {}
    for floor in reversed(FLOORS):
        ground = max(height.values(), default=-1) + 1
        for room in imports:
            if room.startswith(floor):
                _measure(imports, room, height, ground)
    return height


def _measure(imports: Imports, room: str, height: dict[str, int], ground: int) -> int:
    if room not in height:
        mates = circle(imports, room)
        below = {other for mate in mates for other in imports[mate]} - mates
        measured = [_measure(imports, other, height, ground) for other in sorted(below)]
        height |= dict.fromkeys(mates, max([ground, *(h + 1 for h in measured)]))
    return height[room]


def svg() -> str:
    """The rooms in rows, each above those that it imports; lines that follow from others are left
    out.
    """
    imports = rooms()
    height = _heights(imports)
    rows = [sorted(r for r in imports if height[r] == h) for h in sorted(set(height.values()))]
    wide = max(map(len, rows)) * (_BOX + _GAP) + _GAP
    centre = {
        room: (
            wide / 2 + (place - (len(row) - 1) / 2) * (_BOX + _GAP),
            (len(rows) - level) * _STEP - _STEP / 2,
        )
        for level, row in enumerate(rows)
        for place, room in enumerate(row)
    }
    lines = [_line(centre[a], centre[b]) for a, b in needed(imports)]
    boxes = [_box(room, *centre[room]) for room in imports]
    size = f'width="{wide}" height="{len(rows) * _STEP}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, f'<rect {size} fill="#ffffff"/>', *lines, *boxes, "</svg>", ""])


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (u, v) = (start[0], start[1] + _HIGH / 2), (end[0], end[1] - _HIGH / 2)
    middle = (y + v) / 2
    return (
        f'<path d="M {x:g} {y:g} C {x:g} {middle:g} {u:g} {middle:g} {u:g} {v:g}" '
        'fill="none" stroke="#8a94a0"/>'
    )


def _box(room: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x - _BOX / 2:g}" y="{y - _HIGH / 2:g}" width="{_BOX}" height="{_HIGH}" rx="4" '
        f'fill="{TINTS[room.split(".")[0]]}" stroke="#8a94a0"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle" fill="#1f2933">{escape(room)}</text>'
    )


if __name__ == "__main__":
    DRAWING.write_text(svg(), encoding="utf-8")
    for mates in {circle(rooms(), room) for room in rooms()}:
        if len(mates) > 1:
            print("rooms that import each other:", *sorted(mates))
