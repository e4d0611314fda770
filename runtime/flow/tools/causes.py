"""The doctor's findings by cause: each culprit with all that it affects, the most harm first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from gradwire.runtime.flow.tools.findings import Finding
    from gradwire.runtime.flow.words.states import Complaint

_SERIOUS = 6
"""Up to this gravity findings are about training; graver ones are remarks."""
_NAMED = 3
"""At most so many affected variables are named."""


class Victim(NamedTuple):
    """A wire or variable that something else is to blame for."""

    key: str
    sentence: str


@dataclass(frozen=True, eq=False)
class Cause:
    """A block, wire or port at fault, with the findings that it explains, the gravest first."""

    culprit: str
    findings: tuple[Finding, ...]

    @property
    def complaint(self) -> Complaint:
        """The gravest complaint."""
        return self.findings[0].complaint

    @property
    def is_error(self) -> bool:
        """Whether any of it is wrong whatever was meant."""
        return any(finding.complaint.is_error for finding in self.findings)

    @property
    def is_serious(self) -> bool:
        """Whether it is more than a remark."""
        return self.is_error or self.complaint.gravity <= _SERIOUS

    @property
    def severity(self) -> str:
        """``error``, ``warning``, or ``info`` for a remark."""
        return "error" if self.is_error else "warning" if self.is_serious else "info"

    @property
    def affected(self) -> tuple[str, ...]:
        """The variables that it affects."""
        return tuple(dict.fromkeys(name for found in self.findings for name in found.affected))

    @property
    def victims(self) -> tuple[Victim, ...]:
        """What it affects: what is found about something else, and variables without a finding."""
        others = [f for f in self.findings if self.culprit not in (f.key, PortPath(f.key).block)]
        known = {finding.key: Victim(finding.key, finding.sentence) for finding in others}
        for finding in self.findings:
            for name in finding.affected:
                if name != self.culprit and finding.complaint.effect:
                    known.setdefault(name, Victim(name, f"Gets {finding.complaint.effect}."))
        return tuple(known.values())

    @property
    def place(self) -> str:
        """What to show: a wire at the culprit that a finding is about, or else the culprit."""
        wires = (f.key for f in self.findings if PortPath(f.key).block == self.culprit != f.key)
        return next(wires, self.culprit)

    @property
    def written(self) -> str:
        """Where an imported program has the culprit; empty for other diagrams."""
        return self.findings[0].written

    @property
    def sentence(self) -> str:
        """``act56 is off: 115 variables get 0.``, what would help all of them, and where a program
        has it.
        """
        text = self._stated()
        place, _, _ = self.written.partition(": ")
        is_said = not place or place in text
        return text if is_said else f"{text} Written at {self.written}."

    def _stated(self) -> str:
        first = self.findings[0]
        if not first.clause:
            return " ".join(filter(None, (first.sentence, self._effects())))
        cures = {finding.cure for finding in self.findings}
        cure = cures.pop() if len(cures) == 1 else ""
        repair = first.fix.sentence if first.fix and len(self.findings) == 1 else ""
        return " ".join(filter(None, (f"{first.clause}: {self._effects()}", cure, repair)))

    def _effects(self) -> str:
        """``w gets no gradient, 115 variables get 0.``; empty where no variable is affected."""
        effects: dict[str, list[str]] = {}
        for found in self.findings:
            others = [name for name in found.affected if name != self.culprit]
            effects.setdefault(found.complaint.effect, []).extend(others)
        parts = [_effect(list(dict.fromkeys(names)), what) for what, names in effects.items()]
        text = ", ".join(filter(None, parts))
        return f"{text}." if text else ""


def causes(findings: Iterable[Finding]) -> list[Cause]:
    """Findings by culprit: errors first, then what affects most variables, remarks last."""
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        group = (finding.culprit, "") if finding.culprit else (finding.key, finding.sentence)
        grouped.setdefault(group, []).append(finding)
    found = [
        Cause(culprit, tuple(sorted(members, key=_gravity)))
        for (culprit, _), members in grouped.items()
    ]
    return sorted(found, key=_rank)


def _rank(cause: Cause) -> tuple[int, int, int]:
    degree = ("error", "warning", "info").index(cause.severity)
    return degree, -len(cause.affected), cause.complaint.gravity


def _gravity(finding: Finding) -> int:
    return finding.complaint.gravity


def _effect(names: Sequence[str], effect: str) -> str:
    """``w gets 0``, ``115 variables get 0``; empty for no variable."""
    if not names or not effect:
        return ""
    who = sentences.names(names) if len(names) <= _NAMED else f"{len(names)} variables"
    return f"{who} {'gets' if len(names) == 1 else 'get'} {effect}"
