"""The badges of a block, as short labels with the sentences that explain them."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import BadgeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.evaluation.badges import Badges
    from gradwire.runtime.diagram import InstancePath

_ON_FACES = (
    BadgeKind.VALUE,
    BadgeKind.UNOWNED,
    BadgeKind.CANCELS,
    BadgeKind.OPEN_STOP,
    BadgeKind.IDLE_STOP,
)
_SERIOUS = (BadgeKind.VALUE, BadgeKind.UNOWNED, BadgeKind.CANCELS, BadgeKind.STALE)
_SYMBOLS = {BadgeKind.SURROGATE: "≈"}


class NumberStatus(Enum):
    """Where the numbers of a block come from."""

    CURRENT = auto()
    """From the last evaluation, and nothing has changed them since."""
    STALE = auto()
    """From an evaluation before an edit that may change them, and none is under way."""
    COMPUTING = auto()
    """They are awaited from the evaluation under way."""


@dataclass(frozen=True, slots=True)
class BadgeLabel:
    """The text of a badge; ``serious`` ones stand out."""

    text: str
    serious: bool = False


def badge_label(mark: BadgeKind) -> BadgeLabel:
    """The label of a badge."""
    text = editor.tr(mark.value)
    return BadgeLabel(_SYMBOLS.get(mark) or text, serious=mark in _SERIOUS)


def status_label(status: NumberStatus) -> BadgeLabel:
    """The label of a block whose numbers are not current."""
    return badge_label(BadgeKind.STALE) if status is NumberStatus.STALE else BadgeLabel("…")


def status_sentence(status: NumberStatus) -> str:
    """What a status says about the numbers of a block."""
    match status:
        case NumberStatus.CURRENT:
            return ""
        case NumberStatus.STALE:
            return editor.tr("STALE: an edit may have changed these numbers. F5 evaluates again.")
        case NumberStatus.COMPUTING:
            return editor.tr("… These numbers are being computed. Esc cancels.")


def badge_labels(
    badges: Badges, path: InstancePath, outputs: Sequence[str]
) -> list[tuple[BadgeLabel, str]]:
    """The labels of the block at an instance path, each with its sentence.

    A cancellation at one of several outputs is labelled with the name of the port. Last comes
    the outcome of a gradient check, then the mark of a surrogate gradient, unless a failed check
    already accounts for it.
    """
    if not (badges.about or badges.checks):
        return []
    about = badges.about.get(path, ())
    found = [(badge_label(b.mark), b.sentence) for b in about if b.mark in _ON_FACES]
    for port in outputs:
        for badge in badges.about.get(path.port(port), ()):
            label = badge_label(badge.mark)
            text = f"{label.text} {port}" if len(outputs) > 1 else label.text
            found.append((BadgeLabel(text, label.serious), badge.sentence))
    if (check := badges.checks.get(path)) is not None:
        found.append((BadgeLabel(check.sentence[0], check.is_wrong), check.sentence))
        if not check.agrees:
            return found
    surrogates = [badge for badge in about if badge.mark is BadgeKind.SURROGATE]
    return found + [(badge_label(badge.mark), badge.sentence) for badge in surrogates]
