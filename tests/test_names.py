"""Names of modules, classes and functions: plain words, and none more of a dialect that grew here.

The glossary in the manual has the words to use.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

from tests.test_house import MODULES, name_of, text_of


class Left(NamedTuple):
    """What to say instead of a word, and how many names have it still."""

    better: str
    names: int


DIALECT = {
    "curtain": Left("answer mask", 3),
    "dying": Left("last use", 1),
    "giving": Left("donated", 1),
    "hands on": Left("forwards", 0),
    "heir": Left("reuse", 1),
    "late": Left("lazy, deferred", 7),
    "lies": Left("row layout, is in", 4),
    "owned": Left("variables, of a block or an optimiser", 10),
    "partings": Left("forks", 3),
    "pulse": Left("progress", 3),
    "put up": Left("add, build", 14),
    "settle": Left("assign, bind, commit", 17),
    "settled": Left("final, bound", 4),
    "settling": Left("assigning, binding", 1),
    "staged": Left("added, of the stage", 4),
    "through": Left("bypass, passing", 9),
    "twin": Left("copy, shared module", 6),
    "twins": Left("shared modules", 3),
    "written": Left("source location, text", 39),
}
"""Words that say less to a stranger than the field's own, or are used in several senses. A number
only falls: whoever renames something lowers it.
"""


def words_of(name: str) -> list[str]:
    """The words of a name in snake case or in camel case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def said_in(name: str) -> set[str]:
    """The words of the dialect that a name has."""
    words = words_of(name)
    return DIALECT.keys() & {*words, *map(" ".join, pairwise(words))}


def test_the_dialect_does_not_grow():
    found: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        tree = ast.parse(text_of(path))
        kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        names = [path.stem, *(node.name for node in ast.walk(tree) if isinstance(node, kinds))]
        for name in names:
            for word in said_in(name):
                found[word].add(f"{name_of(path)}: {name}")
    grown = [
        f"{word!r} is in {len(found[word])} names, {left.names} before: say {left.better}.\n  "
        + "\n  ".join(sorted(found[word]))
        for word, left in DIALECT.items()
        if len(found[word]) > left.names
    ]
    assert not grown, "\n".join(grown)


def test_words_are_found_in_names():
    assert said_in("_put_up_loss") == {"put up"}
    assert said_in("LateParts") == {"late"} == said_in("late_parts")
    assert said_in("HTTPTwin2") == {"twin"}
    assert not said_in("related") and not said_in("put_them_up") and not said_in("writtenness")
