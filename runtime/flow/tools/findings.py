"""What the doctor can find, and a single finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.flow.words.states import Complaint

if TYPE_CHECKING:
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.tools.repairs import Fix

VALUE = Complaint("value", "value not finite", 0, is_error=True)
MASKED_VALUE = Complaint("masked_value", "value not finite, no loss affected", 6)
NO_VARIABLE = Complaint("no_variable", "loss trains nothing", 4)
DIFFERS = Complaint("differs", "not the same program", 0, is_error=True)
RAISES = Complaint("raises", "backward fails", 0, is_error=True)
MISSTEP = Complaint("misstep", "step out of order", 3)
CONTRACT = Complaint("contract", "contract broken", 2, is_error=True)
SOFTMAX_TWICE = Complaint("softmax_twice", "softmax twice", 6)
SIGMOID_TWICE = Complaint("sigmoid_twice", "sigmoid twice", 6)
CROSSED = Complaint("crossed", "all pairs", 6)
NO_LOGARITHM = Complaint("no_logarithm", "no logarithm", 6)
SYMMETRIC = Complaint("symmetric", "units alike", 6)
SINGLE = Complaint("single", "one number", 6)
CONSTANT = Complaint("constant_total", "constant total", 6)
SWAPPED = Complaint("swapped", "inputs swapped", 6)
VANISHING_AT_START = Complaint("vanishing_at_start", "small at the start", 8, effect="little")
DIVIDED = Complaint("divided", "size of no matter", 8, effect="a gradient of another size")
APART = Complaint("apart", "kept apart", 8, effect="no gradient")
CANCELS = Complaint("cancels", "cancels", 7)
NO_GRAPH = Complaint("no_graph", "derivative without gradient", 8)
UNOWNED = Complaint("unowned", "unowned", 8)
UNREGISTERED = Complaint("unregistered", "unregistered", 6)
SKIPPED = Complaint("skipped", "skipped", 8, effect="no update")
NOTHING_TRAINED = Complaint("nothing_trained", "nothing trained", 3, is_error=True)
BY_BEGINNING = Complaint("by_beginning", "frozen by its beginning", 8)
INTEGER = Complaint("integer", "no floats", 3)
LEAK = Complaint("leak", "leak", 8)
IDLE_STOP = Complaint("idle_stop", "idle stop", 9)


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that is wrong: with which wire, variable, port or block, and why.

    ``key`` is what it is about: a wire by its target, a variable or block by its path, or a port.
    ``culprit`` is the one block that makes it so, if one does, and ``clause`` says how; ``cure`` is
    what helps against it, and ``affected`` are the variables that suffer.
    ``written`` is where an imported program has what is to blame, ``model.py:42``.
    """

    complaint: Complaint
    key: str
    sentence: str
    loss: str | None = None
    witness: Sequence[str] = ()
    fix: Fix | None = None
    culprit: str = ""
    clause: str = ""
    cure: str = ""
    affected: tuple[str, ...] = ()
    written: str = ""

    def __repr__(self) -> str:
        return f"<{self.complaint.words}: {self.key}: {self.sentence}>"


def placed(program: Program, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings with the place in an imported program, where the block to blame has one; sentences
    end with its line if they don't name it.
    """
    for finding in findings:
        path = InstancePath(finding.culprit or PortPath(finding.key).block)
        known = finding.written or (path in program.instances and program.block(path).written)
        if not known:
            yield finding
            continue
        line, _, _ = known.partition(": ")
        is_said = line in finding.sentence
        text = finding.sentence if is_said else f"{finding.sentence} Written at {line}."
        yield replace(finding, written=known, sentence=text)
