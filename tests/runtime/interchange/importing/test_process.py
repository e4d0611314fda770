"""Imports in a process of their own: what comes back, how they end, what they may take."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FileError
from gradwire.runtime import interpreters
from gradwire.runtime.engine.interruption import Interrupted
from gradwire.runtime.interchange.importing import child, process
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions
from gradwire.runtime.interchange.importing.process import import_apart

ROOT = Path(__file__).parents[4]
SEED = ROOT / "assets/models/mxnet_seed.json"


@pytest.fixture
def serving(monkeypatch, tmp_path):
    """``serving(body)`` lets the process run other code in place of the import."""

    def let(body: str) -> None:
        (tmp_path / "served.py").write_text("def main():\n" + textwrap.indent(body, "    "))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(process, "_CHILD", "served")

    return let


@pytest.mark.night
def test_the_seed_comes_back_whole():
    imported = gw.import_model(SEED)
    assert imported.diagram.folder is None
    assert imported.parameters == {"a": "a", "b": "b"}
    first, *_ = imported.remarks
    assert (first.kind, first.block) == ("cut", "stop_gradient0")
    session = gw.Session(imported.diagram)
    session.set("a", [[1, 2]])
    session.set("b", [[0, 1]])
    run = session.backward()
    np.testing.assert_array_equal(run.values["loss.out"], [[1, 5]])
    np.testing.assert_array_equal(run.gradients["a"], [[1, 1]])
    assert run.gradients["b"] is None


def test_an_error_of_the_import_is_raised_with_the_file():
    with pytest.raises(FileError, match=r"mxnet_seed\.json[\s\S]*no output 'nowhere'"):
        import_apart(SEED, ImportOptions(loss="nowhere"))


def test_it_says_how_far_it_is(serving):
    serving('print(\'{"what": "nodes", "done": 0.5}\\n{"error": {"what": "No."}}\')')
    heard = []
    with pytest.raises(FileError, match="No"):
        import_apart(SEED, DEFAULTS, progress=lambda *said: heard.append(said))
    assert heard == [("nodes", 0.5)]


def test_it_can_be_cancelled_and_leaves_no_process(monkeypatch, serving):
    serving("import time; time.sleep(1000)")
    started = []

    def start(*arguments):
        started.append(interpreters.start(*arguments))
        return started[-1]

    monkeypatch.setattr(process, "start", start)
    with pytest.raises(Interrupted):
        import_apart(SEED, DEFAULTS, cancelled=lambda: bool(started))
    assert started[0].poll() is not None


@pytest.mark.parametrize("body", ["import os; os.abort()", "raise SystemExit(7)", "print('{')"])
def test_a_process_that_ends_without_an_answer_is_an_error(serving, body: str):
    serving(body)
    with pytest.raises(FileError, match="ended without a result"):
        import_apart(SEED, DEFAULTS)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_memory_is_limited(serving):
    serving(
        "import json, sys\n"
        "from gradwire.runtime.interchange.importing import child\n"
        "child.limit_resources(sys.stdout)\n"
        "try: bytearray(1 << 45)\n"
        "except MemoryError: print(json.dumps({'error': {'what': 'Out of memory.'}}))",
    )
    with pytest.raises(FileError, match=r"Out of memory\."):
        import_apart(SEED, DEFAULTS)


WITHOUT_LIMITS = {
    "as on Windows": "import sys; sys.modules['resource'] = None\n",
    "as on macOS": (
        "import resource\n"
        "def refuse(kind, limits): raise ValueError('current limit exceeds maximum limit')\n"
        "resource.setrlimit = refuse\n"
    ),
}
GREED = """
import json, sys, time
from gradwire.runtime.interchange.importing import child
child.LEAST_MEMORY, child.machine_bytes = 1 << 28, lambda: 0
child.limit_resources(sys.stdout)
taken = []
for _ in range(1 << 10):
    taken.append(b"x" * (1 << 20))
    time.sleep(0.002)
print(json.dumps({'error': {'what': 'It has a GiB.'}}))
"""
"""Takes a GiB; it may have a quarter of that."""


@pytest.mark.night
@pytest.mark.parametrize("without", WITHOUT_LIMITS.values(), ids=WITHOUT_LIMITS)
def test_where_memory_can_not_be_limited_a_model_is_imported_all_the_same(
    serving, monkeypatch, capfd, without
):
    serving(f"{without}from gradwire.runtime.interchange.importing import child; child.main()")
    monkeypatch.delenv("GRADWIRE_TRACEBACK", raising=False)
    assert import_apart(SEED, DEFAULTS).parameters == {"a": "a", "b": "b"}
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("GRADWIRE_TRACEBACK", "1")
    import_apart(SEED, DEFAULTS)
    assert "memory in use is watched" in capfd.readouterr().err


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="nothing there says how much is in use")
@pytest.mark.parametrize("without", WITHOUT_LIMITS.values(), ids=WITHOUT_LIMITS)
def test_where_memory_can_not_be_limited_it_is_watched(serving, without):
    serving(without + GREED)
    with pytest.raises(FileError, match="more memory than an import may have"):
        import_apart(SEED, DEFAULTS)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one source")
def test_memory_in_use_is_about_the_same_from_both_sources(monkeypatch):
    now = child._memory_in_use()
    monkeypatch.setattr(child, "Path", lambda name: Path("nowhere"))
    peak = child._memory_in_use()
    assert now / 2 < peak < child.machine_bytes()


@pytest.mark.night
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("option", ["-v", "-Sv"], ids=["hard", "soft"])
def test_a_lower_limit_of_the_user_stays(serving, monkeypatch, option):
    serving(
        "import json, resource, sys\n"
        "from gradwire.runtime.interchange.importing import child\n"
        "child.limit_resources(sys.stdout)\n"
        "limit = resource.getrlimit(resource.RLIMIT_AS)[0]\n"
        "print(json.dumps({'error': {'what': f'{limit} bytes.'}}))"
    )
    code = f"""
import sys; sys.path[:] = {sys.path}
from gradwire.runtime.interchange.importing import process
print(sorted(process.import_model({str(SEED)!r}).parameters))
process._CHILD = "served"
process.import_model({str(SEED)!r})
"""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # each thread takes address space
    shell = ["sh", "-c", f'ulimit {option} 2000000 && exec "$0" -c "$1"', sys.executable, code]
    done = subprocess.run(shell, capture_output=True, text=True)
    assert done.stdout == "['a', 'b']\n"
    assert f"{2_000_000 * 1024} bytes." in done.stderr


def damaged(error: Exception, monkeypatch, tmp_path: Path) -> str:
    def fail(path: Path, options: ImportOptions) -> None:
        raise error

    monkeypatch.setattr(child, "import_here", fail)
    options = {"shapes": {}, "loss": "", "training": False, "seed": 0}
    request = {"path": str(SEED), "out": str(tmp_path / "out"), "options": options}
    answer = child.answer(request, sys.stdout)
    json.dumps(answer)
    return answer["error"]["what"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("node"), "damaged, or has something unexpected: KeyError"),
        (MemoryError(), "more memory"),
        (RecursionError(), "nested too deeply"),
        (FileError("No good."), "No good."),
    ],
)
def test_whatever_a_reader_meets_is_a_clear_error(monkeypatch, tmp_path, error, message):
    assert message in damaged(error, monkeypatch, tmp_path)


def test_the_process_ends_with_the_one_that_started_it():
    code = (
        "import sys, threading, time; "
        "from gradwire.runtime.interchange.importing import child; "
        "child.import_here = lambda path, options: time.sleep(1000); child.main()"
    )
    options = {"shapes": {}, "loss": "", "training": False, "seed": 0}
    request = {"path": str(SEED), "out": "out", "options": options}
    started = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdin is not None and started.stdout is not None
    started.stdin.write(json.dumps(request).encode() + b"\n")
    started.stdin.close()
    assert started.wait(60) == 1
    started.stdout.close()


def test_an_import_says_how_much_of_the_model_is_done():
    heard = []
    import_apart(SEED, DEFAULTS, progress=lambda what, done: heard.append((what, done)))
    assert heard[0] == ("nodes", 0.0) and len(heard) == 6
    assert [done for _, done in heard] == sorted(done for _, done in heard)
