"""The directory of a zip is looked at before zipfile makes an object of each of its entries."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.archives import npz_headers
from gradwire.runtime.data.files.zips import directory, open_zip
from gradwire.runtime.interchange.importing.formats import is_model


def zipped(names: list[str], comment: bytes = b"", before: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
        archive.comment = comment
    return before + file.getvalue()


def crowded(count: int) -> bytes:
    """A zip of no files, whose directory has so many entries."""
    fields = (b"PK\x01\x02", 20, 0, 20, 0, 0, 0, 0, 0x21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    entry = struct.pack("<4s4B4HL2L5H2L", *fields) + b"a"
    head, entries = b"PK\x03\x04" + b"\0" * 26, entry * count
    end = len(head) + len(entries)
    return (
        head + entries
        + struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(entries), 30)
        + struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
        + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        zipped(["a/models/model.json", "b"]),
        zipped(["a/models/model.json"], comment=b"a comment " * 900),
        zipped(["a/models/model.json"], before=b"#!/bin/sh\n" * 99),
    ],
    ids=["plain", "comment", "something before"],
)
def test_the_directory_is_found(data: bytes) -> None:
    found = directory(io.BytesIO(data))
    assert b"a/models/model.json" in found and found.startswith(b"PK\x01\x02")


def test_the_directory_of_a_large_zip_is_found() -> None:
    assert directory(io.BytesIO(crowded(70_000))).count(b"PK\x01\x02") == 70_000


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04", zipped(["a"])[:-9], b"PK\x05\x06" * 3],
    ids=["empty", "a head alone", "cut off", "ends alone"],
)
def test_what_is_no_zip_has_none(data: bytes) -> None:
    with pytest.raises(zipfile.BadZipFile):
        directory(io.BytesIO(data))


def test_a_crowded_directory_is_refused_before_it_is_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("each entry becomes an object"))
    for name in ("model.keras", "model.pt2", "numbers.npz"):
        (tmp_path / name).write_bytes(crowded(100_000))
        assert not is_model(tmp_path / name)
    with (
        (tmp_path / name).open("rb") as file,
        pytest.raises(FileError, match=r"too many members.*10,000, got 100,000"),
    ):
        npz_headers(file, tmp_path / name)
    with pytest.raises(zipfile.BadZipFile, match="its directory is larger"):
        open_zip(io.BytesIO(crowded(800_000)), tmp_path, 9)


def test_a_second_directory_that_another_reader_would_take_is_refused() -> None:
    data = crowded(70_000)
    at = data.rindex(b"PK\x06\x06")
    small = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 0, 0, 0, 30)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 30, 1)
    both = data[:30] + small + data[30 : at + 56] + locator + data[at + 56 + len(locator) :]
    with pytest.raises(zipfile.BadZipFile, match="two directories"):
        open_zip(io.BytesIO(both), Path("a.npz"), 9)
