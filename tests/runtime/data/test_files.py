"""Data files: what they give to ports, what is refused, and where the mistake is said to be."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import gradwire as gw
from gradwire.blocks.errors import FileError, GradwireError, RunError
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data import opening
from gradwire.runtime.data.files import access, archives, csv_file, npy
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.data.progress import listening

IRIS = """\
sepal,petal,species
5.1,1.4,setosa
7.0,4.7,versicolor
6.3,6.0,virginica
4.9,1.5,setosa
"""


def batch(folder: Path, name: str, port: str = "x", **columns: Any) -> np.ndarray[Any, Any]:
    """All rows of a port of a file, in order."""
    kind = name.rpartition(".")[2]
    block = Dataset(source=kind, path=name, columns=columns or {port: {}}, shuffle=False)
    return open_rows(block, folder).batch(port, 0, "training")


# ---- tables -----------------------------------------------------------------------------------


def test_columns_of_a_table_become_ports(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text(IRIS)
    columns = {
        "x": {"of": ["sepal", "petal"]},
        "y": {"of": "species", "labels": ["setosa", "versicolor", "virginica"], "one_hot": 3},
    }
    x, y = (batch(tmp_path, "iris.csv", port, **columns) for port in "xy")
    assert np.allclose(x, [[5.1, 1.4], [7.0, 4.7], [6.3, 6.0], [4.9, 1.5]])
    assert y.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x,y\n1,2\n3,4\n", [1, 3]),
        (b"\xef\xbb\xbfx;y\r\n1;2\r\n\r\n3;4\r\n", [1, 3]),
        ("x\ty\n1\t2\n-3e2\t4".encode("utf-16"), [1, -300]),
        (b'"x","y"\n"1","a,b"\n" 2 ","c\nd"\n', [1, 2]),
        (b"x\ntrue\nFalse\n", [1, 0]),
        (b"x\nnan\ninf\n", [np.nan, np.inf]),
    ],
)
def test_tables_are_read_as_they_come(tmp_path: Path, data: bytes, expected: Any) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    assert np.array_equal(batch(tmp_path, "a.csv"), np.float32(expected), equal_nan=True)


def test_a_table_without_names_numbers_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    assert batch(tmp_path, "a.csv", x={"of": "1"}).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "The table is empty"),
        (b"x,y\n", "The table has no rows"),
        (b"x,y\n1,2\n3\n", r"a.csv:3: The row has another number of fields. Expected 2, got 1"),
        (b"x,y\n1,2\n3,4,5\n", r"a.csv:3: .*Expected 2, got 3"),
        (b"x,y\n1,2\n\nfour,4\n", r"a.csv:4:1: Column 'x': this is no number.*got 'four'"),
        (b"y,x\n1,2\n3,\n", r"a.csv:3:2: Column 'x': a number is missing"),
        (b"y,x\n1,2\n3,1_0\n", r"a.csv:3:2: Column 'x': this is no number.*got '1_0'"),
        (b"y,x\n1,2\n3,0x1f\n", r"a.csv:3:2: Column 'x': this is no number"),
        (b"x,x\n1,2\n", r"a.csv:1: Two columns have one name"),
        (b"a,b\n1,2\n", "There is no column 'x'. Expected one of a, b"),
        (b"x\n1\n\xff\n", r"a.csv:3: The text is not in UTF-8"),
        (b"\xff\xfex\x00\n\x00\x00\xd8", "not in UTF-8"),
        (b'x\n"1', r"a.csv:2: The line can't be read"),
        (b'x\n"1"2\n', r"a.csv:2: The line can't be read"),
        (b"x\n" + b"1" * 200_000 + b"\n", r"a.csv:2: The line can't be read"),
        (b"x" + b",y" * 10_001 + b"\n", "too many columns"),
    ],
)
def test_mistakes_in_a_table_have_a_place(tmp_path: Path, data: bytes, expected: str) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(FileError, match=expected):
        batch(tmp_path, "a.csv")


def test_a_label_that_is_not_listed_has_a_place(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text(IRIS)
    with pytest.raises(RunError, match=r"iris.csv:4: column 'species'.*got 'virginica'"):
        batch(tmp_path, "iris.csv", x={"of": "species", "labels": ["setosa", "versicolor"]})
    with pytest.raises(FileError, match="as labels by one port and as numbers by another"):
        batch(tmp_path, "iris.csv", x={"of": "species", "labels": ["a"]}, y={"of": "species"})


def test_too_many_texts_are_no_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MAX_TEXTS", 3)
    (tmp_path / "a.csv").write_text("x\n" + "\n".join("abcd") + "\n")
    with pytest.raises(FileError, match=r"a.csv:5:1: Column 'x': there are too many different"):
        batch(tmp_path, "a.csv", x={"labels": ["a"]})


def test_a_large_table_lies_in_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "MAPPED", 1000)
    rows = np.arange(20_000).reshape(-1, 2)
    (tmp_path / "a.csv").write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in rows))
    block = Dataset(source="csv", path="a.csv", columns={"x": {"of": ["a", "b"]}}, shuffle=False)
    told: list[float] = []
    with listening(lambda name, done: told.append(done)):
        found = open_rows(block, tmp_path)
    assert isinstance(found.table.take("a", slice(0, 1)).base, np.memmap)
    assert np.array_equal(found.batch("x", 0, "training"), rows)
    assert told == sorted(told) and told[-1] == 1.0 and len(told) >= 3


def test_reading_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 10_000)

    def cancel(name: str, done: float) -> None:
        raise KeyboardInterrupt

    with listening(cancel), pytest.raises(KeyboardInterrupt):
        batch(tmp_path, "a.csv")
    assert len(batch(tmp_path, "a.csv")) == 10_000


# ---- arrays -----------------------------------------------------------------------------------


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("dtype", ["float64", ">f4", "int16", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_or_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, dtype: str, order: Any
) -> None:
    monkeypatch.setattr(npy, "MAPPED", 0 if kept else 2**30)
    array = np.arange(12).reshape(6, 2).astype(dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array, other=np.zeros(3))
    np.savez_compressed(tmp_path / "b.npz", x=array)
    names = ["a.npy", "a.npz", "b.npz"]
    if not dtype.startswith(">"):
        save_file({"x": np.ascontiguousarray(array)}, tmp_path / "a.safetensors")
        names.append("a.safetensors")
    for name in names:
        assert np.array_equal(batch(tmp_path, name), array.astype("float32")), name
        parts = {"x": {"of": ["x[1]", "x[0:1]"]}}
        assert np.array_equal(batch(tmp_path, name, **parts), array[:, ::-1].astype("float32"))


def test_an_array_that_python_2_wrote_is_read_without_a_warning(tmp_path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }".ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    (tmp_path / "a.npy").write_bytes(start + array.tobytes())
    assert np.array_equal(batch(tmp_path, "a.npy"), array)


def test_only_the_rows_of_a_batch_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradwire.runtime.data import columns

    monkeypatch.setattr(npy, "MAPPED", 0)
    monkeypatch.setattr(columns, "KEPT", 0)
    array = np.random.default_rng(1).normal(size=(1000, 3))
    np.save(tmp_path / "a.npy", array)
    block = Dataset(
        source="npy", path="a.npy", columns={"x": {"standardise": True}}, batch=10, validation=0.1
    )
    rows = open_rows(block, tmp_path)
    kept = standardised(rows)
    assert np.allclose(rows.batch("x", 3, "training"), kept[rows.rows(3, "training")], atol=1e-5)
    assert isinstance(rows.table.arrays["x"], np.memmap)


def standardised(rows: Any) -> np.ndarray[Any, Any]:
    """All rows, standardised by those for training."""
    array = np.asarray(rows.table.arrays["x"])
    trained = np.setdiff1d(np.arange(rows.count), rows.rows(0, "validation"))
    return (array - array[trained].mean(axis=0)) / array[trained].std(axis=0)


def header(text: str, body: bytes = b"") -> bytes:
    """An npy file with a header of our own."""
    raw = (text + "\n").encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw + body


HOSTILE = {
    "pickle": pickle.dumps([1, 2]),
    "objects": header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", b"12345678" * 2),
    "code": header("__import__('os').system('true')"),
    "huge": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, 4)}}"),
    "short": header("{'descr': '<f8', 'fortran_order': False, 'shape': (9,)}", b"1234"),
    "negative": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"1" * 8),
    "scalar": header("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", b"1" * 8),
    "empty": header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}"),
    "complex": header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", b"1" * 8),
    "texts": header("{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", b"1" * 8),
    "records": header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", b"1" * 8),
    "token": header("{'descr': '<f8', 'fortran_order': False, 'shape': (1L, (}"),
    "nothing": b"",
    "cut": b"\x93NUMPY\x01\x00\xff\xff{",
    "long": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "version": b"\x93NUMPY\x09\x00\x01\x00{",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.npy").write_bytes(HOSTILE[name])
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", HOSTILE[name])
    for file in ("a.npy", "a.npz"):
        with pytest.raises(FileError, match=r"a\.np[yz]"):
            batch(tmp_path, file)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(10**6))
    with pytest.raises(FileError, match=r"too large to be unpacked.*10,000.*8,000,128"):
        batch(tmp_path, "a.npz")
    one = io.BytesIO()
    np.save(one, np.zeros(3))
    monkeypatch.setattr(archives, "MAX_UNPACKED", 2 * 10**7)
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", one.getvalue() + bytes(10**7))
    with pytest.raises(FileError, match="longer than its array"):
        batch(tmp_path, "b.npz")


def test_arrays_that_are_too_large_together_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    monkeypatch.setattr(archives, "_unpacked", lambda *given: pytest.fail("one was read"))
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(1000), y=np.zeros(1000), z=np.zeros(1000))
    with pytest.raises(FileError, match=r"too large to be unpacked.*got 16,256"):
        batch(tmp_path, "a.npz", x={"of": "x"}, y={"of": "y"})


def test_members_that_share_their_bytes_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(1000), y=np.zeros(1000))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        first, second = archive.infolist()
    data = bytearray((tmp_path / "a.npz").read_bytes())
    del data[second.header_offset : archive.start_dir]
    size = second.header_offset
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = first.header_offset.to_bytes(4, "little")
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = size.to_bytes(4, "little")
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FileError, match="damaged"):
        batch(tmp_path, "a.npz", x={"of": "x"}, y={"of": "y"})


@pytest.mark.parametrize(
    ("start", "more"), [(b"x\n", b"1" * 8), (b"x", b"xxxxxxx,"), (b'x\n"', b'123\n","1')]
)
def test_a_row_without_an_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes, more: bytes
) -> None:
    monkeypatch.setattr(csv_file, "MAX_ROW", 10_000)
    (tmp_path / "a.csv").write_bytes(start + more * 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=r":\d+: The row is too long"):
            batch(tmp_path, "a.csv")
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.night
def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(50.0), y=np.arange(3.0))
    whole = (tmp_path / "a.npz").read_bytes()
    draw = np.random.default_rng(5)
    for _ in range(150):
        broken = bytearray(whole[: int(draw.integers(1, len(whole) + 1))])
        for _ in range(int(draw.integers(0, 6))):
            broken[int(draw.integers(len(broken)))] = int(draw.integers(256))
        (tmp_path / "b.npz").write_bytes(broken)
        try:
            batch(tmp_path, "b.npz")
        except GradwireError:
            pass


def test_wrong_safetensors_are_refused(tmp_path: Path) -> None:
    def file(entry: Any, body: bytes = b"12345678") -> bytes:
        text = json.dumps({"x": entry}).encode()
        return struct.pack("<Q", len(text)) + text + body

    cases = [
        b"",
        struct.pack("<Q", 2**63) + b"{}",
        file({"dtype": "F64", "shape": [1], "data_offsets": [0, 800]}),
        file({"dtype": "F64", "shape": [2**40], "data_offsets": [0, 8]}),
        file({"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}),
        file({"dtype": "F64", "shape": [], "data_offsets": [0, 8]}),
        file([1]),
    ]
    for data in cases:
        (tmp_path / "a.safetensors").write_bytes(data)
        with pytest.raises(FileError, match=r"a\.safetensors"):
            batch(tmp_path, "a.safetensors")


def test_arrays_of_different_lengths_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3), y=np.zeros(4))
    with pytest.raises(FileError, match=r"different numbers of rows\. Got x 3, y 4"):
        batch(tmp_path, "a.npz", x={}, y={})
    with pytest.raises(FileError, match="no array 'z'"):
        batch(tmp_path, "a.npz", "z")
    with pytest.raises(FileError, match=r"no part 'x\[7\]'"):
        batch(tmp_path, "a.npz", x={"of": "x[7]"})


# ---- where files may lie ----------------------------------------------------------------------


def test_only_files_in_the_folder_are_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    (inside / "data").mkdir(parents=True)
    for file in (tmp_path / "a.csv", inside / "a.csv", inside / "data" / "a.csv"):
        file.write_text("x\n1\n")
    (inside / "link.csv").symlink_to(tmp_path / "a.csv")
    (inside / "own.csv").symlink_to(inside / "a.csv")
    for name in ("a.csv", "data/a.csv", "data/../a.csv", "own.csv", str(inside / "a.csv")):
        assert batch(inside, name).tolist() == [1]
    for name in ("../a.csv", "data/../../a.csv", "link.csv", str(tmp_path / "a.csv")):
        with pytest.raises(FileError, match="outside of the diagram's folder"):
            batch(inside, name)
    for name in ("missing.csv", "data", "a\x00"):
        with pytest.raises(GradwireError):
            batch(inside, name)
    with pytest.raises(FileError, match="no folder yet"):
        open_rows(Dataset(source="csv", path="a.csv", columns={"x": {}}))
    with pytest.raises(FileError, match="No data file is chosen"):
        open_rows(Dataset(source="csv", columns={"x": {}}), inside)


def test_a_chosen_file_is_read_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_allowed", set())
    inside, outside = tmp_path / "inside", tmp_path / "a.csv"
    inside.mkdir()
    outside.write_text("x\n7\n")
    gw.allow_data(outside)
    assert batch(inside, "../a.csv").tolist() == [7]
    other = tmp_path / "b.csv"
    other.write_text("x\n8\n")
    outside.unlink()
    outside.symlink_to(other)  # what was chosen is the file, not its name
    with pytest.raises(FileError, match="outside"):
        batch(inside, "../a.csv")


def test_all_of_a_chosen_folder_is_read_but_not_what_links_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_allowed", set())
    inside, folder = tmp_path / "inside", tmp_path / "data"
    inside.mkdir()
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.csv").write_text("x\n7\n")
    (tmp_path / "secret.csv").write_text("x\n8\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "data2.csv").write_text("x\n9\n")
    gw.allow_data(folder)
    assert batch(inside, "../data/deep/a.csv").tolist() == [7]
    for name in ("../data/link.csv", "../secret.csv", "../data/../secret.csv", "../data2.csv"):
        with pytest.raises(FileError, match="outside"):
            batch(inside, name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(FileError, match="a pipe"):
        batch(tmp_path, "a.csv")


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert batch(tmp_path, "a.csv").tolist() == [1]
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    assert batch(tmp_path, "a.csv").tolist() == [1, 2]


def test_a_table_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradwire.runtime.data.files import opening as files

    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    count = []
    table = files.CsvTable
    monkeypatch.setattr(files, "CsvTable", lambda *a: count.append(1) or table(*a))
    first = Dataset(source="csv", path="a.csv", columns={"x": {}})
    kept = open_rows(first, tmp_path)
    assert open_rows(first, tmp_path) is kept
    open_rows(first.with_parameters(batch=1, seed=3), tmp_path)
    assert len(count) == 1


# ---- diagrams ---------------------------------------------------------------------------------


def test_a_diagram_opens_without_its_data_file_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "d.npz", x=np.ones((6, 2)), y=np.zeros(6))
    x, y = gw.dataset(name="d", source="npz", path="d.npz", columns={"x": {}, "y": {}}, batch=2)
    diagram = gw.build(gw.loss(gw.mean(gw.linear(x, gw.own(), units=1)[:, 0] - y)))
    assert gw.Session(diagram).run().values["d.x"].tolist() == [[1, 1]] * 2
    gw.save(diagram, tmp_path / "a.gradwire.json")
    (tmp_path / "d.npz").rename(tmp_path / "e.npz")
    opened = gw.load(tmp_path / "a.gradwire.json")
    assert opened == diagram and gw.dumps(opened) == gw.dumps(diagram)
    session = gw.Session(opened, partial=True)
    problem = session.diagnostics[0]
    assert problem.location.block == "d" and "d.npz" in str(problem)
    (tmp_path / "e.npz").rename(tmp_path / "d.npz")
    assert not gw.Session(opened).diagnostics
    moved = gw.Session(replace(opened, folder=tmp_path / "elsewhere"), partial=True)
    assert "missing" in str(moved.diagnostics[0])


def test_nothing_is_read_while_a_diagram_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"gradwire": 3, "pages": {"main": {"blocks": {"d": {"type": "Dataset", "source": '
    text += '"csv", "path": "/dev/zero", "columns": {"x": {}}}}, "wires": {}}}}'
    (tmp_path / "a.gradwire.json").write_text(text)
    monkeypatch.setattr(opening, "open_rows", lambda *_: pytest.fail("it was read"))
    assert gw.load(tmp_path / "a.gradwire.json").main.blocks["d"].output_names() == ("x",)
