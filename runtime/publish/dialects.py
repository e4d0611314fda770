"""Variables in the words of other systems, and what an optimiser would do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.runtime.calculus.choices.choice import SYSTEMS
from gradwire.runtime.flow import dialects
from gradwire.runtime.publish.text import TextTable

if TYPE_CHECKING:
    from gradwire.runtime.flow import Dialects, ObservedFlow


def dialect_table(observed: ObservedFlow) -> TextTable:
    """A row a variable: what each system reports, and where SGD with weight decay ends.

    A last column has the blocks at which systems differ, where there are any.
    """
    rows = []
    reasons = []
    for found in _by_variable(observed).values():
        ends: dict[str, list[str]] = {}
        for system in SYSTEMS:
            ends.setdefault(found.fates[system][0].decayed, []).append(system)
        fates = "; ".join(
            f"{', '.join(systems)}: {end}" if len(ends) > 1 else end
            for end, systems in ends.items()
        )
        rows.append((found.variable, *(report.says for report in found.reports), fates))
        reasons.append(" ".join(filter(None, (report.because for report in found.reports))))
    head: tuple[str, ...] = ("variable", *SYSTEMS, "with weight decay (SGD)")
    if any(reasons):
        head = (*head, "why they differ")
        rows = [(*row, reason) for row, reason in zip(rows, reasons, strict=True)]
    return TextTable("In other systems", head, tuple(rows))


def dialects_json(observed: ObservedFlow) -> dict[str, Any]:
    """``{variable: {system: {"says", "by", "optimisers": {name: {"plain", "decayed"}}}}}``.

    ``because`` says why a system differs from what is shown here, where one does.
    """
    return {
        name: {
            report.system: {
                "says": report.says,
                "by": report.by,
                **({"because": report.because} if report.because else {}),
                "optimisers": {
                    fate.optimiser: {"plain": fate.plain, "decayed": fate.decayed}
                    for fate in found.fates[report.system]
                },
            }
            for report in found.reports
        }
        for name, found in _by_variable(observed).items()
    }


def _by_variable(observed: ObservedFlow) -> dict[str, Dialects]:
    return {name: dialects(observed, name) for name in observed.program.sources("variable")}
