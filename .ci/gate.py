"""What a user has: all examples by the command and in the editor, beside files of the user's own.

    python3 .ci/gate.py ENVIRONMENT NUMBERS

runs the command ``gradwire`` of an environment outside the checkout, beside modules that have the
names of ours, and writes the numbers of all examples to a file. Each command must end with exit
code 0 and write nothing to standard error. With ``--like NUMBERS`` it only compares: an environment
with more installed must give the same numbers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SUFFIX = ".gradwire.json"
TOLERANCE = 1e-4
"""How far numbers may lie apart, relative to the largest of their array: compiled code of float32
adds in another order.
"""
FILES = ("app.py", "blocks.py", "runtime/__init__.py", "assets/__init__.py", "tests/__init__.py")
"""What lies in the user's folder; importing one of these is a fault."""
WINDOWS = 12
"""Examples that the editor opens, edits and closes."""


class Environment:
    """An environment with Gradwire installed, and the folder of a user who works with it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root.resolve()
        self._bin = self.root / ("Scripts" if os.name == "nt" else "bin")
        self._folder = folder
        self.count = 0
        self.failed: list[str] = []

    def make_folder(self) -> None:
        """Files of the user's own, whose names are those of ours."""
        for name in FILES:
            path = self._folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"raise ImportError('{name} of the user is imported')\n")

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> str:
        """The output of a command. Another exit code than one of ``codes`` is a failure, and so is
        what it writes to standard error with 0, or a traceback with any.
        """
        self.count += 1
        done = subprocess.run(
            [str(self._bin / command[0]), *command[1:]],
            cwd=self._folder,
            env={k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GRADWIRE"))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=600,
        )
        is_silent = not done.stderr if done.returncode == 0 else "Traceback" not in done.stderr
        if done.returncode not in codes or not is_silent:
            shown = " ".join(command)
            self.failed.append(f"$ {shown}\nexit code {done.returncode}\n{done.stderr[-4000:]}")
        return done.stdout

    def assets(self) -> Path:
        """The folder of the files that are installed."""
        code = "import gradwire.assets as a; print(a.__path__[0])"
        return Path(self.run("python", "-P", "-c", code).strip())

    def examples(self) -> list[Path]:
        """The examples that are installed."""
        return sorted((self.assets() / "diagrams").glob(f"*{SUFFIX}"))


def name_of(path: Path) -> str:
    """The name of an example."""
    return path.name.removesuffix(SUFFIX)


def numbers_of(environment: Environment, examples: list[Path]) -> dict[str, object]:
    """What ``gradwire run`` reports of each example, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(
            lambda path: environment.run("gradwire", "run", str(path), "--json"), examples
        )
        return {
            name_of(path): json.loads(report or "null")
            for path, report in zip(examples, reports, strict=True)
        }


def other_commands(environment: Environment, path: Path) -> None:
    """An example by the other commands of the quick gate."""
    environment.run("gradwire", "doctor", str(path))
    if "training" in json.loads(path.read_text(encoding="utf-8")):
        out = f"trained_{name_of(path)}"
        environment.run("gradwire", "train", str(path), "--steps", "3", "--out", out)


def try_everything(environment: Environment, numbers: Path) -> list[Path]:
    """Every example by the commands and in the editor; their numbers go to a file."""
    examples = environment.examples()
    if not all(environment.root in path.parents for path in examples):
        environment.failed.append(f"the package is not in the environment, but at {examples[:1]}")
    numbers.write_text(json.dumps(numbers_of(environment, examples)), encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda path: other_commands(environment, path), examples))
    shown = [str(path) for path in examples[:: max(1, len(examples) // WINDOWS)][:WINDOWS]]
    environment.run("python", "-P", str(Path(__file__).resolve().with_name("editor.py")), *shown)
    return examples


def compare(environment: Environment, numbers: Path) -> list[Path]:
    """The numbers of this environment with those of another one."""
    examples = environment.examples()
    plain = json.loads(numbers.read_text(encoding="utf-8"))
    environment.failed += differences(plain, numbers_of(environment, examples))
    return examples


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The numbers and texts of a report, by their paths in it; arrays of numbers are whole.

    Sentences are left out, as they round numbers, and the file, which lies in the environment.
    """
    if isinstance(tree, dict):
        for key, item in tree.items():
            if key not in ("why", "file"):
                yield from leaves(item, f"{path}/{key}")
    elif isinstance(tree, list) and not is_numeric(tree):
        for number, item in enumerate(tree):
            yield from leaves(item, f"{path}/{number}")
    else:
        yield path, tree


def is_numeric(tree: object) -> bool:
    """Whether it is a number or an array of numbers."""
    if isinstance(tree, list):
        return all(map(is_numeric, tree))
    return isinstance(tree, int | float) and not isinstance(tree, bool)


def flat(tree: object) -> list[float]:
    """The numbers of an array."""
    return [x for item in tree for x in flat(item)] if isinstance(tree, list) else [tree]


def agree(one: object, other: object) -> bool:
    """Whether two leaves are equal, numbers within the tolerance."""
    if not (is_numeric(one) and is_numeric(other)):
        return one == other
    a, b = flat(one), flat(other)
    scale = max((abs(x) for x in (*a, *b) if math.isfinite(x)), default=0.0)
    return len(a) == len(b) and all(
        x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= TOLERANCE * scale
        for x, y in zip(a, b, strict=True)
    )


def differences(plain: dict[str, object], full: dict[str, object]) -> list[str]:
    """Where the numbers of two environments differ."""
    found = []
    for name in sorted(plain.keys() | full.keys()):
        one, other = dict(leaves(plain.get(name))), dict(leaves(full.get(name)))
        found += [
            f"{name}{path}: {str(one.get(path))[:200]} alone, {str(other.get(path))[:200]} with all"
            for path in sorted(one.keys() | other.keys())
            if not agree(one.get(path), other.get(path))
        ]
    return found


def main() -> int:
    """Exit code 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("numbers", type=Path)
    parser.add_argument("--like", action="store_true", help="only compare with the numbers")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="user-") as folder:
        environment = Environment(chosen.environment, Path(folder))
        environment.make_folder()
        work = compare if chosen.like else try_everything
        examples = work(environment, chosen.numbers)
    print(f"{len(examples)} examples, {len(environment.failed)} failures")
    print(*environment.failed, sep="\n\n", file=sys.stderr)
    return 1 if environment.failed or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
