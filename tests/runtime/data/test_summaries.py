"""What the columns of a data set have, over all rows."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import FileError
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data import columns, summaries
from gradwire.runtime.data.files import npy
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.data.progress import listening
from gradwire.runtime.data.summaries import ColumnSummary, summarised


def rows_of(path, **ports):
    allow_data(path)
    return open_rows(Dataset(source=path.suffix[1:], path=str(path), columns=ports))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(summaries, "CHUNK", 7)
    monkeypatch.setattr(columns, "CHUNK", 7)
    monkeypatch.setattr(npy, "PIECE", 64)


def test_numbers_of_all_rows_without_what_is_missing(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(100, 2))
    numbers[3, 1] = numbers[50, 0] = np.nan
    np.savez(tmp_path / "a.npz", x=numbers, y=np.arange(100, dtype=np.int16))
    rows = rows_of(tmp_path / "a.npz", x={}, y={})
    x, y = summarised(rows)
    assert (x.name, x.dtype, x.row_shape, x.missing) == ("x", "float64", (2,), 2)
    assert (x.least, x.largest) == (np.nanmin(numbers), np.nanmax(numbers))
    assert x.mean == pytest.approx(np.nanmean(numbers), rel=1e-12)
    assert y == ColumnSummary("y", "int16", (), 0, 0.0, 99.0, 49.5)


def test_texts_have_no_numbers_and_empty_ones_are_missing(tmp_path):
    (tmp_path / "a.csv").write_text("a,kind\n1,red\n2,\n3,blue\n")
    rows = rows_of(tmp_path / "a.csv", a={}, kind={"labels": ["red", "blue", "none"]})
    assert summarised(rows) == (
        ColumnSummary("a", "float64", (), 0, 1.0, 3.0, 2.0),
        ColumnSummary("kind", "text", (), 1),
    )


def test_where_all_is_missing_there_are_no_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.full((9, 1), np.nan))
    (found,) = summarised(rows_of(tmp_path / "a.npy", x={}))
    assert found == ColumnSummary("x", "float64", (1,), 9)


def test_it_ends_when_nobody_waits(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(50))
    asked = []

    def superseded():
        asked.append(True)
        return len(asked) > 2

    assert summarised(rows_of(tmp_path / "a.npy", x={}), superseded) is None
    assert len(asked) == 3


def written(path, array):
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez_compressed(path, x=array)
    else:
        from safetensors.numpy import save_file

        save_file({"x": array}, path)
    return path


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.safetensors"])
def test_reading_an_array_is_told_and_can_be_cancelled(tmp_path, name):
    array = np.arange(100.0)
    path = written(tmp_path / name, array)
    heard = []
    with listening(lambda *about: heard.append(about)):
        rows = rows_of(path, x={"dtype": "float64"})
    assert {name for name, _ in heard} == {path.name}
    fractions = [fraction for _, fraction in heard]
    assert len(fractions) > 5
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert rows.table.take("x", slice(0, 100)).tolist() == array.tolist()
    assert not rows.table.take("x", slice(0, 100)).flags.writeable

    def refuse(name, fraction):
        if fraction > 0.4:
            raise FileError("No more of it.", path=name)

    other = written(tmp_path / f"b{path.suffix}", array + 1.0)
    with listening(refuse), pytest.raises(FileError, match="No more of it"):
        rows_of(other, x={"dtype": "float64"})


def test_preparing_rows_of_a_mapped_file_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(npy, "MAPPED", 1)
    path = written(tmp_path / "a.npy", np.arange(100.0))
    rows = rows_of(path, x={"standardise": True})
    assert isinstance(rows.table.arrays["x"], np.memmap)
    heard = []
    with listening(lambda name, fraction: heard.append(fraction)):
        found = rows.batch("x", 0, "training")
    assert heard.count(1.0) == 2  # measured, then kept
    assert len(heard) > 10
    assert found.std() == pytest.approx(1.0)
