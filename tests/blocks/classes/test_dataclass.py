"""The project's dataclasses beside those of the standard library."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import inspect
import pickle
from dataclasses import field

import pytest

from gradwire.blocks.classes.dataclass import dataclass

OURS, STANDARD = dataclass, dataclasses.dataclass
OPTIONS = (
    {}, {"eq": False}, {"frozen": True}, {"frozen": True, "eq": False}, {"slots": True},
    {"frozen": True, "slots": True}, {"frozen": True, "kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True}, {"slots": True, "eq": False},
)  # fmt: skip


def each_option(test):
    return pytest.mark.parametrize("options", OPTIONS, ids=lambda made: "-".join(made) or "plain")(
        test
    )


def made(decorate, options):
    """A class with every kind of field."""

    @decorate(**options)
    class Point:
        """A point."""

        x: int
        y: float = 1.5
        names: list[str] = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)
        steps: list[int] = field(default_factory=list, init=False, compare=False)
        count: int = field(default=7, init=False)

        def __post_init__(self):
            self.steps.append(self.x)

    return Point


def described(value):
    """What can be seen of an object."""
    names = [f.name for f in dataclasses.fields(value)]
    return repr(value), [getattr(value, name) for name in names], dataclasses.asdict(value)


@each_option
def test_objects_look_alike(options):
    ours, standard = made(OURS, options), made(STANDARD, options)
    for values in ({"x": 1}, {"x": 1, "y": 2.0, "names": ["a"]}, {"x": 3, "hidden": 4}):
        assert described(ours(**values)) == described(standard(**values))
    assert ours.__match_args__ == standard.__match_args__
    assert ours.__doc__ == standard.__doc__


@each_option
def test_the_signature_is_the_same(options):
    ours, standard = made(OURS, options), made(STANDARD, options)
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    assert ours.__init__.__annotations__ == standard.__init__.__annotations__
    assert ours.__init__.__qualname__ == standard.__init__.__qualname__


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("values", [{}, {"z": 1}, {"x": 1, "count": 2}], ids=str)
@each_option
def test_wrong_arguments_are_refused_in_the_same_words(options, values):
    messages = []
    for decorate in (OURS, STANDARD):
        with pytest.raises(TypeError) as refused:
            made(decorate, options)(**values)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


@each_option
def test_equality_is_the_same(options):
    for decorate in (OURS, STANDARD):
        cls = made(decorate, options)
        is_compared = options.get("eq", True)
        assert (cls(x=1) == cls(x=1)) is is_compared
        assert (cls(x=1, hidden=1) == cls(x=1, hidden=2)) is is_compared
        assert cls(x=1) != cls(x=2)
        assert cls(x=1) != (1, 1.5, [], 7)


def test_values_that_are_one_object_are_equal_as_in_tuples():
    @dataclass
    class Held:
        value: float

    assert Held(float("nan")) != Held(float("nan"))
    nan = float("nan")
    assert Held(nan) == Held(nan)


@pytest.mark.parametrize("decorate", [OURS, STANDARD], ids=["ours", "standard"])
def test_only_what_cannot_change_has_a_hash(decorate):
    @decorate(frozen=True, slots=True)
    class Fixed:
        x: int
        note: str = field(default="", compare=False)

    @decorate
    class Free:
        x: int

    @decorate(eq=False)
    class Single:
        x: int

    assert hash(Fixed(1, "a")) == hash(Fixed(1, "b")) == hash((1,))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Free(1))
    one = Single(1)
    assert hash(one) == object.__hash__(one)


@pytest.mark.parametrize("slots", [False, True])
def test_a_frozen_object_refuses_changes(slots):
    cls = made(OURS, {"frozen": True, "slots": slots})
    one = cls(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.other = 2
    assert one.x == 1


def test_what_a_subclass_adds_to_a_frozen_class_may_change():
    class Named(made(OURS, {"frozen": True})):
        pass

    one = Named(1)
    one.title = "one"
    assert one.title == "one"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 2


@dataclass(frozen=True, slots=True)
class Kept:
    x: int
    names: list[str] = field(default_factory=list)


@dataclass
class Changing:
    x: int = 1


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), dataclasses.replace],
    ids=["copy", "deepcopy", "pickle", "replace"],
)
@pytest.mark.parametrize("one", [Kept(2, ["a"]), Changing(3)], ids=["frozen", "plain"])
def test_copies_are_equal(copied, one):
    assert copied(one) == one
    assert copied(one) is not one


def test_a_factory_makes_one_for_each_object():
    one, other = Kept(1), Kept(1)
    one.names.append("a")
    assert other.names == []


def test_a_subclass_has_the_fields_of_its_base_first():
    @dataclass(frozen=True)
    class Base:
        x: int
        y: int = 2

    @dataclass(frozen=True)
    class Derived(Base):
        z: int = 3

    class Plain(Derived):
        pass

    assert Plain(1) == Plain(1, 2, 3)
    assert Plain(1) != Derived(1)
    assert repr(Derived(1)).endswith("Derived(x=1, y=2, z=3)")
    assert repr(Base(1)).endswith("Base(x=1, y=2)")
    assert {Derived(1), Base(1), Base(1)} == {Derived(1), Base(1)}


def test_a_class_calls_the_method_of_its_base():
    @dataclass
    class Base:
        x: int

    @dataclass
    class Derived(Base):
        y: int = 0

        def __init__(self, x):
            super().__init__(x)
            self.y = 2 * x

    assert (Derived(3).x, Derived(3).y) == (3, 6)
    assert Derived(3) == Derived(3)


def test_methods_of_the_class_stay():
    @dataclass(frozen=True)
    class Own:
        x: int

        def __repr__(self):
            return "mine"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 5

    assert repr(Own(1)) == "mine"
    assert Own(1) == Own(2) == 3
    assert hash(Own(1)) == 5


def test_a_class_that_compares_itself_gets_the_hash_of_its_values():
    @dataclass(frozen=True)
    class Own:
        x: int

        def __eq__(self, other):
            return True

    assert hash(Own(1)) == hash((1,))


def test_a_cycle_is_written_once():
    @dataclass
    class Node:
        next: object = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_an_option_that_is_not_offered_is_refused():
    with pytest.raises(TypeError, match="order"):

        @dataclass(order=True)
        class Ordered:
            x: int


def test_nothing_is_compiled_before_it_is_needed(monkeypatch):
    compiled = []
    run = exec
    monkeypatch.setattr(builtins, "exec", lambda *given: compiled.append(given[0]) or run(*given))

    @dataclass(frozen=True, slots=True)
    class Late:
        x: int
        y: list[int] = field(default_factory=list)

    assert not compiled
    assert Late(1) == Late(1)
    assert ["__init__" in compiled[0], "__eq__" in compiled[1]] == [True, True]
    assert Late(2) != Late(1)
    assert len(compiled) == 2


def test_threads_may_need_a_method_for_the_first_time_at_once():
    @dataclass
    class Point:
        x: int

    found = vars(Point)["__init__"]  # by two threads, before either has called it
    points = [Point.__new__(Point) for _ in range(2)]
    for x, point in enumerate(points):
        found.__get__(point, Point)(x)
    assert points == [Point(0), Point(1)]
