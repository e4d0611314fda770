"""Plug-ins that fail in every way: each is named, and nothing else is harmed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks import plugins
from gradwire.blocks.errors import GradwireError, ParameterError, UnknownBlockError
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.plugins import BrokenOff, PluginError, breakable, guarded, interrupt
from gradwire.blocks.registry import Registry, discover, registry
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName, check, dumps
from gradwire.runtime.engine import Session
from tests.blocks.installing import install, site

if TYPE_CHECKING:
    from gradwire.blocks import Block

__all__ = ["site"]
ROOT = Path(__file__).parents[2]

GOOD = '''
from gradwire.blocks import Block

class Twice(Block):
    """Doubles, ``out = 2 x``."""
    def forward(self, xp, x): return 2 * x
'''


KEEP = "kept = globals().setdefault('KEPT', []); kept.append(x)"


def odd(body: str) -> str:
    """A module with a block ``Odd`` that has this in its body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    forward = "" if "def forward" in body else "    def forward(self, xp, x): return x\n"
    return f'from gradwire.blocks import Block\nclass Odd(Block):\n    """Odd."""\n{lines}{forward}'


@pytest.fixture
def loaded(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``loaded(source)`` -> the registry with that plug-in and a good one, used everywhere."""

    def load(source: str) -> Registry:
        install(site, "odd_plugin", source, "odd = odd_plugin")
        install(site, "good_plugin", GOOD, "good = good_plugin")
        found = discover()
        for module in (
            "gradwire.runtime.diagram.checks.checks",
            "gradwire.runtime.diagram.files.records",
        ):
            monkeypatch.setattr(f"{module}.registry", lambda: found)
        assert "Twice" in found.classes and found.get("Add") is Add
        return found

    return load


def drawn(block: Block, value: Any = (1.0, 2.0)) -> Diagram:
    """A variable through the block."""
    variable = registry().get("Variable")(value=value)
    return Diagram(
        {MAIN: Page({"w": variable, "it": block}, {PortName("it", "x"): PortName("w", "out")})}
    )


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("raise SystemExit(3)", "SystemExit(3)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt()"),
        ("class Stop(BaseException): pass\nraise Stop('no')", "Stop('no')"),
        ("raise GeneratorExit", "GeneratorExit()"),
        ("import sys; sys.exit('bye')", "SystemExit('bye')"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = (", "SyntaxError"),
        (odd("outputs = ('a', 'a')"), "not distinct names"),
        (odd("@classmethod\ndef type_name(cls): raise SystemExit"), "SystemExit()"),
    ],
)
def test_an_import_that_fails_is_named_and_harms_no_other(loaded, source, why):
    (problem,) = loaded(source).problems
    assert problem.startswith("Plug-in 'odd' of odd_plugin 1.0 (odd_plugin) failed: ")
    assert why in problem and problem.endswith("Its blocks are left out.")


@pytest.mark.night
def test_an_import_without_an_end_is_broken_off(loaded, monkeypatch):
    monkeypatch.setattr(sys.modules["gradwire.blocks.registry"], "IMPORT_SECONDS", 0.3)
    (problem,) = loaded("while True: pass").problems
    assert "failed: It took more than 0.3 s. Its blocks are left out." in problem


def test_what_an_import_prints_is_no_output(loaded, capsys):
    assert loaded("print('hello')").problems == []
    assert capsys.readouterr() == ("", "hello\n")


def test_a_type_that_is_missing_leads_to_the_reason(loaded):
    with pytest.raises(UnknownBlockError, match="Some plug-ins could not be loaded"):
        loaded("raise SystemExit").get("Qqqq")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def label(self): raise ValueError('no')", "ValueError: no."),
        ("def label(self): raise SystemExit(1)", "SystemExit(1)."),
        ("def label(self): return 3", "it returned 3."),
        ("def label(self): return None", "it returned None."),
    ],
)
def test_a_label_that_fails_is_the_name_of_the_type_and_a_problem_once(loaded, body, why):
    found = loaded(odd(body))
    block = found.get("Odd")()
    assert [block.label() for _ in range(3)] == ["Odd"] * 3
    (problem,) = found.problems
    assert problem == (
        f"Plug-in 'odd' of odd_plugin 1.0 (odd_plugin): label() of Odd failed: {why} "
        "The name of the type is shown instead."
    )
    assert found.left_out == []
    page = drawn(block).main
    twice = Diagram({MAIN: Page({**page.blocks, "again": block}, page.wires)})
    assert [d.what for d in check(twice) if d.code == "plugin-failed"] == [problem]


def test_a_label_without_an_end_is_asked_once(loaded, monkeypatch):
    monkeypatch.setattr(plugins, "HOOK_SECONDS", 0.3)
    found = loaded(odd("def label(self):\n    while True: pass"))
    started = time.process_time()
    assert [found.get("Odd")().label() for _ in range(50)] == ["Odd"] * 50
    assert time.process_time() - started < 50 * 0.3
    assert "label() of Odd failed: It took more than 0.3 s." in found.problems[0]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("def output_names(self): raise RuntimeError('no')", "output_names() of Odd failed"),
        ("def output_names(self): return ['out']", "output_names() of Odd failed: it returned"),
        ("def output_names(self): return ('out', 'out')", "output_names() of Odd failed"),
        (
            "def infer(self, inputs, output): raise SystemExit",
            "infer() of Odd failed: SystemExit()",
        ),
        ("def infer(self, inputs, output): return 3", "infer() of Odd failed: it returned 3."),
    ],
)
def test_other_methods_that_fail_have_a_stand_in(loaded, body, named):
    found = loaded(odd(body))
    open_shape = registry().get("Variable")(shape=(None,))
    page = drawn(found.get("Odd")()).main
    session = Session(
        Diagram({MAIN: Page({**page.blocks, "w": open_shape}, page.wires)}), partial=True
    )
    assert any(named in problem for problem in found.problems) and session.program
    assert len(found.problems) == 1
    values = Session(drawn(found.get("Odd")())).run().values
    np.testing.assert_array_equal(values["it.out"], [1.0, 2.0])


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def forward(self, xp, x): raise SystemExit(0)", "SystemExit(0)"),
        ("def forward(self, xp, x): raise KeyboardInterrupt", "KeyboardInterrupt()"),
        ("def forward(self, xp, x): raise KeyError('x')", "KeyError: 'x'"),
        ("def forward(self, xp, x): return None", "can't be traced"),
        ("def forward(self, xp, x): return 'text'", "An array of <U4 can't be traced"),
        ("def forward(self, xp, x): return x, x", "returned 2 values"),
        ("def forward(self, xp, x): return [x, x]", "Use xp.stack"),
        ("def forward(self, xp, x): return type(x)", "can't be traced"),
        ("def forward(self, xp, x): x[0] = 1; return x", "TypeError"),
        ("def forward(self, xp, x): x.shape = (7,); return x", "changed one of its inputs"),
        (f"def forward(self, xp, x): {KEEP}; return kept[0]", "kept from another trace"),
        (f"def forward(self, xp, x): {KEEP}; return x + kept[0]", "kept from another trace"),
        (f"def forward(self, xp, x): {KEEP}; return kept[0] + x", "kept from another trace"),
    ],
)  # fmt: skip
def test_a_forward_that_fails_is_named_with_its_place(loaded, body, why):
    cls = loaded(odd(body)).get("Odd")
    if KEEP in body:
        Session(drawn(cls(), (3.0,)))  # from which it keeps a value
    session = Session(drawn(cls()), partial=True)
    (problem,) = [d for d in session.diagnostics if d.severity == "error"]
    assert (problem.location.page, problem.location.block) == ("main", "it")
    assert why in str(problem)
    assert "The block is from plug-in 'odd' of odd_plugin 1.0" in str(problem) or problem.next_step
    np.testing.assert_array_equal(session.run().values["w.out"], [1.0, 2.0])


def test_what_forward_prints_is_no_output(loaded, capsys):
    cls = loaded(odd("def forward(self, xp, x): print('tracing'); return x")).get("Odd")
    Session(drawn(cls())).run()
    out, err = capsys.readouterr()
    assert out == "" and "tracing" in err
    print("after")
    assert capsys.readouterr().out == "after\n"


def test_parameters_that_fail_make_an_error_of_the_block(loaded):
    body = (
        "from pydantic import field_validator\nslope: float = 1.0\n@field_validator('slope')\n"
        "@classmethod\ndef look(cls, value):\n    if value > 1: raise SystemExit\n    return value"
    )
    cls = loaded(odd(body)).get("Odd")
    with pytest.raises(PluginError, match="SystemExit"):
        cls.from_record({"slope": 2.0})
    assert cls.from_record({"slope": 0.5}).slope == 0.5
    with pytest.raises(ParameterError, match="no parameter"):
        cls.from_record({"slant": 0.5})


def test_a_block_that_can_not_be_written_is_an_error_of_gradwire(loaded):
    cls = loaded(odd("def to_record(self): raise SystemExit")).get("Odd")
    with pytest.raises(GradwireError, match="SystemExit"):
        dumps(drawn(cls()))


def test_a_class_below_the_class_of_a_plug_in_is_guarded_too(loaded):
    source = (
        odd("")
        + '''
class Below(Odd):
    """Below."""
    def label(self): raise ValueError("no")
'''
    )
    found = loaded(source)
    assert found.get("Below")().label() == "Below" and found.get("Odd")().label() == ""


def test_blocks_of_the_library_are_as_they_were_written():
    assert all(cls.plugin == "" for cls in registry().classes.values())
    assert not hasattr(registry().get("Sum").label, "__wrapped__")


def test_the_user_interrupts_and_code_that_says_so_does_not():
    with pytest.raises(KeyboardInterrupt):
        guarded(lambda: signal.raise_signal(signal.SIGINT))

    def lie() -> None:
        raise KeyboardInterrupt

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(PluginError, match="KeyboardInterrupt"):
        guarded(lie)
    assert signal.getsignal(signal.SIGINT) is handler


def forever(started: SimpleQueue[None], seconds: float = 60.0) -> None:
    """A loop as careless code has it; it ends by itself where nothing breaks it off."""
    started.put(None)  # no Event: BrokenOff inside of it could leave its lock taken
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            sum(range(100))
        except Exception:
            continue
    raise TimeoutError("Nothing broke off the loop.")


def outcome(work: Callable[[], object], started: SimpleQueue[None]) -> object:
    """What the work raises or returns on a thread that is interrupted once it has started."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.get(timeout=60)
    interrupt(thread.ident)
    thread.join(120)
    assert plugins._guards == {}
    (result,) = found
    return result


def test_a_loop_is_broken_off_from_another_thread():
    started: SimpleQueue[None] = SimpleQueue()

    def work() -> int:
        with pytest.raises(BrokenOff):
            guarded(lambda: guarded(lambda: forever(started)))
        return sum(range(100_000))

    assert outcome(work, started) == sum(range(100_000))


def test_code_that_catches_everything_is_broken_off_again():
    started: SimpleQueue[None] = SimpleQueue()
    caught = []

    def careless() -> None:
        while len(caught) < 3:
            try:
                forever(started)
            except BaseException as error:
                caught.append(type(error))
        forever(started)

    assert isinstance(outcome(lambda: guarded(careless), started), BrokenOff)
    assert caught == [BrokenOff] * 3


def test_an_interrupt_that_is_lost_in_a_finaliser_comes_again(monkeypatch):
    started: SimpleQueue[None] = SimpleQueue()
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: lost.append(problem.exc_type))

    class Finalised:
        def __del__(self) -> None:
            forever(started)

    def careless() -> None:
        Finalised()
        forever(started)

    assert isinstance(outcome(lambda: guarded(careless), started), BrokenOff)
    assert lost == [BrokenOff]


@pytest.mark.night
def test_a_loop_that_begins_after_the_interrupt_is_broken_off():
    started: SimpleQueue[None] = SimpleQueue()
    go = threading.Event()

    def work() -> None:
        with breakable():
            started.put(None)
            go.wait(60)
            guarded(lambda: forever(SimpleQueue()))

    threading.Timer(0.2, go.set).start()
    assert isinstance(outcome(work, started), BrokenOff)


def test_only_the_code_of_plug_ins_is_broken_off():
    started: SimpleQueue[None] = SimpleQueue()

    def work() -> int:
        with breakable():
            guarded(lambda: None)
            started.put(None)
            time.sleep(3 * plugins.REPEAT)
            return sum(range(100_000))

    assert outcome(work, started) == sum(range(100_000))


TRACED = """
import sys, threading, time
from gradwire.blocks import plugins

def loop(end=time.monotonic() + 60):
    while time.monotonic() < end: pass

def sleep():
    time.sleep(8 * plugins.REPEAT)

def count():
    calls, end = 0, time.monotonic() + 4 * plugins.REPEAT
    while time.monotonic() < end: calls += (lambda: 1)()
    return calls

ended = []
threading.excepthook = lambda args: ended.append(args.exc_type.__name__)
sys.settrace(lambda *event: None)
threading.settrace(lambda *event: None)
for call in (loop, sleep, *[loop] * 200):
    try: plugins.guarded(call, 0.001)
    except plugins.PluginError: ended.append("over")
assert count() and ended == ["over"] * 202, ended
sleeper = threading.Thread(target=plugins.guarded, args=(sleep,), daemon=True)
sleeper.start()
time.sleep(plugins.REPEAT)
plugins.interrupt(sleeper.ident)
assert count() and sleeper.is_alive()
sleeper.join(60)
assert ended[-1] == "BrokenOff", ended
"""


@pytest.mark.night
def test_functions_can_be_traced_while_and_after_code_is_broken_off():
    subprocess.run([sys.executable, "-c", TRACED], cwd=ROOT, check=True, timeout=100)


def test_a_limit_that_runs_out_with_the_call_never_strikes_later():
    for _ in range(300):
        try:
            assert guarded(lambda: sum(range(200)), 0.0005) == 19900
        except PluginError as error:
            assert "It took more than" in error.what
    assert sum(range(100_000)) == 4_999_950_000
    assert plugins._guards == {}


def test_printing_in_several_threads_leaves_standard_output_where_it_was():
    before, errors = sys.stdout, sys.stderr
    seen = []

    def work() -> None:
        for _ in range(50):
            guarded(lambda: seen.append(sys.stdout is errors))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sys.stdout is before and all(seen) and len(seen) == 200


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Exceptions and changes of thread come as often as they can; and none into the functions
    that measure coverage, which would leave their own lock taken.
    """
    monkeypatch.setattr(plugins, "REPEAT", 0.0)
    interval, trace = sys.getswitchinterval(), sys.gettrace()
    sys.setswitchinterval(1e-6)
    sys.settrace(None)
    yield
    sys.settrace(trace)
    sys.setswitchinterval(interval)


@pytest.mark.night
def test_nested_calls_that_are_broken_off_leave_nothing_behind(often):
    before, errors, seen = sys.stdout, sys.stderr, []
    handler = signal.getsignal(signal.SIGINT)

    def nest(depth: int) -> None:
        seen.append(sys.stdout is errors)
        for _ in range(3 if depth else 0):
            guarded(lambda: nest(depth - 1), 0.0005)

    for attempt in range(400):
        with suppress(PluginError):
            guarded(lambda: nest(4), attempt % 20 * 0.0001)
        assert plugins._guards == {} and plugins._printers == 0
    assert sys.stdout is before and all(seen)
    assert signal.getsignal(signal.SIGINT) is handler


def test_what_a_guard_does_itself_is_never_broken_off(monkeypatch):
    done = []

    def spend(name: str) -> None:
        end = time.monotonic() + 4 * plugins.REPEAT
        while time.monotonic() < end:
            pass
        done.append(name)

    @contextmanager
    def slowly() -> Iterator[None]:
        spend("begin")
        yield
        spend("end")

    def outer() -> None:
        monkeypatch.setattr(plugins, "_printing_to_stderr", slowly)
        guarded(lambda: None)
        forever(SimpleQueue())

    with pytest.raises(PluginError, match="It took more"):
        guarded(outer, 0.01)
    assert done == ["begin", "end"]
