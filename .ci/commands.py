"""Every command on every example, lesson and study: ``commands.py ENVIRONMENT``.

As in the quick gate, the commands of an environment run beside files of a user that have the names
of ours. Exit codes may be those that ``gradwire --help`` gives to a diagram with problems, as some
lessons are about; then there is a reason on standard error, and nothing otherwise.
"""

from __future__ import annotations

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gate import SUFFIX, Environment, name_of

CLEAN, PROBLEMS = (0,), (0, 1)
ENDINGS = (".png", ".svg", ".pdf", ".tex")
SYSTEMS = {"numpy": ".py", "torch": ".py", "jax": ".py"}
QUIZZES = ("text", "gift", "aiken", "moodle", "json")
"""Moodle's formats and those for readers."""


def try_diagram(at: Environment, path: Path) -> None:
    """All commands that read one diagram."""
    diagram, name = json.loads(path.read_text(encoding="utf-8")), name_of(path)
    file, codes = str(path), PROBLEMS if path.parent.name == "lessons" else CLEAN
    for command in (
        ["run"], ["run", "--json"], ["flow"], ["flow", "--run", "--ledger", "--dialects"],
        ["doctor"], ["doctor", "--json"], ["check", "--gradients"], ["timeline"],
        ["timeline", "--by", "primitive", "--json"], ["bench", "--seconds", "0.1"],
    ):  # fmt: skip
        at.run("gradwire", command[0], file, *command[1:], codes=codes)
    for format in QUIZZES:
        at.run("gradwire", "quiz", file, "--format", format, codes=codes)
    for ending in ENDINGS:
        out = f"{name}{ending}"
        at.run("gradwire", "picture", file, "--all-pages", "-o", out, codes=codes)
    at.run("gradwire", "diff", file, file, "--run", codes=codes)
    at.run("gradwire", "publish", file, "-o", f"{name}.html", codes=codes)
    for system, ending in SYSTEMS.items():
        at.run("gradwire", "export", file, "--to", system, "-o", f"{name}_{system}{ending}",
               codes=codes)  # fmt: skip
    for stop in stops(diagram):
        at.run("gradwire", "whatif", file, "--open", stop, codes=codes)
    if "training" in diagram:
        at.run("gradwire", "train", file, "--steps", "3", "--out", f"{name}_trained", codes=codes)
        at.run("gradwire", "train", "--resume", f"{name}_trained", "--steps", "5", file,
               codes=codes)  # fmt: skip
    if "lesson" in diagram:
        answers = f"{name}.answers.json"
        at.run("gradwire", "lesson", file, "--no-keep", "--learner", "Ada", "--answers", answers)
        at.run("gradwire", "grade", file, answers)


def stops(diagram: dict[str, Any]) -> list[str]:
    """The stops of the main page, at most two."""
    blocks = diagram["pages"]["main"]["blocks"].items()
    return [name for name, block in blocks if block["type"] == "StopGradient"][:2]


def try_study(at: Environment, path: Path) -> None:
    """A study for a few steps: its claims need not hold by then."""
    out = f"{name_of(path)}_study"
    at.run("gradwire", "study", str(path), "--seeds", "2", "--steps", "3", "--out", out,
           codes=PROBLEMS)  # fmt: skip


def main() -> int:
    """Exit code 0 if nothing failed."""
    with tempfile.TemporaryDirectory(prefix="user-") as folder:
        at = Environment(Path(sys.argv[1]), Path(folder))
        at.make_folder()
        assets = at.assets()
        diagrams = [*assets.glob(f"diagrams/*{SUFFIX}"), *assets.glob(f"lessons/*{SUFFIX}")]
        studies = sorted(assets.glob("studies/*.study.json"))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda path: try_diagram(at, path), sorted(diagrams)))
            list(pool.map(lambda path: try_study(at, path), studies))
        for command in (["blocks"], ["blocks", "--json"], ["schema"], ["--version"], ["--help"]):
            at.run("gradwire", *command)
        model = str(assets / "models" / "mxnet_seed.json")
        at.run("gradwire", "import", model, "-o", f"seed{SUFFIX}")
        at.run("gradwire", "run", f"seed{SUFFIX}")
    print(f"{len(diagrams)} diagrams, {len(studies)} studies, {at.count} commands")
    print(f"{len(at.failed)} failures")
    print(*at.failed, sep="\n\n", file=sys.stderr)
    return 1 if at.failed or not diagrams or not studies else 0


if __name__ == "__main__":
    sys.exit(main())
