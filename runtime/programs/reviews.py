"""What is wrong with diagrams and programs' models, for a review: each with a lasting identity.

An identity names what is wrong, where, and with which variable or wire, but neither a line nor a
size: an edit above it, or another seed, leaves it as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.programs.references import parse_reference
from gradwire.runtime.publish.printable import visible

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.flow import Check, Finding, Outcome
    from gradwire.runtime.publish.problems import Problem

Level: TypeAlias = Literal["error", "warning", "note"]
_LINE = re.compile(r"(?P<file>.+?):(?P<number>\d{1,9})(?:: .*)?", re.DOTALL)
_MOST_BYTES = 16 << 20
"""Size of a baseline, at most."""


class FilePlace(NamedTuple):
    """A line of a file; the path is relative to the working folder where it is inside."""

    file: str
    line: int = 1


class ReviewResult(NamedTuple):
    """One thing that is wrong.

    ``rule`` is what kind of thing, as in reports in JSON; ``where`` a block, wire or variable of
    the diagram; ``about`` what else tells it from others of its kind.
    """

    subject: str
    rule: str
    level: Level
    text: str
    where: str = ""
    about: str = ""
    place: FilePlace = FilePlace("")


class Review(NamedTuple):
    """All results of a check, each with its identity."""

    results: Sequence[tuple[str, ReviewResult]]

    def beyond(self, known: Iterable[str]) -> Review:
        """The results that are none of the known ones."""
        known = frozenset(known)
        return Review([pair for pair in self.results if pair[0] not in known])


_FIRST_NAMES = {
    "vanishing": "faint",
    "vanishing_at_start": "faint_at_start",
    "exploding": "flood",
}
"""Rules that have another name than in the first version, by which identities keep them."""


def review(results: Iterable[ReviewResult]) -> Review:
    """Results with their identities; several of one kind at one place are counted."""
    counts: Counter[str] = Counter()
    found = []
    for result in results:
        rule = _FIRST_NAMES.get(result.rule, result.rule)
        said = (result.subject, rule, result.where, result.about)
        digest = hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()[:16]
        counts[digest] += 1
        number = counts[digest]
        found.append((digest if number == 1 else f"{digest}-{number}", result))
    return Review(found)


def results_of(
    subject: str,
    *,
    problems: Iterable[Problem] = (),
    outcomes: Iterable[Outcome] = (),
    checks: Iterable[Check] = (),
    findings: Iterable[Finding] = (),
    files: Mapping[str, str] | None = None,
) -> Iterator[ReviewResult]:
    """What is wrong with one diagram or model.

    ``files`` are those of a program, as ``references.Captured`` has them. Remarks and warnings
    about the file itself are left out.
    """
    reference = parse_reference(subject)
    home = FilePlace(_relative(reference.file if reference else subject))
    subject = _relative(subject)
    for problem in problems:
        if problem.is_error:
            d = problem.diagnostic
            place = FilePlace(home.file, problem.line or 1)
            yield ReviewResult(
                subject, d.code or "problem", "error", d.what, str(d.location), "", place
            )
    for outcome in outcomes:
        for breach in outcome.breaches:
            text = f"{outcome.contract} is broken. {breach.sentence}"
            about = f"{outcome.contract} {breach.loss}"
            place = written_place(breach.written, files or {}) or home
            yield ReviewResult(subject, "contract", "error", text, breach.subject, about, place)
    for check in checks:
        if check.is_wrong:
            text = f"The rule of this block gives another derivative. {check.sentence}"
            yield ReviewResult(subject, "wrong_rule", "error", text, check.block, "", home)
    for finding in findings:
        level: Level = "error" if finding.complaint.is_error else "warning"
        about = f"{finding.loss or ''} {finding.culprit}"
        place = written_place(finding.written, files or {}) or home
        text = finding.sentence
        if finding.cure and finding.cure not in text:
            text = f"{text} {finding.cure}"
        yield ReviewResult(subject, finding.complaint.name, level, text, finding.key, about, place)


def _relative(path: str | PurePath) -> str:
    absolute = Path(path).absolute()
    inside = absolute.is_relative_to(Path.cwd())
    return (absolute.relative_to(Path.cwd()) if inside else absolute).as_posix()


def written_place(written: str, files: Mapping[str, str]) -> FilePlace | None:
    """The place of a line as diagrams have it, ``model.py:42: text``, if its file is known."""
    found = _LINE.fullmatch(written)
    if found is None or found["file"] not in files:
        return None
    return FilePlace(files[found["file"]], int(found["number"]))


# ---- SARIF ------------------------------------------------------------------------------------


def sarif(found: Review, version: str) -> dict[str, object]:
    """A log in the format SARIF 2.1.0, which hosts of code show at the lines of a change.

    ``version`` is that of this program. Source: OASIS, Static Analysis Results Interchange Format
    2.1.0.
    """
    rules = dict.fromkeys(result.rule for _, result in found.results)
    driver = {
        "name": "Gradwire",
        "semanticVersion": version,
        "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("_", " ").replace("-", " ")}}
            for rule in rules
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(identity, result) for identity, result in found.results],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _result(identity: str, result: ReviewResult) -> dict[str, Json]:
    place: dict[str, Json] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(result.place.file)},
            "region": {"startLine": result.place.line},
        }
    }
    if result.where:
        logical = {"fullyQualifiedName": visible(result.where)}
        if block := PortPath(result.where).block:
            logical["name"] = visible(block.rpartition("/")[2])
        place["logicalLocations"] = [logical]
    return {
        "ruleId": result.rule,
        "level": result.level,
        "message": {"text": visible(result.text)},
        "locations": [place],
        "partialFingerprints": {"gradwire/v1": identity},
    }


def _uri(file: str) -> str:
    path = PurePath(file)
    if path.is_absolute():
        return Path(file).as_uri()
    from urllib.parse import quote

    return quote(os.fsencode(path.as_posix()))  # bytes, as names need not be UTF-8


# ---- baselines --------------------------------------------------------------------------------


def baseline(found: Review) -> str:
    """A file that names all results, for later checks to leave out; sorted, a line each."""
    rows = sorted(
        (result.subject, result.rule, result.where, identity) for identity, result in found.results
    )
    lines = [
        json.dumps({"id": identity, "file": subject, "what": rule, "where": where})
        for subject, rule, where, identity in rows
    ]
    return '{"version": 1, "known": [\n' + ",\n".join(lines) + "\n]}\n"


def read_baseline(path: Path) -> frozenset[str]:
    """The identities of known results; raises FileError."""
    try:
        document = json.loads(read_regular(path, _MOST_BYTES).decode("utf-8"))
        known = frozenset(str(entry["id"]) for entry in document["known"])
        version = document["version"]
    except OSError as error:
        raise FileError(
            f"The baseline can't be read: {error.strerror}.",
            path=str(path),
            next_step="Write one with --update-baseline.",
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileError(
            "This is not a baseline.",
            path=str(path),
            expected="what --update-baseline has written",
        ) from None
    if version != 1:
        raise FileError("A newer version has written this baseline.", path=str(path))
    return known
