"""Runs golden files of every schema, and says what passed, what failed and what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden import (
    edge_cases,
    gradients,
    ivy,
    mxnet_executor,
    optimisers,
    tf_behaviour,
    training,
)
from tests.golden.cases import DATA, Case
from tests.golden.comparison import Difference

GOLDEN = "gradwire-golden/1"
Document = Mapping[str, Any]

SCHEMAS: Mapping[str, Callable[[Document, Path], Iterable[Case]]] = {
    GOLDEN: lambda document, folder: gradients.cases(document),
    "gradwire-training/1": lambda document, folder: training.cases(
        document, partial(find_case, folder=folder)
    ),
    "gradwire-optimisers/1": lambda document, folder: optimisers.cases(document),
    "gradwire-edge/1": lambda document, folder: edge_cases.cases(document),
    "gradwire-mxnet-executor/1": lambda document, folder: mxnet_executor.cases(document),
    "gradwire-tf-behaviour/1": lambda document, folder: tf_behaviour.cases(document),
    "gradwire-ivy/1": lambda document, folder: ivy.cases(document),
}
"""What makes the cases of a document, by its schema; the folder is the one it lies in."""

SHOWN = 5
"""Differences of a case that are shown; the rest are counted."""


class UnreadableError(Exception):
    """A path that can't be run: no such file, not JSON, or of no schema that is known."""


@dataclass
class Result:
    """What came of one file: ids of cases, with their differences or why they are left out."""

    path: Path
    passed: list[str] = field(default_factory=list)
    failed: list[tuple[str, list[Difference]]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The count, then every failure, then what was left out and why."""
        yield f"{self.path}: {len(self.passed)} passed, {len(self.failed)} failed"
        for identity, differences in self.failed:
            for difference in differences[:SHOWN]:
                yield f"  {identity}: {difference}"
            if len(differences) > SHOWN:
                yield f"  {identity}: and {len(differences) - SHOWN} more differences"
        for identity, reason in self.left_out:
            yield f"  left out {identity}: {reason}"


def files(path: Path) -> list[Path]:
    """The file, or the JSON files of the folder; raises UnreadableError where there are none."""
    if path.is_file():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise UnreadableError(
            f"{path}: no JSON file in this folder" if path.is_dir() else f"{path}: no such file"
        )
    return found


def run(path: Path) -> Result:
    """Run all cases of a file; raises UnreadableError."""
    result = Result(path)
    for case in list(cases(path)):
        if case.check is None:
            result.left_out.append((case.identity, case.left_out))
        elif differences := check(case):
            result.failed.append((case.identity, differences))
        else:
            result.passed.append(case.identity)
    return result


def check(case: Case) -> list[Difference]:
    """The differences of a case; an error, whatever it is, is one."""
    assert case.check is not None  # a case that is left out isn't checked
    try:
        comparison = case.check()
    except Exception as error:  # one bad case, or one broken block, must not hide the others
        return [Difference("run", "no error", f"{type(error).__name__}: {error}")]
    if not comparison.made:
        return [Difference("case", "something to compare", "nothing")]
    return comparison.differences


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file; raises UnreadableError."""
    for document in documents(path):
        schema = document.get("schema", "none")
        if schema in SCHEMAS:
            yield from SCHEMAS[schema](document, path.parent)
        else:
            known = ", ".join(SCHEMAS)
            raise UnreadableError(f"{path}: unknown schema {schema!r}; known are {known}")


def documents(path: Path) -> Iterator[Document]:
    """What a file holds: a document with its cases, or one case with a schema; or a list of them.

    Raises UnreadableError.
    """
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path}: can't be read: {error}") from error
    for item in read if isinstance(read, list) else [read]:
        if not isinstance(item, dict):
            raise UnreadableError(f"{path}: expected objects with a schema, got {item!r:.40}")
        found = item.get("cases", [item] if "id" in item else [])
        yield item | {"cases": found if isinstance(found, list) else [found]}


def find_case(identity: str, folder: Path) -> Mapping[str, Any]:
    """The diagram of that id in the golden files of the folder, else in the project's."""
    for place in dict.fromkeys([folder, DATA]):
        for path in sorted(place.glob("*.json")):
            for document in documents(path):
                if document.get("schema") == GOLDEN:
                    for case in document["cases"]:
                        if case["id"] == identity:
                            found: Mapping[str, Any] = case
                            return found
    raise ValueError(f"there is no diagram {identity!r} in {folder} or {DATA}")
