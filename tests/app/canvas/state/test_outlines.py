"""Trees of arrays in words."""

from types import SimpleNamespace

import pytest

from gradwire.app.canvas.state.formatting import TREE_ROWS, counted, listed, outline
from gradwire.blocks.trees import Kind, Passive, Tree


def tree(*paths, **passive):
    nodes = {(): Kind.MAPPING}
    for path in paths:
        parts = tuple(path.split("/"))
        for depth in range(1, len(parts)):
            nodes[parts[:depth]] = Kind.MAPPING
        nodes[parts] = f"p.out:{path}"
    nodes |= {(key,): Passive(value) for key, value in passive.items()}
    return Tree(nodes)


class Ports(dict):
    def __missing__(self, port):
        raise KeyError(port)

    def get(self, port, default=None):
        return SimpleNamespace(shape=(2, 3), dtype="float32")


def test_a_few_leaves_are_named_with_their_shapes():
    assert outline(tree("enc/w", "b"), Ports()).cells == (("enc/w", "2 × 3"), ("b", "2 × 3"))


def test_of_many_the_branches_are_counted():
    many = tree("enc/w", "enc/b", "enc/norm/scale", "dec/w", "dec/b", "scale")
    assert outline(many, Ports()).cells == (
        ("enc", "3 arrays"), ("dec", "2 arrays"), ("scale", "1 array")
    )  # fmt: skip


def test_of_many_branches_the_first():
    cells = outline(tree(*(f"layer{i}/w" for i in range(9))), Ports()).cells
    assert len(cells) == TREE_ROWS
    assert cells[-1] == ("…", "6 more")


def test_of_a_long_path_the_end_is_shown():
    ((name, _),) = outline(tree("a_very_long_branch/weight"), Ports()).cells
    assert name == "…g_branch/weight"
    assert len(name) <= 16


def test_what_is_no_array_shows_its_value():
    assert outline(tree("w", rate=0.5, name="adam"), Ports()).cells == (
        ("w", "2 × 3"), ("rate", "0.5"), ("name", "adam")
    )  # fmt: skip


def test_what_is_not_known_is_asked():
    assert outline(tree("w"), {}).cells == (("w", "?"),)


def test_an_empty_tree():
    assert outline(tree(), Ports()).cells == (("", "empty"),)
    assert counted(tree()) == "mapping of 0 arrays"


def test_all_leaves_are_listed_up_to_a_point():
    said = listed(tree("enc/w", "b"), Ports())
    assert said == "mapping of 2 arrays\nenc/w: 2 × 3 float32\nb: 2 × 3 float32"
    assert listed(tree(*(f"w{i}" for i in range(30))), Ports()).endswith("… 6 more")


@pytest.mark.parametrize("kind", list(Kind))
def test_the_kind_is_told(kind):
    assert counted(Tree({(): kind, ("a",): "p.out:a"})) == f"{kind.value} of 1 array"
