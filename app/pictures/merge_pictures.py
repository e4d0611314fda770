"""Pictures of both sides of a merge, with what is in conflict marked, and a page that has them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.diff_picture import DiffPicture
from gradwire.app.pictures.svg import svg
from gradwire.runtime.diagram import SIDES, Three, with_names
from gradwire.runtime.publish import diff_report, short, xml_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Conflict, Diagram, Side

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark; }
table { border-collapse: collapse; }
th, td { text-align: start; vertical-align: top; padding: .3rem 1.2rem .3rem 0;
         border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
svg { max-width: 100%; height: auto; }
"""


class MergePictures:
    """Draws what each side of a merge has changed of the common ancestor."""

    def __init__(self, three: Three[Diagram]) -> None:
        base, *sides = with_names(three)
        self._reports = {
            name: diff_report(base, side, ("base", name))
            for name, side in zip(SIDES, sides, strict=True)
        }
        self._results = dict(zip(SIDES, map(evaluate, sides), strict=True))

    def picture(
        self, side: Side, page: str, conflicts: Sequence[Conflict], theme: Theme | None = None
    ) -> DiffPicture | None:
        """A page of a side, with the conflicts on it marked; None if the side has no such page."""
        report = self._reports[side]
        if page not in report.changes.after.pages:
            return None
        places = [each.place for each in conflicts if each.place is not None]
        marked = [each.item for each in places if each.page == page and each.item is not None]
        result = self._results[side]
        return DiffPicture(
            report.changes, report.effects, page, result, theme=theme, conflicts=marked
        )

    def html(self, title: str, conflicts: Sequence[Conflict]) -> str:
        """A page that lists the conflicts, with both sides of all pages that have any."""
        rows = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{escape(short(each.ours))}</td>"
            f"<td>{escape(short(each.theirs))}</td><td>{each.kept}</td></tr>"
            for each in conflicts
        )
        table = f"<table><tr><th>Conflict<th>Ours<th>Theirs<th>Kept</tr>{rows}</table>"
        title = escape(f"Conflicts of {title}")
        return xml_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
            f"<h1>{title}</h1>{table if rows else '<p>There is none.</p>'}"
            f"{''.join(self._pages(conflicts))}</html>"
        )

    def _pages(self, conflicts: Sequence[Conflict]) -> Iterator[str]:
        for page in dict.fromkeys(each.place.page for each in conflicts if each.place is not None):
            yield f'<h2>Page {escape(page)}</h2><div class="sides">'
            for side in SIDES:
                picture = self.picture(side, page, conflicts)
                shown = (
                    f"<p>{side.capitalize()} has no such page.</p>"
                    if picture is None
                    else svg(picture, f"{page}, {side}").partition("\n")[2]
                )
                yield f"<figure><figcaption>{side.capitalize()}</figcaption>{shown}</figure>"
            yield "</div>"
