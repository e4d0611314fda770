"""Progress bars: on a terminal and in a notebook, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gradwire as gw
import gradwire.runtime.build as b
from gradwire.runtime import progress_bars
from gradwire.runtime.cli.entry import main
from gradwire.runtime.cli.reading import shown_reading
from gradwire.runtime.data.progress import report
from gradwire.runtime.diagram import save
from gradwire.runtime.progress_bars import bar

ROOT = Path(__file__).parents[2]
COUNTING = """
import sys
from gradwire.runtime import progress_bars
progress_bars.AFTER = progress_bars.EVERY = 0.0
with progress_bars.bar("Counting", 3) as shown:
    for each in shown.over([1, 2, 3]):
        print("item", each)
print("rich" in sys.modules)
"""


@pytest.fixture(autouse=True)
def wanted(monkeypatch):
    """Bars are not turned off, as an editor does in its process."""
    monkeypatch.delenv("GRADWIRE_BARS", raising=False)


def environment(**more):
    return os.environ | {"TERM": "xterm", "COLUMNS": "100"} | more


def on_terminal(code=COUNTING, **more):
    """Standard output, and what a terminal shows of standard error."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals", exc_type=ImportError)
    reading, writing = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=writing,
        env=environment(**more),
    ) as process:
        os.close(writing)
        shown = b""
        try:
            while part := os.read(reading, 4096):
                shown += part
        except OSError:  # how Linux says that the other end is closed
            pass
        out = process.stdout.read()
    os.close(reading)
    return out.decode(), shown.decode()


def tracked(items, what):
    with bar(what, len(items)) as shown:
        yield from shown.over(items)


def test_a_terminal_has_a_bar_on_standard_error():
    out, shown = on_terminal()
    assert out == "item 1\nitem 2\nitem 3\nTrue\n"
    assert "Counting" in shown and "0/3" in shown and "2/3" in shown and "━" in shown
    assert shown.endswith("\x1b[2K")  # and it is gone


@pytest.mark.parametrize("off", [{"GRADWIRE_BARS": "0"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_can_have_none(off):
    assert on_terminal(**off) == ("item 1\nitem 2\nitem 3\nFalse\n", "")


def test_a_pipe_has_none():
    done = subprocess.run(
        [sys.executable, "-c", COUNTING], capture_output=True, text=True, env=environment()
    )
    assert (done.stdout, done.stderr) == ("item 1\nitem 2\nitem 3\nFalse\n", "")


def test_what_takes_no_time_has_none(monkeypatch, seen):
    monkeypatch.setattr(progress_bars, "AFTER", 1e9)
    assert list(tracked([1, 2], "Counting")) == [1, 2] and not seen
    with bar("Training", 2, keep=True) as shown:
        shown.move(2, "loss 1")
    assert seen == ["Training 2/2 loss 1"]  # but it stays, and so it is drawn


def outputs_of(*cells):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [output for cell in notebook.cells for output in cell.outputs]


def test_a_notebook_has_one_in_the_cell():
    shown = [each for each in outputs_of(COUNTING) if each.output_type == "display_data"]
    (output,) = shown  # drawn again in its place
    assert "Counting" in output.data["text/html"] and "2/3" in output.data["text/plain"]


def test_a_notebook_can_have_none():
    off = 'import os; os.environ["GRADWIRE_BARS"] = "0"'
    assert [each.output_type for each in outputs_of(off, COUNTING)] == ["stream"]


@pytest.fixture
def seen(monkeypatch):
    """What bars show that are drawn at once, on a screen of this test."""
    texts: list[str] = []

    class Screen:
        def draw(self, progress):
            (task,) = progress.tasks
            parts = (task.description, task.fields["count"], task.fields["note"])
            texts.append(" ".join(part for part in parts if part))

        def end(self, progress):
            pass

    monkeypatch.setattr(progress_bars, "AFTER", 0.0)
    monkeypatch.setattr(progress_bars, "EVERY", 0.0)
    monkeypatch.setattr(progress_bars, "_screen", lambda: Screen)
    return texts


def test_one_is_drawn_at_a_time(seen):
    for _ in tracked([1, 2], "Outer"):
        assert list(tracked([1, 2], "Inner")) == [1, 2]
    assert set(seen) == {"Outer 0/2", "Outer 1/2"}
    seen.clear()
    assert list(tracked([1], "Inner")) == [1] and seen  # it has ended


def test_the_inner_one_is_drawn_while_the_outer_one_is_not(seen):
    with bar("Reading", share=True):
        assert list(tracked([1], "Inner")) == [1]
    assert set(seen) == {"Inner 0/1"}


def test_one_that_rests_leaves_room_for_others(seen):
    with bar("Reading", share=True) as shown:
        shown.move(0.5)
        shown.rest()
        assert list(tracked([1], "Inner")) == [1]
        shown.move(0.75)
    assert [*dict.fromkeys(seen)] == ["Reading 50%", "Inner 0/1", "Reading 75%"]


def test_a_file_that_is_read_leaves_room_for_what_follows(seen):
    with shown_reading():
        report("a\x1b.csv", 0.5)
        report("a\x1b.csv", 1.0)
        assert list(tracked([1], "trainings")) == [1]
    assert [*dict.fromkeys(seen)] == ["Reading 50% a␛.csv", "trainings 0/1"]


def test_shares_and_counts_without_end(seen):
    with bar("Reading", share=True) as shown:
        shown.move(0.25, "data.csv")
    with bar("Capturing") as shown:
        shown.move(1234, "operations")
    assert [*dict.fromkeys(seen)] == ["Reading 25% data.csv", "Capturing 1,234 operations"]


def test_other_threads_have_none(monkeypatch):
    found = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert progress_bars._screen() is not None
    thread = threading.Thread(target=lambda: found.append(progress_bars._screen()))
    thread.start()
    thread.join()
    assert found == [None]


def test_they_can_be_turned_off_for_a_process(monkeypatch):
    monkeypatch.setenv("GRADWIRE_BARS", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    progress_bars.turn_off()
    assert progress_bars._screen() is None


def test_a_terminal_that_is_gone_ends_the_bar_alone(seen, monkeypatch):
    class Gone:
        def draw(self, progress):
            raise OSError(5, "Input/output error")

        end = draw

    monkeypatch.setattr(progress_bars, "_screen", lambda: Gone)
    assert list(tracked([1, 2, 3], "Counting")) == [1, 2, 3]
    assert progress_bars.Bar._current is None


def test_an_error_ends_it(seen):
    with pytest.raises(ValueError):
        with bar("Counting", 3) as shown:
            shown.move(1)
            raise ValueError
    assert progress_bars.Bar._current is None


# ---- what takes long --------------------------------------------------------------------------


def stopped():
    a, c = b.variable("a", [1.0, 2.0]), b.variable("c", [1.0, 2.0])
    return b.build(b.loss(b.sum(b.stop_gradient(a, name="stop") * c, name="total"), name="loss"))


def names(seen):
    return {text.partition(" 0/")[0] for text in seen if " 0/" in text}


def test_a_diagnosis_has_bars_for_what_it_tries(seen):
    assert gw.diagnose(gw.Session(stopped()))
    assert names(seen) == {"Trying repairs", "Diagnosing variables", "Opening stops"}


def test_a_check_of_derivatives_has_one(seen):
    assert gw.check_gradients(gw.Session(stopped()))
    assert names(seen) == {"Derivatives"}


def test_a_check_of_files_has_one(seen, tmp_path, capsys):
    files = [tmp_path / f"{name}.gradwire.json" for name in "xy"]
    for file in files:
        save(stopped(), file)
    assert main(["check", *map(str, files)]) == 0
    assert {"Checking diagrams 0/2", "Checking diagrams 1/2"} <= set(seen)


def test_an_import_has_one(seen):
    gw.import_model(ROOT / "assets" / "models" / "mxnet_seed.json")
    assert any(text.startswith("Importing ") and text.endswith("% nodes") for text in seen)


def test_a_capture_of_pytorch_counts_operations(seen):
    torch = pytest.importorskip("torch")
    gw.capture(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh()), torch.ones(3, 2))
    assert "Capturing Sequential 1 operations" in seen
    assert seen[-1].endswith("operations, compared with PyTorch") or "made into blocks" in seen[-1]


def test_a_capture_of_jax_counts_operations(seen):
    pytest.importorskip("jax")
    import jax.numpy as jnp

    def loss_of(params, x):
        return jnp.sum(jnp.tanh(params["w"] * x))

    gw.capture(loss_of, {"w": jnp.ones(2)}, jnp.ones(2))
    assert "Capturing loss_of 1 operations" in seen
    assert seen[-1].endswith("operations, compared with JAX")
