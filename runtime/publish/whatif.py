"""The report of a trial: gradients and states before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from gradwire.blocks import Tensor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.flow import Comparison, Difference
    from gradwire.runtime.publish.problems import Problem

TOGETHER = "all losses together"


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """What a trial changes, per loss and, where there are several, for all of them together."""

    file: str
    comparison: Comparison
    problems: tuple[Problem, ...] = ()

    def parts(self) -> list[Part]:
        """For each loss a table of variables and one of the wires whose state is another."""
        parts: list[Part] = [f"{self.comparison.change.label}?\n{self.file}"]
        for name, loss in self._losses().items():
            rows = tuple(
                (variable, size(d.before), size(d.after), _change(d))
                for variable, d in self.comparison.variables(loss).items()
            )
            parts.append(
                TextTable(f"Variables, for {name}", ("variable", "before", "after", "change"), rows)
            )
            changed = tuple(
                (wire, before.value if before else "-", after.value)
                for wire, (before, after) in self.comparison.changed(loss).items()
            )
            if changed:
                parts.append(TextTable(f"Wires, for {name}", ("wire", "before", "after"), changed))
            else:
                parts.append(f"For {name}, no wire changes state.")
        return parts

    def to_json(self) -> dict[str, Json]:
        """``{"report": "whatif", "version": 2, …}``."""
        return {
            "report": "whatif",
            "version": 2,
            "file": self.file,
            "change": self.comparison.change.label,
            "losses": list(self.comparison.losses),
            "variables": self._by_loss(
                lambda loss: {
                    name: _difference_json(d) for name, d in self.comparison.variables(loss).items()
                }
            ),
            "wires": self._by_loss(
                lambda loss: {
                    wire: {"before": before.value if before else None, "after": after.value}
                    for wire, (before, after) in self.comparison.states(loss).items()
                }
            ),
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _losses(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {loss: loss for loss in self.comparison.losses}
        return found | ({TOGETHER: None} if len(found) > 1 else {})

    def _by_loss(self, entry: Callable[[str | None], Json]) -> Mapping[str, Json]:
        return {name if loss else "": entry(loss) for name, loss in self._losses().items()}


def whatif_report(
    file: str, comparison: Comparison, problems: Iterable[Problem] = ()
) -> WhatIfReport:
    """The report of a comparison."""
    return WhatIfReport(file, comparison, tuple(problems))


def _change(difference: Difference) -> str:
    if not difference.changed:
        return "same"
    if difference.percent is None:
        return "new" if difference.before is None else "gone" if difference.after is None else "new"
    text = f"{difference.percent:+.1f} %".replace("-", "−")
    turned = difference.cosine
    return text if turned is None or turned > 0.9999 else f"{text}, cosine {turned:.2f}"


def _difference_json(difference: Difference) -> dict[str, Json]:
    def number(x: float | None) -> Json:
        return None if x is None else Tensor(x).to_json()

    both = {"before": difference.before, "after": difference.after}
    return {
        name: None
        if array is None
        else {"dtype": array.dtype.name, "shape": list(array.shape), "rms": number(rms(array)),
              "value": Tensor(array).to_json()}
        for name, array in both.items()
    } | {
        "percent": number(difference.percent),
        "cosine": number(difference.cosine),
        "changed": difference.changed,
    }  # fmt: skip
