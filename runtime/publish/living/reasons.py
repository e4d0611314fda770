"""What a page needs to say why: the blocks, the words, and what structure says in advance.

The sentences about numbers are written in the page, as numbers change there. Those about structure
are the runtime's own, for each combination of switches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from gradwire.blocks.block import Source
from gradwire.blocks.library.functions import Clip
from gradwire.blocks.library.losses import BinaryCrossEntropy
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.numbers.cures import ARRANGING, LEAST, SHARE, STEADY
from gradwire.runtime.flow.numbers.remedies import function_of, is_complement
from gradwire.runtime.flow.structure.neighbours import SHAPES, outputs_of
from gradwire.runtime.flow.structure.reasons import Route
from gradwire.runtime.flow.structure.singles import UNAFFECTED, single
from gradwire.runtime.flow.words import phrases, tables, value_sentences
from gradwire.runtime.publish.living.computing.numbers import number

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.engine.flat import Instance
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.structure.reachability import Reach
    from gradwire.runtime.flow.words.states import Verdict
    from gradwire.runtime.publish.living.computing.switches import Switches


# ---- blocks -------------------------------------------------------------------------------------


def block_data(program: Program) -> dict[str, list[object]]:
    """For each block that runs its type, its inputs, and what else sentences depend on."""
    return {path: _block(program, each) for path, each in program.instances.items()}


def _block(program: Program, instance: Instance) -> list[object]:
    block = instance.block
    kind, names = block.type_name(), block.output_names()
    more: dict[str, object] = {}
    ports = [leaf for name in names for leaf in program.leaf_ports(instance.port(name))]
    if (outputs := [port.within_block for port in ports]) != ["out"]:
        more["outputs"] = outputs
        wires = [leaf for key, _ in instance.wires.values() for leaf in program.leaf_wires(key)]
        leads = {wire: outputs_of(program, wire) for wire in wires}
        some = {wire: found for wire, found in leads.items() if len(found) < len(outputs)}
        if some:
            more["leads"] = {
                wire.within_block: [port.within_block for port in found]
                for wire, found in some.items()
            }
    if passed := _passed(instance):
        more["wires"] = passed
    if block.head:
        more["head"] = 1
    if isinstance(block, Source):
        more["source"] = 1
    if isinstance(block, Clip):
        limits = {"min": block.min, "max": block.max}
        more |= {key: number(limit) for key, limit in limits.items() if limit is not None}
        if block.open:
            more["open"] = 1
    if kind in ("Softmax", "LogSoftmax"):
        more["axis"] = getattr(block, "axis", -1)
    if isinstance(block, BinaryCrossEntropy) and block.clips:
        more["improbable"] = 1
    sources = {port: program.flat.source(source) for port, (_, source) in instance.wires.items()}
    shapes = {n: program.ports[s].shape for n, s in sources.items() if s in program.ports}
    if alone := single(block, shapes):
        more["single"] = list(alone)
    if kind == "Exp" and (function := function_of(program, instance.path)):
        more["function"] = function
    if kind == "Log" and is_complement(program, instance.path):
        more["complement"] = 1
    return [kind, list(instance.inputs), more]


def _passed(instance: Instance) -> dict[str, str]:
    """The wires that keep another path than that of their input: those into a page."""
    wires = {port: key for port, (key, _) in instance.wires.items()}
    return {port: key for port, key in wires.items() if key != instance.path.wire(port)}


# ---- what structure says ------------------------------------------------------------------------


class PageVerdicts:
    """Why each wire and variable gets a gradient, for every combination of switches and loss."""

    def __init__(self, program: Program) -> None:
        self._places: dict[str, int] = {path: place for place, path in enumerate(program.instances)}
        self._names: list[str] = []
        self._texts: dict[str, int] = {}
        self._routes: dict[tuple[int, int], int] = {}
        self._ends: dict[Reach, dict[int, int]] = {}
        self._cuts: dict[tuple[int, str], int] = {}
        self._told: dict[tuple[int, ...], int] = {}
        self._table: dict[str, list[int]] = {}

    def add(self, switches: Switches, setting: Sequence[bool]) -> None:
        """Add what is said with the switches set so."""
        program = lower(switches.switched(setting))
        flow = analyse(program).prepare()
        self._names = [*program.wire_sources, *program.trainable]
        losses = program.heads() if len(program.heads()) > 1 else []
        for place, loss in enumerate([None, *losses], -1):
            key = setting_key(setting) + (f":{place}" if place >= 0 else "")
            self._table[key] = [self._telling(flow.explain(name, loss)) for name in self._names]

    def _telling(self, verdict: Verdict) -> int:
        """The place of what a verdict says: its text, its cure, the end of its route, and who
        cuts.
        """
        told = (
            self._text(verdict.sentence),
            self._text(verdict.cure),
            self._route(verdict.witness),
            *self._cut(list(dict.fromkeys(str(cutter.wire) for cutter in verdict.cutters))),
        )
        return self._told.setdefault(told, len(self._told))

    def _route(self, blocks: Sequence[str]) -> int:
        """The place of a route's end; what long routes share is followed once."""
        if isinstance(blocks, Route):
            ends = self._ends.setdefault(blocks.reach, {})
            return blocks.reach.reduced(blocks.value, self._further, -1, ends)
        return reduce(self._further, blocks, -1)

    def _cut(self, wires: list[str]) -> tuple[int, int]:
        """The places of the first of some wires, and of the last, which may be behind: those that
        cut step by step share what lies between.
        """
        if not wires:
            return -1, -1
        *others, last = wires
        end = self._cuts.setdefault((-1, last), len(self._cuts))
        rest = -1
        for wire in reversed(others):
            rest = self._cuts.setdefault((rest, wire), len(self._cuts))
        return rest, end

    def _further(self, route: int, block: str) -> int:
        return self._routes.setdefault((route, self._places[block]), len(self._routes))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    @property
    def data(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "names": self._names,
            "texts": list(self._texts),
            "routes": list(self._routes),
            "cuts": list(self._cuts),
            "told": [list(told) for told in self._told],
            "table": self._table,
        }


def setting_key(setting: Iterable[bool]) -> str:
    """A combination of switches as a key: a digit each, 1 if it is open."""
    return "".join("01"[is_open] for is_open in setting)


# ---- words --------------------------------------------------------------------------------------


_BY_KIND = frozenset(("STEPS", "FACTORS", "AT_POLE", "SHAPES", "UNDER_ROOT"))
"""Tables whose keys, or lists whose elements, are all types of blocks."""


def words(script: str, kinds: Collection[str] | None = None) -> str:
    """The script that defines ``SAY``: those phrases and tables that ``script`` names, the tables
    with what they have for these types of blocks, or for all for None.
    """
    say = value_sentences
    found: dict[str, Json] = {
        name: phrase for name, phrase in vars(phrases).items() if name.isupper()
    }
    found |= {name: text for name, text in vars(say).items() if name.isupper() and _is_text(text)}
    found |= {
        "AT_POLE": say.AT_POLE, "EXP": say.EXP,
        "BETWEEN": say.BETWEEN, "LIMITED": say.LIMITED, "MANY": MANY, "SYMBOLS": say.SYMBOLS,
        "SHAPES": sorted(SHAPES), "UNAFFECTED": UNAFFECTED,
        "UNDER_ROOT": say.UNDER_ROOT,
        "UNDERFLOWN": say.underflows("{0}"),
        "TOO_LATE": say.guard_too_late("{0}", "{1}", "{2}"),
        "DOUBLE_WHERE": say.double_where("{0}", "{1}", "", "{2}"),
        "DOUBLE_WHERE_SQRT": say.double_where("{0}", "{1}", "Sqrt", "{2}"),
        "NOT_TAKEN": say.not_taken("{0}"),
        "DECAY": {
            "arranging": sorted(ARRANGING), "least": LEAST, "share": SHARE, "steady": STEADY,
        },
        "NORMS": [
            [say.norm_cure("{0}", is_squared, is_named) for is_named in (False, True)]
            for is_squared in (False, True)
        ],
        "POLES": {kind: say.pole_cure("{0}", kind) for kind in ("", "Arctan2", "Div")},
        "KEEP_SMALL": say.squashing_cure(["{0}"], True),
        "NO_SQUASHING": say.squashing_cure(["{0}"], False),
    }  # fmt: skip
    for name in ("REASONS", "FLAT_CURES", "VALUE_CURES"):
        found[name] = _for_script(getattr(tables, name), kinds)
    named = sorted(set(re.findall(r"\bSAY\.(\w+)", script)))
    told = {name: found[name] for name in named}
    if kinds is not None:
        told |= {name: _of(kinds, told[name]) for name in named if name in _BY_KIND}
    return f"const SAY={json.dumps(told, ensure_ascii=False, separators=(',', ':'))};\n"


def _of(kinds: Collection[str], table: Any) -> Json:
    if isinstance(table, dict):
        return {kind: told for kind, told in table.items() if kind in kinds}
    return [kind for kind in table if kind in kinds]


def _for_script(rules: tables.Rules, kinds: Collection[str] | None) -> list[list[str]]:
    """A table with the names of facts that JavaScript has, without rules of other types."""

    def named(facts: str) -> str:
        return re.sub(r"_(\w)", lambda match: match[1].upper(), facts)

    left = rules if kinds is None else tables.of_kinds(rules, kinds)
    return [[named(asked), words, *map(named, places)] for asked, words, *places in left]


def _is_text(value: object) -> bool:
    return isinstance(value, str)
