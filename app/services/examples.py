"""The examples and lessons that come with Gradwire, in a checkout and in a wheel alike."""

from __future__ import annotations

import json
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.lessons import unmarked

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

SUFFIX = ".gradwire.json"
ASSETS = Path(str(files("gradwire.assets")))
"""The folder of all resources."""


_LARGE = 24
"""Number of blocks from which an example is a large one."""
_VERSIONS = ("_stopped", "_unstopped")
TRAINING = (
    "training_spirals",
    "training_gan",
    "training_adding",
    "training_truncated_bptt",
    "training_em",
    "training_vae",
    "training_straight_through",
    "training_vq_vae",
    "training_adversarial",
    "training_simsiam",
    "training_byol",
    "training_reinforce",
    "training_dqn",
)
"""The examples that train, in order of teaching."""


class ExampleGroup(Enum):
    """Groups of examples, in the order shown."""

    TRAINING = 1
    """Examples with a recipe: Play trains them."""
    BASICS = 2
    STOPS = 3
    """Examples with a stopped and an unstopped version."""
    LARGE = 4


@dataclass(frozen=True, slots=True)
class Example:
    """A diagram file of ``assets/diagrams`` with its title, group, and plain description."""

    path: Path
    title: str
    description: str
    group: ExampleGroup
    variant: str = ""
    """The variant of its study that has the same stops toggled; empty if there is none."""
    is_opened: bool = False
    """Whether the stops are open in that variant, and closed in the file, or the reverse."""

    @property
    def stem(self) -> str:
        """Name of the file without ending and version: the same for versions of one example."""
        name = self.path.name.removesuffix(SUFFIX)
        return name.removesuffix(_VERSIONS[1]).removesuffix(_VERSIONS[0])


@dataclass(frozen=True, slots=True)
class LessonFile:
    """A lesson of ``assets/lessons``: title, goal without marks, course, and how long it takes."""

    path: Path
    title: str
    goal: str
    course: str
    minutes: int


@cache
def lessons() -> tuple[LessonFile, ...]:
    """All lessons, in the order of the course, which is that of their file names."""
    return tuple(map(lesson_file, sorted((ASSETS / "lessons").glob(f"*{SUFFIX}"))))


def lesson_file(path: Path) -> LessonFile:
    """What the start page says of a lesson."""
    record = json.loads(path.read_text(encoding="utf-8"))
    lesson = record["lesson"]
    return LessonFile(
        path,
        record.get("title") or path.name.removesuffix(SUFFIX),
        unmarked(lesson.get("goal", "")),
        lesson.get("course", ""),
        lesson.get("minutes", 5),
    )


@cache
def examples() -> tuple[Example, ...]:
    """All examples: the seed diagram, those that train in order of teaching, the rest by title."""
    found = [_example(path) for path in sorted((ASSETS / "diagrams").glob(f"*{SUFFIX}"))]
    return tuple(sorted(found, key=_place))


def _place(example: Example) -> tuple[bool, int, str]:
    order = TRAINING.index(example.stem) if example.stem in TRAINING else len(TRAINING)
    return "seed" not in example.path.name, order, example.title.casefold()


def _example(path: Path) -> Example:
    name = path.name.removesuffix(SUFFIX).replace("_", " ").capitalize()
    record = json.loads(path.read_text(encoding="utf-8"))
    blocks = sum(len(page["blocks"]) for page in record["pages"].values())
    group = ExampleGroup.LARGE if blocks >= _LARGE else ExampleGroup.BASICS
    if path.name.removesuffix(SUFFIX).endswith(_VERSIONS):
        group = ExampleGroup.STOPS
    if "training" in record:
        group = ExampleGroup.TRAINING
    title, description = record.get("title") or name, record.get("description") or ""
    return Example(path, title, unmarked(description), group, *_toggled(path))


def _toggled(path: Path) -> tuple[str, bool]:
    """The first variant of an example's study that only opens or closes stops, and which."""
    study = study_path(path)
    if not study.exists():
        return "", False
    for name, variant in json.loads(study.read_text(encoding="utf-8"))["variants"].items():
        states = [values.get("open") for values in variant.get("set", {}).values()]
        alone = all(values.keys() == {"open"} for values in variant.get("set", {}).values())
        if states and alone and len(set(states)) == 1 and not variant.get("training"):
            return name, bool(states[0])
    return "", False


def study_path(path: Path) -> Path:
    """Where the study of an example is, if it has one."""
    return ASSETS / "studies" / f"{path.name.removesuffix(SUFFIX)}.study.json"


def in_variant(diagram: Diagram, path: Path, variant: str) -> Diagram:
    """The diagram of an example in a variant of its study; as it is for none.

    Raises GradwireError if the variant does not fit.
    """
    if not variant:
        return diagram
    from gradwire.runtime.training import load_study, with_variant

    return with_variant(diagram, load_study(study_path(path)).variants[variant])
