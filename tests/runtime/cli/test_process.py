"""Real processes: pipes, streams, exit codes, start-up."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.runtime.cli.entry import COMMANDS

ROOT = Path(__file__).parents[3]


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m gradwire.runtime.cli`` with its streams in pipes."""
    return subprocess.run(
        [sys.executable, "-m", "gradwire.runtime.cli", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def test_a_pipe_gets_plain_text(seed):
    done = command("run", seed, COLUMNS="20", FORCE_COLOR="1")
    assert done.returncode == 0 and done.stderr == b""
    text = done.stdout.decode()
    assert "stop stops every route to loss." in text  # not cut to 20 columns
    assert "\x1b" not in text and "─" not in text


@pytest.mark.night
def test_a_terminal_gets_tables(seed):
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "gradwire.runtime.cli", "run", str(seed)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
    )
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    assert done.wait(60) == 0
    assert "─".encode() in text and b"\x1b[" in text


@pytest.mark.night
def test_a_reader_that_leaves_early_is_no_error():
    line = f'"{sys.executable}" -m gradwire.runtime.cli blocks --json | head -n 1'
    done = subprocess.run(
        ["sh", "-c", line],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.stdout == b"{\n" and done.stderr == b""


EVERY = [
    "run {0}", "flow {0} --json", "whatif {0} --cut loss.x", "doctor {0}", "check {0} --gradients",
    "timeline {0} --json", "train {0} --out {0}.run --steps 1", "quiz {0} --answers",
    "lesson {1} --no-keep", "grade {1} {2}",
    f"study {ROOT}/assets/studies/training_em.study.json --seeds 1 --steps 1",
    "bench {0} --seconds 0", "diff {0} {0}", "merge {0} {0} {0} --json", "contracts infer {0}",
    "picture {0} -o {0}.svg",
    "publish {0} -o {0}.html", "export {0} --to numpy",
    f"import {ROOT}/assets/models/mxnet_seed.json -o {{0}}.imported.gradwire.json",
    "blocks", "schema", "demo --no-window", "--help", "run --help",
]  # fmt: skip


def test_every_command_is_tried():
    # One waits for the user, one changes the desktop, others run what the user has, or serve.
    left_out = {"edit", "desktop", "watch", "fix", "mcp"}
    assert {line.split()[0] for line in EVERY} == {*COMMANDS, "--help"} - left_out


@pytest.mark.night
@pytest.mark.parametrize("line", EVERY)
def test_a_reader_that_left_before_the_first_line_is_no_error(seed, lesson_files, line):
    done = subprocess.Popen(
        [sys.executable, "-m", "gradwire.runtime.cli", *line.format(seed, *lesson_files).split()],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    done.stdout.close()
    with done.stderr as stderr:
        assert stderr.read() == b""
    assert done.wait(60) == 0


@pytest.mark.night
def test_glyphs_that_a_stream_lacks_do_no_harm(seed):
    done = command("blocks", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and b"StopGradient" in done.stdout
    done = command("flow", seed, "--json", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert "←" in json.dumps(json.loads(done.stdout.decode("latin-1")), ensure_ascii=False)


@pytest.mark.night
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("run", "nowhere.gradwire.json"), 2), (("nowhere",), 2), (("run", "--bad"), 2)],
)
def test_exit_codes_reach_the_shell(arguments, code):
    done = command(*arguments)
    assert done.returncode == code
    assert done.stdout == b"" and done.stderr and b"Traceback" not in done.stderr


def test_without_a_display_the_editor_does_not_abort(seed):
    done = command(seed, QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 3
    assert b"gradwire run" in done.stderr


@pytest.mark.night
@pytest.mark.parametrize("line", EVERY)
def test_output_that_can_not_be_written_is_no_fault_of_gradwire(seed, lesson_files, line):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "gradwire.runtime.cli",
                *line.format(seed, *lesson_files).split(),
            ],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 3
    assert (
        done.stderr == b"gradwire: error: The output can't be written: No space left on device.\n"
    )


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("schema >&-", 3),
        ("run {seed} --json >&-", 3),
        ("run nowhere >&-", 2),
        ("run nowhere 2>&-", 2),
        ("run nowhere 2>/dev/full", 3),
    ],
)
def test_closed_and_full_streams_have_the_right_exit_code(seed, line, code):
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gradwire.runtime.cli {line.format(seed=seed)}'],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr and b"itself failed" not in done.stderr
    if ">&-" in line and code == 3:
        expected = b"gradwire: error: The output can't be written: standard output is closed.\n"
        assert done.stderr == expected


@pytest.mark.night
def test_what_was_mistyped_is_shown_as_symbols():
    done = command("run", "a", "b\u202e\x1b[31m")
    assert done.returncode == 2 and b"unexpected extra argument" in done.stderr
    assert "\u202e".encode() not in done.stderr and b"\x1b" not in done.stderr
    done = command("run", "--no\u2028such", "x")
    assert done.returncode == 2 and b"No such option" in done.stderr
    assert "\u2028".encode() not in done.stderr


def test_an_interrupted_command_ends_with_130(seed):
    script = "import gradwire.runtime.cli.sessions as s, signal, sys\n" \
             "import gradwire.runtime.cli.entry as c\n" \
             "s.imported_subject = lambda *a, **k: signal.raise_signal(signal.SIGINT)\n" \
             "sys.exit(c.main(['run', 'x']))"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


DIVIDES = """
import numpy as np
from gradwire.runtime.cli import entry
entry._call = lambda typed: int(np.any(1 / np.zeros(1) == 2))
raise SystemExit(entry.main())
"""


@pytest.mark.night
@pytest.mark.parametrize(("flags", "is_said"), [([], False), (["-W", "always"], True)])
def test_a_warning_of_numpy_is_shown_only_if_it_is_asked_for(flags, is_said):
    done = subprocess.run(
        [sys.executable, *flags, "-c", DIVIDES], env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, check=True,
    )  # fmt: skip
    assert (b"divide by zero" in done.stderr) is is_said
    assert is_said or not done.stderr
