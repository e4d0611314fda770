from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.names import is_name
from gradwire.blocks.paths import parse_path, path_text
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortName, PortPath, WirePath

names = st.text("abzW_ 0-é", min_size=1, max_size=4).filter(is_name)
ports = st.one_of(names, st.builds("{}.{}".format, names, st.integers(0, 12)))
leaves = st.lists(st.text("ab./:%*, \n", max_size=3), max_size=3).map(tuple)
kinds = pytest.mark.parametrize("kind", [PortPath, WirePath])


@given(st.lists(names))
def test_an_instance_path_is_made_of_its_names(parts: list[str]) -> None:
    path = InstancePath.of(*parts)
    assert InstancePath.parse(str(path)) == path
    assert list(path.names) == parts
    assert type(path.use) is InstancePath
    if parts:
        assert path == path.use / path.name == InstancePath.of(*parts[:-1]) / parts[-1]


@kinds
@given(st.lists(names, min_size=1), ports, leaves)
def test_a_path_of_a_port_is_made_of_block_port_and_leaf(
    kind: type[PortPath | WirePath], parts: list[str], port: str, leaf: tuple[str, ...]
) -> None:
    block = InstancePath.of(*parts)
    whole = block.port(port) if kind is PortPath else block.wire(port)
    path = whole.leaf_at(leaf) if leaf else whole
    assert kind.parse(str(path)) == path
    assert type(path) is type(path.whole) is kind
    assert (path.block, path.port, path.whole) == (block, port, whole)
    assert parse_path(path.leaf) == leaf and path.leaf == path_text(leaf)
    assert path.name == PortName(parts[-1], port)
    assert whole.with_leaf(path.leaf) == path
    assert PortPath(path) == WirePath(path) == path


@given(st.lists(st.one_of(names, st.builds("{}.out".format, names))))
def test_paths_are_their_text(texts: list[str]) -> None:
    paths = [PortPath(text) for text in texts]
    assert paths == texts and sorted(paths) == sorted(texts)
    assert {path: i for i, path in enumerate(paths)} == {text: i for i, text in enumerate(texts)}
    assert [hash(path) for path in paths] == [hash(text) for text in texts]
    assert json.loads(json.dumps(paths)) == texts
    for path in paths:
        assert repr(path) == repr(str(path))
        for twin in (copy.deepcopy(path), pickle.loads(pickle.dumps(path))):
            assert twin == path and type(twin) is PortPath


@given(st.lists(names, min_size=1), st.lists(names, min_size=1), ports)
def test_a_path_below_a_use_is_seen_from_there(
    above: list[str], below: list[str], port: str
) -> None:
    use, seen = InstancePath.of(*above), InstancePath.of(*below)
    inside = InstancePath.of(*above, *below)
    for path, rest in ((inside, seen), (inside.wire(port), seen.wire(port))):
        assert path.is_inside(use) and path.is_inside(ROOT)
        assert path.relative_to(use) == rest and type(path.relative_to(use)) is type(path)
        assert path.relative_to(ROOT) == path
        assert path.block_below(use) == below[0]
        assert path.block_below(ROOT) == above[0]
        assert not path.is_inside(InstancePath.unused("page"))
    assert use.port_inside(PortName("a", port)) == (use / "a").port(port)
    assert use.wire_inside(PortName("a", port)) == (use / "a").wire(port)


def test_a_use_is_not_inside_another_whose_name_it_begins_with() -> None:
    path, use = InstancePath("encoder/w"), InstancePath("enc")
    assert not path.is_inside(use)
    assert path.block_below(use) is None
    assert not use.is_inside(use)
    with pytest.raises(ValueError, match=r"'encoder/w' is not inside 'enc'"):
        path.relative_to(use)


def test_dots_and_slashes_of_leaves_belong_to_leaves() -> None:
    path = PortPath("enc/pack1.terms.2:a.b/c%3A")
    assert (path.block, path.port, path.leaf) == ("enc/pack1", "terms.2", "a.b/c%3A")
    assert path.block_below(ROOT) == "enc"
    assert path.short == path


@pytest.mark.parametrize("text", ["a.b", "a//b", "/a", "a/", "a:b", "/"])
def test_text_that_names_no_block_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the path of a block"):
        InstancePath.parse(text)


@kinds
@pytest.mark.parametrize("text", ["", "a", "a/b", ".x", "a.", "a.x:", "a.b/c", "a:b.c", "a//b.c"])
def test_text_that_names_no_port_is_refused(kind: type[PortPath | WirePath], text: str) -> None:
    with pytest.raises(ValueError, match="is not the path of a"):
        kind.parse(text)


def test_parsing_writes_a_leaf_in_one_way() -> None:
    assert PortPath.parse("mul1.a:x%2fy") == "mul1.a:x%2Fy"


def test_out_can_be_left_out() -> None:
    assert PortPath.named("loss") == PortPath.named("loss.out") == "loss.out"
    assert PortPath.named("enc/pack1:a.b/c") == "enc/pack1.out:a.b/c"
    assert PortPath.named("split1.out2") == "split1.out2"
    assert PortPath("loss.out").short == "loss"
    assert PortPath("pack1.out:w.out").short == "pack1.out:w.out"
    assert WirePath("enc/mul1.a").target == PortPath("enc/mul1.a")
