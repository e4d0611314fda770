"""The block that is suggested for a data file runs, and has the path and ports one expects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files import csv_file
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.files.suggesting import kind_of, suggested
from gradwire.runtime.data.opening import open_rows


def test_the_target_of_a_table_is_found_by_name_or_is_the_last(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("label,a,b\n1,2,3\n0,5,6.5\n")
    columns = suggested(file, tmp_path).columns
    assert columns["x"].of == ("a", "b") and columns["y"].of == ("label",)
    assert columns["y"].dtype == "int64"
    file.write_text("a,b,height\n1,2,3.5\n0,5,6.5\n")
    columns = suggested(file, tmp_path).columns
    assert columns["y"].of == ("height",) and columns["y"].dtype == "float32"
    file.write_text("a;town;b\n1;Ulm;3\n0;Rom;6\n")
    columns = suggested(file, tmp_path).columns
    assert columns["town"].labels == ("Rom", "Ulm")
    rows = open_rows(suggested(file, tmp_path), tmp_path)
    assert rows.batch("town", 0, "training").tolist() == [1, 0]


def test_one_column_is_x(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    assert suggested(tmp_path / "a.csv", tmp_path).columns["x"].of == ("0",)


def test_arrays_of_equal_length_are_ports(tmp_path: Path) -> None:
    arrays = {"train/x": np.zeros((4, 2)), "train.y": np.zeros(4, int), "test": np.zeros(3)}
    save_file(arrays, tmp_path / "a.safetensors")
    np.savez(tmp_path / "a.npz", **{"a": np.ones(2, bool), "b": np.zeros((2, 3, 3))})
    np.save(tmp_path / "a.npy", np.zeros((5, 2)))
    for name in ("a.npz", "a.npy", "a.safetensors"):
        block = suggested(tmp_path / name, tmp_path)
        rows = open_rows(block, tmp_path)
        for port in block.output_names():
            assert rows.batch(port, 0, "training").dtype == rows.dtype(port)
    assert set(suggested(tmp_path / "a.npz", tmp_path).output_names()) == {"a", "b"}


def test_paths_are_relative_to_the_folder_if_the_file_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    inside, outside = tmp_path / "in" / "deep" / "a.csv", tmp_path / "a.csv"
    for file in (inside, outside):
        file.write_text("x,y\n1,2\n")
    assert suggested(inside, tmp_path / "in").path == "deep/a.csv"
    block = suggested(outside, tmp_path / "in")
    assert block.path == str(outside.resolve())
    allow_data(outside)
    assert open_rows(block, tmp_path / "in").count == 1


def test_other_files_are_refused(tmp_path: Path) -> None:
    assert kind_of(Path("a.TSV")) == "csv" and kind_of(Path("a.json")) is None
    for name, content in {"a.txt": b"1", "a.csv": b"", "a.npy": b"x", "a.npz": b"PK"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError):
            suggested(tmp_path / name, tmp_path)
    with pytest.raises(FileError):
        suggested(tmp_path / "missing.csv", tmp_path)


def test_columns_whose_names_begin_alike_get_names_that_ports_may_have(tmp_path: Path) -> None:
    long = "x" * 40
    save_file(
        {f"{long}{i}": np.zeros(2, np.float32) for i in range(2000)}, tmp_path / "a.safetensors"
    )
    columns = suggested(tmp_path / "a.safetensors", tmp_path).columns
    assert len(columns) == 2000 and {long, f"{long}_2", f"{long}_2000"} <= set(columns)
    table = tmp_path / "a.csv"
    table.write_text(",".join(f"{long}{i}" for i in range(2000)) + "\n" + ",".join("a" * 2000))
    assert len(suggested(table, tmp_path).columns) == 2000


def test_of_long_rows_few_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MAX_CHUNK", 10)
    (tmp_path / "a.csv").write_text("a,town\n1,Ulm\n1,Rom\n1,Ulm\n1,Bonn\n")
    assert suggested(tmp_path / "a.csv", tmp_path).columns["y"].labels == ("Rom", "Ulm")
    with csv_file.reading(tmp_path / "a.csv") as reader:
        assert [len(chunk) for chunk in reader.chunks()] == [2, 2]
