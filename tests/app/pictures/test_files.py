"""The contents of picture files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from gradwire.app.pictures.files import KINDS, contents, targets, write


def test_several_pages_are_a_file_each_but_in_a_pdf():
    path = Path("out/model.svg")
    assert targets(path, ["main"]) == [path]
    assert targets(path, ["main", "a b"]) == [Path("out/model-main.svg"), Path("out/model-a b.svg")]
    assert targets(Path("m.pdf"), ["main", "a"]) == [Path("m.pdf")]
    assert targets(Path("m.png"), ["a*", "a?"]) == [Path("m-a_.png"), Path("m-a__.png")]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("ending", KINDS)
def test_each_kind_is_made(picture, ending):
    path = Path(f"x{ending}")
    ((file, content),) = contents(path, [picture()], "title").items()
    assert file == path
    heads = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF", ".tex": b"% A picture"}
    assert content.startswith(heads[ending])


def test_a_pdf_has_a_sheet_for_each_picture_of_its_size(picture):
    pictures = [picture(width=10.0), picture(width=20.0)]
    (content,) = contents(Path("x.pdf"), pictures, "").values()
    boxes = re.findall(rb"/MediaBox *\[0 0 ([\d.]+) ([\d.]+)\]", content)
    widths = [float(width) / 72.0 * 2.54 for width, _ in boxes]
    assert widths == [pytest.approx(10.0, abs=0.05), pytest.approx(20.0, abs=0.05)]


def test_a_png_knows_its_size_on_paper(picture):
    (content,) = contents(Path("x.png"), [picture(width=10.0)], "").values()
    image = QImage.fromData(content)
    assert image.width() == pytest.approx(10.0 / 2.54 * 300.0, abs=2)
    assert image.width() / image.dotsPerMeterX() * 100.0 == pytest.approx(10.0, abs=0.05)


def test_painting_can_be_cancelled(picture):
    def pulse(share):
        raise InterruptedError

    for ending in KINDS:
        with pytest.raises(InterruptedError):
            contents(Path(f"x{ending}"), [picture()], "", pulse)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    assert write(tmp_path / "a.svg", b"abc") == ""
    assert (tmp_path / "a.svg").read_bytes() == b"abc"
    assert write(tmp_path / "no" / "a.svg", b"abc")
