"""TikZ that LaTeX reads, whatever a file says."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from gradwire.app.pictures.page_picture import PagePicture
from gradwire.app.pictures.tikz import CHARACTERS, tex, tikz
from gradwire.runtime.diagram import Note
from tests.app.canvas.pages import diagram

DOCUMENT = r"\documentclass{article}\usepackage{tikz}\begin{document}\input{picture}\end{document}"


def test_text_is_escaped():
    assert tex("a_b 50% #1 {x} $ & ~ ^ \\") == (
        r"a\_b\ 50\%\ \#1\ \{x\}\ \$\ \&\ \textasciitilde{}\ \textasciicircum{}\ \textbackslash{}"
    )
    assert tex("∇ 10⁻³") == r"$\nabla$\ 10$^{-}$$^{3}$"
    assert tex("--?`") == "-{}-{}?{}`{}"  # no dash, no inverted question mark
    assert tex("日本") is None


def test_no_character_can_end_an_argument_or_begin_a_command():
    for character, written in CHARACTERS.items():
        plain = re.sub(r"\\[\\#$%&_{} ]", "", written)
        assert plain.count("{") == plain.count("}"), character
        assert plain.count("$") % 2 == 0, character
        assert not set("%#&~") & set(plain), character
        assert written.isascii()


def test_every_line_is_a_path_or_a_label(picture):
    lines = tikz(picture()).splitlines()
    assert lines[0].startswith("%")
    assert lines[1].startswith("\\begin{tikzpicture}[x=0.026458cm,y=-0.026458cm]")
    assert lines[-1] == "\\end{tikzpicture}%"
    known = ("\\path[", "\\gradwirelabel{", "\\definecolor{")
    assert all(line.startswith(known) for line in lines[5:-1])
    assert all(line.isascii() for line in lines)
    named = set(re.findall(r"(?:fill|draw)=(gw\d+)", "\n".join(lines)))
    assert named <= set(re.findall(r"\\definecolor\{(gw\d+)\}", "\n".join(lines)))


def test_a_label_that_tex_lacks_is_drawn(qapp):
    """Letters by name, others as shapes."""
    texts = [
        tikz(PagePicture(diagram({}, notes={"n": Note(words)}), "main", None))
        for words in ("letters", "日本")
    ]
    assert [text.count("\n\\gradwirelabel") for text in texts] == [1, 0]
    assert texts[1].count("\\path") == texts[0].count("\\path") + 1


def test_a_name_is_not_markup(picture):
    text = tikz(picture())
    assert r"{a$<$\&''\textbackslash{}x\_\{\}\%\$\#}" in text.replace("\\bfseries ", "")


def test_a_width_on_paper_scales_letters_too(picture):
    small, large = tikz(picture(width=8.0)), tikz(picture(width=16.0))
    heights = [
        [
            float(found)
            for found in re.findall(r"\\gradwirelabel(?:\{[^{}]*\}){3}\{([\d.]+)\}", text)
        ]
        for text in (small, large)
    ]
    assert heights[0]
    for one, other in zip(*heights, strict=True):
        assert other == pytest.approx(2.0 * one, abs=2e-3)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex and TikZ")
def test_latex_takes_it(picture, tmp_path):
    (tmp_path / "picture.tex").write_text(tikz(picture(width=12.0)))
    (tmp_path / "paper.tex").write_text(DOCUMENT)
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").exists()
