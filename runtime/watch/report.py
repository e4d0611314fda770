"""What is known of a training, as text, as a page and as data."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.briefly import counted

if TYPE_CHECKING:
    import os

    from gradwire.blocks.values import Json
    from gradwire.runtime.watch.reasons import Found

NOTHING = "Nothing was found."
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; vertical-align: top; padding: .3rem .8rem .3rem 0;
         border-bottom: 1px solid #8884; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
li { margin: .5rem 0; }
code { overflow-wrap: anywhere; }
"""


class ParameterRow(NamedTuple):
    """What is known of one parameter."""

    name: str
    state: str
    rms: float | None
    """The root mean square of its gradient at the last look."""
    ratio: float | None
    """How far the last update that was looked at moved it, relative to its size."""
    why: str
    written: tuple[str, ...]

    def __str__(self) -> str:
        size = "" if self.rms is None else f", rms {self.rms:.3g}"
        return f"{self.name}: {self.state}{size}{'. ' if self.why else ''}{self.why}"


@dataclass(frozen=True, eq=False)
class Report:
    """Every parameter of a model that is watched, and everything that was wrong."""

    model: str
    steps: int
    rows: tuple[ParameterRow, ...]
    found: tuple[Found, ...]
    well: str = ""
    """What can be said where nothing was found, of the step that was captured whole."""

    def __str__(self) -> str:
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.state] = counts.get(row.state, 0) + 1
        summed = ", ".join(f"{count} {state}" for state, count in counts.items())
        of = f"{counted(self.steps, 'step')}: {counted(len(self.rows), 'parameter')}"
        lines = [f"{self.model}, {of} ({summed})"]
        lines += [f"  {found}" for found in self.found] or [f"  {self.well or NOTHING}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """The page that ``html`` writes, in a frame of its own."""
        return f'<iframe srcdoc="{escape(self._page())}" width="100%" height="480"></iframe>'

    def as_json(self) -> Mapping[str, Json]:
        """The same as numbers, texts, lists and dicts."""
        return {
            "model": self.model,
            "steps": self.steps,
            "findings": [
                {
                    "trouble": found.trouble.value,
                    "parameters": list(found.parameters),
                    "sentence": found.sentence,
                    "step": found.step,
                    "written": list(found.written),
                }
                for found in self.found
            ],
            "parameters": [row._asdict() for row in self.rows],
        }

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write it as one page, which needs nothing else. Raises OSError."""
        Path(path).write_text(self._page(), "utf-8")

    def _page(self) -> str:
        wrong = "".join(f"<li>{escape(str(found))}</li>" for found in self.found)
        rows = "".join(
            f"<tr><td><code>{escape(row.name)}</code></td><td>{escape(row.state)}</td>"
            f'<td class="number">{_number(row.rms)}</td>'
            f'<td class="number">{_number(row.ratio)}</td><td>{escape(row.why)}</td></tr>'
            for row in self.rows
        )
        title = escape(f"Gradients of {self.model} after {self.steps} steps")
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{_STYLE}</style><h1>{title}</h1>"
            f"{f'<ul>{wrong}</ul>' if wrong else f'<p>{escape(self.well or NOTHING)}</p>'}"
            "<table><tr><th>Parameter<th>State<th>rms of gradient<th>update / weight<th>Why</tr>"
            f"{rows}</table></html>"
        )


def _number(x: float | None) -> str:
    return "" if x is None else f"{x:.3g}"
