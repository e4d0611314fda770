"""The command beside plug-ins that fail: output stays JSON, exit codes tell, Ctrl-C ends loops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.blocks.installing import install
from tests.blocks.test_plugins import odd

ROOT = Path(__file__).parents[3]
BLOCKS = {"w": {"type": "Variable", "value": [1.0]}, "it": {"type": "Odd"}, "l": {"type": "Loss"}}
WIRES = {"it.x": "w.out", "l.x": "it.out"}


@pytest.fixture
def command(tmp_path, diagram):
    """``command(source)("run", "--json")`` with a plug-in of that source and a diagram of it."""

    def make(source):
        install(tmp_path, "odd_plugin", source, "odd = odd_plugin")
        path = diagram(BLOCKS, WIRES)

        def call(name, *options, wait=True):
            started = subprocess.Popen(
                [sys.executable, "-m", "gradwire.runtime.cli", name, str(path), *options],
                env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            if not wait:
                return started
            out, err = started.communicate(timeout=120)
            assert "Traceback" not in err and "itself failed" not in err, err
            return started.returncode, out, err

        return call

    return make


@pytest.mark.night
def test_prints_of_a_plug_in_are_not_in_the_json(command):
    source = "print('imported')\n" + odd("def forward(self, xp, x): print('traced'); return 2 * x")
    code, out, err = command(source)("run", "--json")
    assert code == 0 and json.loads(out)["gradients"]["w"]["value"] == [2.0]
    assert "imported" in err and "traced" in err


@pytest.mark.night
@pytest.mark.parametrize("end", ["SystemExit(0)", "SystemExit", "KeyboardInterrupt"])
def test_a_forward_that_ends_the_program_is_a_problem_of_the_diagram(command, end):
    call = command(odd(f"def forward(self, xp, x): raise {end}"))
    code, out, err = call("run", "--json")
    assert code == 1 and json.loads(out)["problems"][0]["block"] == "it"
    assert "it: Odd.forward failed" in err and "plug-in 'odd' of odd_plugin 1.0" in err


@pytest.mark.night
def test_an_import_that_ends_the_program_leaves_its_blocks_out(command):
    call = command("raise SystemExit(0)")
    code, out, err = call("check")
    assert code == 1 and "No block of type 'Odd' is installed" in out
    assert "Some plug-ins could not be loaded" in out
    code, out, err = call("blocks")
    assert code == 2  # the diagram's path names no block
    assert "Plug-in 'odd' of odd_plugin 1.0 (odd_plugin) failed: SystemExit(0)" in err


@pytest.mark.night
def test_a_label_that_fails_is_a_warning_and_nothing_more(command):
    code, out, err = command(odd("def label(self): raise ValueError('no')"))("run", "--json")
    assert code == 0 and json.loads(out)["problems"][0]["code"] == "plugin-failed"
    assert err.count("label() of Odd failed: ValueError: no.") == 1


@pytest.mark.night
@pytest.mark.parametrize(
    "source",
    [
        "import sys\nprint('here', flush=True, file=sys.stderr)\nwhile True: pass",
        odd("def forward(self, xp, x):\n    import sys\n    print('here', flush=True)\n"
            "    while True: pass"),
    ],
)  # fmt: skip
def test_a_loop_without_an_end_is_ended_by_the_user(command, source):
    started = command(source)("run", "--json", wait=False)
    assert started.stderr.readline() == "here\n"
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=120)
    assert (started.returncode, out) == (130, "")
    assert "Traceback" not in err
