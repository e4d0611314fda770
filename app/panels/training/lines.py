"""Which curves belong into which plot, and how each line looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Qt

from gradwire.app.services.colours import oklch
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import PortPath

if TYPE_CHECKING:
    from PySide6.QtGui import QColor

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.training import CurveRecording

_HUES = (255.0, 35.0, 150.0, 310.0, 75.0, 200.0, 350.0, 115.0)
"""OKLCH hues of successive lines, degrees: neighbours differ most."""
_DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)


class CurveGroup(Enum):
    """The plots: the prefix of the names of their curves, and their title."""

    LOSSES = ("", editor.noop("Losses"))
    PORTS = ("", editor.noop("Ports"))
    OPTIMISERS = ("grad_norm/", editor.noop("Gradient norms by optimiser"))
    GRADIENTS = ("gradient/", editor.noop("Gradient norms by variable"))
    UPDATES = ("update/", editor.noop("Update ÷ size by variable"))
    DEAD = ("dead/", editor.noop("Share of dead units"))
    RATES = ("lr/", editor.noop("Learning rates"))

    @property
    def title(self) -> str:
        """What the curves are, for people."""
        return editor.tr(self.value[1])


def group_of(name: str, losses: Iterable[str]) -> CurveGroup:
    """The plot of a curve, given the names of the losses of its run."""
    if name.removeprefix("validation/") in losses:
        return CurveGroup.LOSSES
    for group in CurveGroup:
        if group.value[0] and name.startswith(group.value[0]):
            return group
    return CurveGroup.PORTS


def label_of(name: str, group: CurveGroup) -> str:
    """A curve's name without what the title of its plot says."""
    if name.startswith("validation/"):
        return editor.tr("{0} (validation)").format(short(name.removeprefix("validation/")))
    return name.removeprefix(group.value[0]) if group.value[0] else short(name)


def short(name: str) -> str:
    """A port's name without that of an only output, which goes without saying."""
    return str(PortPath(name).short)


@dataclass(eq=False)
class ListedRun:
    """A recording that is listed, its place among the colours, and whether it is drawn."""

    recording: CurveRecording
    place: int = 0
    shown: bool = True


class CurveLine(NamedTuple):
    """A curve of a run as it is drawn."""

    run: ListedRun
    name: str
    label: str
    colour: QColor
    dash: Qt.PenStyle


def colour_of(place: int, theme: Theme) -> QColor:
    """The colour of the line with this number."""
    lightness, chroma = (0.78, 0.13) if theme.dark else (0.53, 0.17)
    return oklch(lightness, chroma, _HUES[place % len(_HUES)])


def lines_of(
    runs: Sequence[ListedRun], chosen: Iterable[str], theme: Theme
) -> dict[CurveGroup, list[CurveLine]]:
    """The lines of each plot. One run has a colour for each curve; of several, each has its own."""
    shown = [run for run in runs if run.shown]
    found: dict[CurveGroup, list[CurveLine]] = {}
    for name in chosen:
        for run in shown:
            if name not in run.recording.names:
                continue
            group = group_of(name, run.recording.losses)
            lines = found.setdefault(group, [])
            names = dict.fromkeys(line.name for line in lines)
            place = [*names, name].index(name)
            label = label_of(name, group)
            if len(shown) > 1:
                label = f"{run.recording.name} · {label}"
            colour = colour_of(run.place if len(shown) > 1 else place, theme)
            dash = _DASHES[place % len(_DASHES)] if len(shown) > 1 else _DASHES[0]
            lines.append(CurveLine(run, name, label, colour, dash))
    return {group: found[group] for group in CurveGroup if group in found}
