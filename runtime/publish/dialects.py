"""Variables in the words of other systems, and what an optimiser would do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.flow import dialects
from runtime.flow.tools.dialects import SYSTEMS
from runtime.publish.text import Table

if TYPE_CHECKING:
    from runtime.flow import Dialects, ObservedFlow


def dialect_table(observed: ObservedFlow) -> Table:
    """A row a variable: what each system reports, and where SGD with weight decay ends."""
    rows = []
    for told in _told(observed).values():
        ends: dict[str, list[str]] = {}
        for system in SYSTEMS:
            ends.setdefault(told.fates[system][0].decayed, []).append(system)
        fates = "; ".join(
            f"{', '.join(systems)}: {end}" if len(ends) > 1 else end
            for end, systems in ends.items()
        )
        rows.append((told.variable, *(report.says for report in told.reports), fates))
    return Table("In other systems", ("variable", *SYSTEMS, "with weight decay (SGD)"), tuple(rows))


def dialects_json(observed: ObservedFlow) -> dict[str, Any]:
    """``{variable: {system: {"says", "by", "optimisers": {name: {"plain", "decayed"}}}}}``."""
    return {
        name: {
            report.system: {
                "says": report.says,
                "by": report.by,
                "optimisers": {
                    fate.optimiser: {"plain": fate.plain, "decayed": fate.decayed}
                    for fate in told.fates[report.system]
                },
            }
            for report in told.reports
        }
        for name, told in _told(observed).items()
    }


def _told(observed: ObservedFlow) -> dict[str, Dialects]:
    return {name: dialects(observed, name) for name in observed.program.sources("variable")}
