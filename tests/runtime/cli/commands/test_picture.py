"""``gradwire picture``: files of each kind, without a screen."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from gradwire.runtime.cli.commands.picture import ENDINGS
from tests.runtime.cli.conftest import SEED, SEED_WIRES

ROOT = os.path.dirname(importlib.util.find_spec("gradwire.runtime.cli").origin) + "/../.."


@pytest.fixture
def seed(diagram):
    return diagram(SEED, SEED_WIRES)


def texts(path):
    return [element.text for element in ElementTree.parse(path).iterfind(".//{*}text")]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("ending", ENDINGS)
def test_each_kind_is_written(gradwire, seed, tmp_path, ending):
    path = tmp_path / f"out{ending}"
    done = gradwire("picture", seed, "-o", path)
    assert (done.code, done.out, done.err) == (0, f"{path}\n", "")
    assert path.stat().st_size > 1000


def test_options_change_the_picture(gradwire, seed, tmp_path):
    path = tmp_path / "out.svg"
    options = ("--text", "text", "--legend", "none", "--theme", "high-contrast", "--width", "12")
    assert gradwire("picture", seed, "-o", path, *options, "--select", "a").code == 0
    shown = texts(path)
    assert "a" in shown
    assert "loss" not in shown
    assert "carries gradient; width: its size" not in shown
    assert 'width="12cm"' in path.read_text(encoding="utf-8")
    assert gradwire("picture", seed, "-o", path, "--text", "text", "--no-numbers").code == 0
    assert "∇" not in texts(path)


def test_without_fonts_to_embed_there_is_a_warning(gradwire, seed, tmp_path, monkeypatch):
    path = tmp_path / "out.svg"
    assert gradwire("picture", seed, "-o", path, "--text", "embedded").err == ""
    monkeypatch.setattr("gradwire.app.pictures.svg.can_embed", lambda: False)
    done = gradwire("picture", seed, "-o", path, "--text", "embedded")
    assert (done.code, done.out) == (0, f"{path}\n")
    assert f"{path}: warning: No fonts can be embedded, so text is drawn as shapes" in done.err
    assert not gradwire("picture", seed, "-o", path).err


@pytest.mark.sampled(one_in=5)
@pytest.mark.usefixtures("no_typeface")
@pytest.mark.parametrize("name", ["out.svg", "out.png", "out.pdf", "out.tex"])
@pytest.mark.parametrize("text", ["shapes", "embedded", "text"])
def test_without_the_typeface_a_picture_has_the_system_s(gradwire, seed, tmp_path, name, text):
    path = tmp_path / name
    done = gradwire("picture", seed, "-o", path, "--text", text)
    assert (done.code, done.out) == (0, f"{path}\n")
    assert path.stat().st_size
    assert done.err.count('Install it: pip install "gradwire[app]".') == 1


def test_embedding_fonts_is_for_svg(gradwire, seed, tmp_path):
    done = gradwire("picture", seed, "-o", tmp_path / "out.pdf", "--text", "embedded")
    assert done.code == 0
    assert "Only SVG has a choice of text" in done.err


def test_every_page_gets_a_file(gradwire, tmp_path):
    example = os.path.join(ROOT, "assets/diagrams/vq_vae.gradwire.json")
    done = gradwire("picture", example, "-o", tmp_path / "v.svg", "--all-pages", "--text", "text")
    files = done.out.split()
    assert files == [str(tmp_path / f"v-{page}.svg") for page in ("main", "nearest_code")]
    assert texts(files[0]) != texts(files[1])


def test_errors_of_the_diagram_are_shown_and_drawn(gradwire, diagram, tmp_path):
    path = tmp_path / "out.svg"
    done = gradwire("picture", diagram({"m": {"type": "MatMul"}}, {}), "-o", path)
    assert done.code == 1
    assert "error: m" in done.err
    assert path.exists()


def test_a_page_is_drawn_by_its_name_or_path(gradwire, diagram, tmp_path):
    inner = {"only_here": {"type": "Constant", "value": 1.0}, "out": {"type": "PageOutput"}}
    layers = {"0": {"type": "Page", "page": "first"}, "out": {"type": "PageOutput"}}
    path = diagram(
        {"encoder_layer": {"type": "Page", "page": "layers"}, "loss": {"type": "Loss"}},
        {"loss.x": "encoder_layer.out"},
        layers=(layers, {"out.x": "0.out"}),
        first=(inner, {"out.x": "only_here.out"}),
    )
    out = tmp_path / "out.svg"
    for page in ("first", "encoder/layer/0"):
        assert gradwire("picture", path, "-o", out, "--text", "text", "--page", page).code == 0
        assert "only_here" in texts(out)
        out.unlink()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "out.gif"], "one of .svg, .png, .pdf, .tex"),
        (["-o", "out.svg", "--page", "mian"], "Did you mean main?"),
        (["-o", "out.svg", "--select", "los"], "Did you mean loss?"),
        (["-o", "out.svg", "--all-pages", "--select", "loss"], "--all-pages"),
        (["-o", "out.svg", "--width", "0"], "--width"),
        ([], "--output"),
    ],
)
def test_bad_usage_is_explained(gradwire, seed, options, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = gradwire("picture", seed, *options)
    assert done.code == 2
    assert said in done.err
    assert not list(tmp_path.glob("out*"))


def test_a_folder_that_is_missing_is_named(gradwire, seed, tmp_path):
    done = gradwire("picture", seed, "-o", tmp_path / "no" / "out.svg")
    assert done.code == 3
    assert "was not written" in done.err


def test_without_pyside_the_message_says_what_to_install(gradwire, seed, tmp_path, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    done = gradwire("picture", seed, "-o", tmp_path / "out.svg")
    assert done.code == 3
    assert 'pip install "gradwire[app]"' in done.err


def test_without_a_system_library_the_message_names_it(gradwire, seed, tmp_path, monkeypatch):
    real = importlib.import_module

    def without(name, package=None):
        if name == "gradwire.app.pictures.headless":
            raise ImportError("libEGL.so.1: cannot open shared object file")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    done = gradwire("picture", seed, "-o", tmp_path / "out.svg")
    assert done.code == 3
    assert "system library that Qt needs is missing: libEGL.so.1" in done.err


@pytest.mark.night
def test_no_screen_is_needed(seed, tmp_path):
    """In a process of its own, in which Qt would look for a display."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "QT_QPA_PLATFORM")}
    path = tmp_path / "out.png"
    command = [sys.executable, "-m", "gradwire.runtime.cli", "picture", str(seed), "-o", str(path)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{path}\n"), done.stderr
    assert path.exists()
