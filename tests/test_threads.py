"""Threads that use the library for the first time at once.

``python -m tests.test_threads 200`` runs each of the programs in so many processes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import gradwire
from gradwire.runtime.gc_pause import uncollected

ROOT = Path(__file__).parents[1]
FLOORS = ("app", "runtime", "blocks")
PUBLIC = "gradwire.runtime.public."
"""What the module ``gradwire`` stands in."""
ENTANGLED = {"jax", "numpy", "onnx", "pydantic", "torch"}
"""Packages that import their own modules, and must come before them."""


def name_of(path: Path) -> str:
    """The name by which a module is imported."""
    dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return dotted.removeprefix(PUBLIC).removesuffix(".__init__")


@cache
@uncollected()
def sources() -> dict[str, ast.Module]:
    """The modules of the house by name."""
    return {
        name_of(path): ast.parse(path.read_text(encoding="utf-8"))
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*.py")
    }


def is_for_types(statement: ast.stmt) -> bool:
    """Whether this is for type checkers alone."""
    return isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)


def imported_at_once(body: list[ast.stmt]) -> Iterator[str]:
    """The modules that statements import, and names that may be modules; not within functions."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            assert statement.module and not statement.level
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif is_for_types(statement):
            yield from imported_at_once(statement.orelse)  # type: ignore[attr-defined]  # of an If
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.ExceptHandler):
                    yield from imported_at_once(part.body)
                elif isinstance(part, ast.stmt):
                    yield from imported_at_once([part])


def test_modules_are_locked_in_one_order() -> None:
    """Python locks a module, then its package, then what it imports; a cycle is half a module for
    one of two threads that begin at either end of it.
    """
    after = {}
    for name, tree in sources().items():
        wanted = {*imported_at_once(tree.body)}
        after[name] = (wanted | {name.rpartition(".")[0]}) & sources().keys() - {name}
    TopologicalSorter(after).prepare()


@pytest.mark.night
def test_a_package_that_imports_its_own_modules_comes_before_them() -> None:
    """It is whole then: another thread may be in the middle of it."""
    early = {name: list(early_imports(tree)) for name, tree in sources().items()}
    assert not {name: found for name, found in early.items() if found}


def early_imports(tree: ast.Module) -> Iterator[str]:
    """Modules of entangled packages that are imported before their packages."""
    functions = (each.body for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
    at_once = {module.partition(".")[0]: module for module in [*imported_at_once(tree.body)][::-1]}
    yield from (module for package, module in at_once.items() if package in ENTANGLED - {module})
    for body in functions:
        inside = {module.partition(".")[0]: module for module in [*imported_at_once(body)][::-1]}
        late = ENTANGLED & inside.keys() - at_once.keys()
        yield from (inside[package] for package in late if inside[package] != package)


BOTH_ENDS = """
import importlib, sys, threading, time
from importlib.machinery import PathFinder
package, module = {package!r}, {module!r}
failed = []

def load(name):
    try: importlib.import_module(name)
    except BaseException as error: failed.append(error)

def waits(thread):
    frame = sys._current_frames().get(thread.ident)
    return frame is not None and frame.f_code.co_name == "acquire"

class Late:
    "Keeps the package locked until the other thread, which has locked its module, waits for it."
    def find_spec(name, path=None, target=None):
        if name != package: return None
        spec = PathFinder.find_spec(name, path)
        spec.loader.create_module = Late.create_module
        return spec
    def create_module(spec):
        other.start()
        while other.is_alive() and not waits(other): time.sleep(0.001)

other = threading.Thread(target=load, args=(module,))
sys.meta_path.insert(0, Late)
load(package)
for name in {used!r}: getattr(sys.modules[package], name)
other.join()
print(failed); sys.exit(bool(failed))
"""


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("package", "module", "used"),
    [
        ("blocks", "gradwire.blocks.registry", ["Block"]),
        ("gradwire.blocks.library.pages", "gradwire.blocks.library.pages.page", ["Page", "Scan"]),
        ("gradwire.runtime.calculus", "gradwire.runtime.calculus.trace", ["Trace"]),
        ("gradwire.runtime.engine", "gradwire.runtime.engine.program", ["Session"]),
        (
            "gradwire.runtime.flow",
            "gradwire.runtime.flow.structure.reachability",
            ["Flow", "diagnose"],
        ),
        (
            "gradwire.runtime.training.optimisers",
            "gradwire.runtime.training.optimisers.stepping",
            ["Adam"],
        ),
    ],
)
def test_a_package_and_its_module_are_imported_by_two_threads(
    package: str, module: str, used: list[str]
) -> None:
    done = run(BOTH_ENDS.format(package=package, module=module, used=used))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_plug_in_that_another_thread_imports_asks_for_the_registry(tmp_path: Path) -> None:
    """Neither thread keeps what the other waits for."""
    about = tmp_path / "asking-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: asking\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[gradwire.blocks]\nall = asking\n")
    (tmp_path / "asking.py").write_text(
        "import threading, sys, time\n"
        "from gradwire.blocks.registry import registry\n"
        "def waits(thread):\n"
        "    frame = sys._current_frames().get(thread.ident)\n"
        "    return frame is not None and frame.f_code.co_name == 'acquire'\n"
        "other = threading.Thread(target=lambda: registry().classes, daemon=True)\n"
        "other.start()\n"
        "while other.is_alive() and not waits(other): time.sleep(0.001)\n"
        "found = len(registry().classes)\n"
    )
    done = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import asking; asking.other.join(); print(asking.found)"
    )
    assert done.returncode == 0 and int(done.stdout) > 100, done.stdout + done.stderr


# ---- races --------------------------------------------------------------------------------------

START = """
import importlib, random, sys, threading
sys.setswitchinterval(1e-6)
failed = []

def at_once(*works):
    start = threading.Barrier(len(works))
    def call(work):
        start.wait()
        try: work()
        except BaseException as error: failed.append(f"{type(error).__name__}: {error}")
    threads = [threading.Thread(target=call, args=(work,)) for work in works]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

def load(*names):
    return lambda: [importlib.import_module(name) for name in names]
"""
END = """
print(*dict.fromkeys(failed), sep="\\n"); sys.exit(bool(failed))
"""
PROGRAMS = {
    "uses": """
import gradwire as gw
def run(**how):
    w = gw.variable("w", [1.0, 2.0])
    gw.Session(gw.build(gw.loss(gw.sum(w * w), name="L")), **how).backward()
def read():
    diagram = gw.load("assets/diagrams/mxnet_seed.gradwire.json")
    gw.analyse(gw.Session(diagram).program).variable("a")
def train():
    gw.Trainer(gw.Session(gw.build(gw.loss(gw.sum(gw.variable("w", [1.0])))))).step()
at_once(
    run, read, train, lambda: gw.loads(gw.dumps(gw.build(gw.loss(gw.exp(gw.variable("w", 1.0)))))),
    load("gradwire.blocks.library.data", "gradwire.blocks.library.views"),
    load("gradwire.blocks.library.views"), lambda:
    gw.diagnose(gw.Session(gw.build(gw.loss(gw.stop_gradient(gw.variable("w", 1.0)))))), lambda:
    gw.registry().classes, lambda: gw.registry().names(), lambda: dir(gw), lambda:
    gw.check(gw.load("assets/diagrams/gan.gradwire.json")), lambda:
    gw.publish(gw.load("assets/diagrams/mxnet_seed.gradwire.json")), ) """,
    "names": """
import gradwire as gw
def names():
    for name in random.sample(gw.__all__, len(gw.__all__)): getattr(gw, name)
at_once(*[names] * 8)
""",
    "modules": """
from pathlib import Path
found = [".".join(("gradwire", *path.with_suffix("").parts)).removesuffix(".__init__")
         for floor in ("blocks", "runtime/calculus", "runtime/engine", "runtime/flow",
                       "runtime/diagram", "runtime/training", "runtime/interchange/importing/onnx")
         for path in Path(floor).rglob("*.py") if "jax" not in path.parts]
at_once(*[load("gradwire", *random.sample(found, len(found))) for _ in range(8)])
""",
    "engines": """
def run(engine):
    import gradwire as gw
    x = gw.variable("x", [[1.0, 2.0], [3.0, 4.0]])
    gw.Session(gw.build(gw.loss(gw.sum(gw.relu(x @ x)))), engine=engine).backward()
at_once(*[lambda: run("jax"), lambda: run("numpy")] * 4,
        load("gradwire.runtime.engine.jax.rows.matrices"),
        load("gradwire.runtime.engine.jax.traced")) """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_use_it_for_the_first_time(name: str) -> None:
    if name == "engines":
        pytest.importorskip("jax")
    done = run(START + PROGRAMS[name] + END)
    assert done.returncode == 0, done.stdout + done.stderr


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, where nothing is imported.

    In a checkout, nothing but the package itself, which learns only then where its floors lie: a
    thread that comes before that finds none. Once installed, they lie in it.
    """
    path = [str(ROOT), str(ROOT / "runtime" / "public")]
    is_checkout = not (Path(gradwire.__file__).parent / "blocks").is_dir()
    begin = f"import sys; sys.path[:0] = {path}\n" + "import gradwire\n" * is_checkout
    return subprocess.run(
        [sys.executable, "-c", begin + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


if __name__ == "__main__":
    for name, program in PROGRAMS.items():
        runs = [run(START + program + END) for _ in range(int(sys.argv[1]))]
        print(name, sum(each.returncode != 0 for each in runs), "of", len(runs), "failed")
        print(*{line for each in runs for line in (each.stdout + each.stderr).split("\n")})
