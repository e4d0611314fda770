"""``gradwire publish``: a page, or a picture with the reason."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import pytest

import gradwire as gw
from gradwire.runtime.diagram import load
from gradwire.runtime.publish.living.publishing import publish
from tests.examples.gallery import path


def test_the_page_of_an_example(gradwire, tmp_path):
    out = tmp_path / "lesson.html"
    done = gradwire("publish", path("fan_out"), "-o", out)
    assert (done.code, done.out, done.err) == (0, f"{out}\n", "")
    assert out.read_text(encoding="utf-8") == publish(load(path("fan_out")))


def test_what_a_browser_cannot_compute_is_a_picture_with_the_reason(gradwire, tmp_path):
    file, out = tmp_path / "half.gradwire.json", tmp_path / "half.html"
    text = path("fan_out").read_text(encoding="utf-8").replace("float64", "float16")
    file.write_text(text, encoding="utf-8")
    done = gradwire("publish", file, "-o", out)
    assert done.code == 0 and "warning: The page is a picture" in done.err
    html = out.read_text(encoding="utf-8")
    assert "computes in float16" in html and "<svg" in html and "<script" not in html


def test_what_a_page_of_a_captured_program_includes_is_said(gradwire, tmp_path):
    file, out = tmp_path / "model.gradwire.json", tmp_path / "model.html"
    made = gw.build(gw.loss(gw.sum(gw.input("x", [1.0]) * gw.variable("w", [2.0]))))
    written = {"written": "model.py:3: y = w * x"}
    blocks = {name: block.model_copy(update=written) for name, block in made.main.blocks.items()}
    gw.save(replace(made, pages={"main": replace(made.main, blocks=blocks)}), file)
    done = gradwire("publish", file, "-o", out)
    assert done.err == "It includes the numbers of x, and 1 line of source.\n"


def test_a_diagram_with_errors_is_a_picture_and_the_exit_code_says_so(gradwire, tmp_path):
    file, out = tmp_path / "broken.gradwire.json", tmp_path / "broken.html"
    text = path("fan_out").read_text(encoding="utf-8").replace('"Mul"', '"MatMul"')
    file.write_text(text, encoding="utf-8")
    done = gradwire("publish", file, "-o", out)
    assert done.code == 1 and "error" in done.err
    assert "This page is a picture" in out.read_text(encoding="utf-8")


def test_another_ending_is_bad_usage(gradwire, seed, tmp_path):
    done = gradwire("publish", seed, "-o", tmp_path / "lesson.pdf")
    assert done.code == 2 and "expected  .html" in done.err


@pytest.mark.night
def test_a_page_for_a_seed_or_for_a_class(gradwire, tmp_path):
    lesson, out, names = path("fan_out"), tmp_path / "lesson.html", tmp_path / "names.txt"
    lesson = lesson.parents[1] / "lessons" / "02_fan_out_adds.gradwire.json"
    names.write_text("Ada\n\n  Émilie \n", encoding="utf-8")
    assert gradwire("publish", lesson, "-o", out, "--seed", "7").code == 0
    assert out.read_text(encoding="utf-8") == publish(load(lesson), seed=7)
    assert gradwire("publish", lesson, "-o", out, "--names", names).code == 0
    assert out.read_text(encoding="utf-8") == publish(load(lesson), learners=["Ada", "Émilie"])


def test_a_seed_needs_a_lesson_and_names_need_lines(gradwire, tmp_path):
    out, names = tmp_path / "lesson.html", tmp_path / "names.txt"
    done = gradwire("publish", path("fan_out"), "-o", out, "--seed", "7")
    assert done.code == 3 and "don't vary by a seed" in done.err and not out.exists()
    for text, complaint in (("\n", "has no names"), ("Ada\nAda", "in the list twice")):
        names.write_text(text, encoding="utf-8")
        lesson = path("fan_out").parents[1] / "lessons" / "02_fan_out_adds.gradwire.json"
        done = gradwire("publish", lesson, "-o", out, "--names", names)
        assert done.code in (2, 3) and complaint in done.err and not out.exists()
    done = gradwire("publish", path("fan_out"), "-o", out, "--names", tmp_path / "none.txt")
    assert done.code == 2 and "can't be read" in done.err


def test_a_page_that_cannot_be_written_leaves_the_old_one_as_it_was(
    gradwire, tmp_path, monkeypatch
):
    out = tmp_path / "lesson.html"
    out.write_text("an older page", encoding="utf-8")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = gradwire("publish", path("fan_out"), "-o", out)
    assert done.code == 2 and "No space left on device" in done.err and str(out) in done.err
    assert out.read_text(encoding="utf-8") == "an older page"
    assert [file.name for file in tmp_path.iterdir()] == ["lesson.html"]
