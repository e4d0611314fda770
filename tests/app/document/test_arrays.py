"""Arrays to and from files, by rule, and in part."""

import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

from gradwire.app.document import arrays
from gradwire.blocks.errors import FileError

SMALL = hnp.arrays(
    np.float32, hnp.array_shapes(max_dims=2, max_side=5), elements=st.floats(width=32)
)


@given(array=SMALL, ending=st.sampled_from([".npy", ".csv", ".tsv"]))
def test_what_is_written_is_read_again(tmp_path_factory, array, ending):
    path = tmp_path_factory.mktemp("a") / f"x{ending}"
    arrays.write(path, array)
    (read,) = arrays.read(path).values()
    np.testing.assert_array_equal(read.astype(np.float32).reshape(array.shape), array)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_files_of_several_arrays_name_them(tmp_path):
    held = {"w": np.ones((2, 3)), "b": np.zeros(3)}
    np.savez(tmp_path / "a.npz", **held)
    save_file(held, tmp_path / "a.safetensors")
    for name in ("a.npz", "a.safetensors"):
        read = arrays.read(tmp_path / name)
        assert {key: value.shape for key, value in read.items()} == {"w": (2, 3), "b": (3,)}


def test_a_head_and_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("height\n1.5\n2.5\n")
    np.testing.assert_array_equal(arrays.read(tmp_path / "a.csv")["a"], [1.5, 2.5])
    (tmp_path / "b.txt").write_text("1 2\n3 4\n")
    np.testing.assert_array_equal(arrays.read(tmp_path / "b.txt")["b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.npy", b"junk"), ("a.npz", b"junk"), ("a.safetensors", b"junk"), ("a.csv", b"1,2\n3\n"),
     ("a.png", b""), ("a.csv", b"")],
)  # fmt: skip
def test_what_is_no_array_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match="array") as caught:
        arrays.read(tmp_path / name)
    assert name in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors", "csv", "tsv", "txt"])
def test_a_pipe_is_not_waited_for(tmp_path, ending):
    os.mkfifo(tmp_path / f"a.{ending}")
    with pytest.raises(FileError, match="got a pipe"):
        arrays.read(tmp_path / f"a.{ending}")


def test_arrays_are_too_large_together_before_one_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1000), b=np.zeros(1000))
    monkeypatch.setattr(arrays, "machine_bytes", lambda: 2 * 16_000)
    with pytest.raises(FileError, match=r"too large together.*16,000"):
        arrays.read(tmp_path / "a.npz")
    monkeypatch.setattr(arrays, "machine_bytes", lambda: 2 * 17_000)
    assert set(arrays.read(tmp_path / "a.npz")) == {"a", "b"}


def test_an_array_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.zeros(1000))
    monkeypatch.setattr(arrays, "machine_bytes", lambda: 2 * 8000)
    with pytest.raises(FileError, match="too large together"):
        arrays.read(tmp_path / "a.npy")


def test_an_npz_of_many_members_is_not_taken_apart(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", a=np.zeros(1), b=np.zeros(1))
    monkeypatch.setattr(arrays, "MAX_MEMBERS", 1)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_, **__: pytest.fail("each is an object"))
    with pytest.raises(FileError, match=r"too many members.*at most 1, got 2"):
        arrays.read(tmp_path / "a.npz")


@pytest.mark.parametrize("between", ["\n", ","])
def test_rows_take_little_memory_while_they_are_read(tmp_path, between):
    (tmp_path / "a.csv").write_text(between.join(["12"] * 100_000))
    tracemalloc.start()
    read = arrays.read(tmp_path / "a.csv")["a"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read.shape == (100_000,) and peak < 60 * 100_000


def test_no_code_is_run_by_reading(tmp_path):
    np.save(tmp_path / "a.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(FileError):
        arrays.read(tmp_path / "a.npy")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    arrays.write(path, np.ones(3))
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FileError, match="No space left"):
        arrays.write(path, np.zeros(3))
    assert [file.name for file in tmp_path.iterdir()] == ["a.npy"]
    assert path.read_bytes() == before
    with pytest.raises(FileError, match="3 axes"):
        arrays.write(tmp_path / "a.csv", np.zeros((1, 2, 3)))


@pytest.mark.parametrize(
    ("text", "shape"),
    [("2, 3", (2, 3)), ("(4,)", (4,)), ("2 × 3", (2, 3)), ("", ()), ("0 5", (0, 5))],
)
def test_shapes(text, shape):
    assert arrays.parse_shape(text) == shape


@pytest.mark.parametrize("text", ["two", "-1", "2.5", "99999, 99999, 99"])
def test_what_is_no_shape(text):
    with pytest.raises(ValueError, match=r"shape|elements"):
        arrays.parse_shape(text)


class TestMade:
    def test_each_rule(self):
        def of(kind, **numbers):
            return arrays.generate(kind, (2, 2), "float32", numbers)

        assert of("zeros").tolist() == [[0, 0], [0, 0]]
        assert of("constant", value=2.5).tolist() == [[2.5, 2.5], [2.5, 2.5]]
        assert of("identity").tolist() == [[1, 0], [0, 1]]
        assert of("linspace", first=0, last=3).tolist() == [[0, 1], [2, 3]]
        for kind in arrays.RULES:
            assert of(kind).dtype == np.float32
            assert of(kind).shape == (2, 2)

    def test_chance_is_what_the_seed_makes_it(self):
        one, same, other = (
            arrays.generate(
                "normal", (10_000,), "float64", {"mean": 5, "deviation": 2, "seed": seed}
            )
            for seed in (1, 1, 2)
        )
        assert (one == same).all()
        assert (one != other).any()
        assert one.mean() == pytest.approx(5, abs=0.1)
        assert one.std() == pytest.approx(2, abs=0.1)

    def test_what_can_not_be_made(self):
        for kind, shape, numbers in (
            ("identity", (3,), {}),
            ("normal", (3,), {"deviation": -1}),
            ("uniform", (3,), {"minimum": 2, "maximum": 1}),
        ):
            with pytest.raises(ValueError, match=r"\.$"):
                arrays.generate(kind, shape, "float32", numbers)


class TestParts:
    @given(data=st.data(), shape=hnp.array_shapes(max_dims=4, max_side=5))
    def test_it_means_what_numpy_means(self, data, shape):
        index = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
        parts = index if isinstance(index, tuple) else (index,)
        text = ", ".join(_written(part) for part in parts)
        array = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(array[arrays.parse_index(text, shape)], array[index])

    @pytest.mark.parametrize("text", ["5", "0, 0, 0", "a", "0:3:0", "..., ...", "0, -4", "1.5"])
    def test_what_is_no_part(self, text):
        with pytest.raises(ValueError, match=r"axis|axes|not a valid index|step"):
            arrays.parse_index(text, (2, 3))

    def test_the_array_itself_stays(self):
        before = np.zeros((2, 3))
        after = arrays.with_part(before, arrays.parse_index("0, 1:", (2, 3)), 7)
        assert after.tolist() == [[0, 7, 7], [0, 0, 0]]
        assert not before.any()


def _written(part):
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        bounds = ["" if n is None else str(n) for n in (part.start, part.stop)]
        return ":".join(bounds) + ("" if part.step is None else f":{part.step}")
    return str(int(part))
