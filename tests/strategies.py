"""Hypothesis strategies for documents: diagrams as users make them, and as nobody should."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from gradwire.blocks import Opaque, PortLiteral
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import (
    MAIN,
    AddBlock,
    Arrange,
    BendWire,
    Change,
    Connect,
    Diagram,
    Disconnect,
    InsertPage,
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetLesson,
    SetNote,
    SetParameters,
    SetTitle,
    SetTraining,
    SetViews,
    Style,
    StyleBlocks,
    View,
)
from gradwire.runtime.diagram.lesson import (
    ChangeStep,
    CheckOption,
    CheckStep,
    Lesson,
    PaintStep,
    PredictStep,
    ShowStep,
)
from gradwire.runtime.diagram.model import (
    COLOURS,
    LEAST_SIZE,
    MOST_SIZE,
    Route,
    Size,
    own_ports,
    page_ports,
)
from gradwire.runtime.diagram.optimisers import METHODS
from gradwire.runtime.diagram.training import (
    SCHEDULES,
    Average,
    Clip,
    Group,
    OptimiserRule,
    Training,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.blocks import Block

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COORDINATES = st.integers(-500, 500).map(float) | st.floats(-1e6, 1e6)
_COLOURS = st.sampled_from(["", *COLOURS])
TEXTS = st.text(st.characters(), max_size=20)  # lone surrogates, too: Qt lets them be typed
OPERATIONS = ("Add", "Mul", "Pow", "StopGradient", "Concat", "Where", "Linear", "Loss", "Clip")


@cache
def names() -> st.SearchStrategy[str]:
    """Names of blocks, pages and notes: mostly short, so that they meet."""
    letters = st.characters(categories=["L", "M", "N"], include_characters="_-'+")
    odd = st.text(letters, min_size=1, max_size=6)
    return st.sampled_from(["a", "b", "W1", "x y", "θ", "loss", "mul-2"]) | odd


@cache
def points() -> st.SearchStrategy[Point]:
    return st.builds(Point, COORDINATES, COORDINATES)


@cache
def bends() -> st.SearchStrategy[tuple[Point, ...]]:
    return st.lists(points(), min_size=1, max_size=3).map(tuple)


@cache
def routes() -> st.SearchStrategy[Route]:
    def of_size(size: int) -> st.SearchStrategy[list[float]]:
        return st.lists(COORDINATES, min_size=size, max_size=size)

    return st.sampled_from((1, 3, 5)).flatmap(of_size).map(tuple)


@cache
def notes() -> st.SearchStrategy[Note]:
    size = st.floats(0, 1e4)
    return st.builds(Note, TEXTS, points(), size, size, st.booleans(), _COLOURS)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Small arrays of any dtype and rank, of finite and other numbers."""
    dtype = draw(st.sampled_from(["float16", "float32", "float64", "int64", "uint8", "bool"]))
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 2), (1, 2, 1)]))
    numbers: st.SearchStrategy[Any] = st.integers(0, 1 if dtype == "bool" else 200)
    if dtype.startswith("float"):
        exact = st.floats(-1000, 1000).map(lambda number: float(np.array(number, dtype)))
        numbers = exact | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan])
    size = int(np.prod(shape))
    flat = draw(st.lists(numbers, min_size=size, max_size=size))
    return np.array(flat, dtype).reshape(shape)


@cache
def literals() -> st.SearchStrategy[PortLiteral]:
    """Weak scalars, lists, and values with a dtype."""
    plain = st.integers(-100, 100) | FLOATS | st.booleans() | st.lists(FLOATS, min_size=1)
    typed = st.fixed_dictionaries(
        {"dtype": st.sampled_from(["float16", "float64", "int8"]), "value": st.integers(0, 9)}
    )
    return st.builds(PortLiteral, plain | typed | st.sampled_from(["nan", "-inf"]))


@cache
def sources() -> st.SearchStrategy[Block]:
    """Variables and constants."""
    variable, constant = registry().get("Variable"), registry().get("Constant")
    given = arrays().map(lambda array: {"value": array, "dtype": array.dtype.name})
    drawn = st.fixed_dictionaries({"shape": st.just((2, None)), "seed": st.integers(0, 9)})
    return (given | drawn).map(lambda record: variable(**record)) | given.map(
        lambda record: constant(**record)
    )


@cache
def opaque_blocks() -> st.SearchStrategy[Opaque]:
    """Blocks of types that are not installed, and records that don't fit their type."""
    json = st.recursive(
        st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=5,
    )
    keys = st.text(max_size=5).map(lambda key: "kind" if key == "type" else key)
    records = st.dictionaries(keys, json, max_size=3)
    unknown = st.builds(Opaque, original_type=st.just("Elsewhere"), record=records)
    misfit = st.just(Opaque(original_type="Mul", record={"slope": 3}))
    return unknown | misfit


@st.composite
def operations(draw: st.DrawFn) -> Block:
    """Blocks with inputs, some with literals."""
    cls = registry().get(draw(st.sampled_from(OPERATIONS)))
    given = {}
    for port in cls.inputs:
        if draw(st.integers(0, 3)) == 0:
            given[f"{port.name}.0" if port.variadic else port.name] = draw(literals())
    return cls(**given)


@cache
def blocks(uses: tuple[str, ...] = ()) -> st.SearchStrategy[Block]:
    """Any block; ``uses`` are the pages that may be used as one."""
    found = sources() | operations() | opaque_blocks()
    if uses:
        found |= st.sampled_from(uses).map(lambda page: PageBlock(page=page))
        found |= _scans(uses)
    return found


def _scans(uses: tuple[str, ...]) -> st.SearchStrategy[Block]:
    return st.builds(
        Scan,
        page=st.sampled_from(uses),
        steps=st.integers(0, 3),
        carry=st.sampled_from([{}, {"in": "out"}]),
        over=st.sampled_from([(), ("in 2",)]),
        reverse=st.booleans(),
    )


@cache
def _members(uses: tuple[str, ...]) -> st.SearchStrategy[dict[str, Block]]:
    return st.dictionaries(names(), blocks(uses), max_size=6)


@cache
def _some_notes() -> st.SearchStrategy[dict[str, Note]]:
    return st.dictionaries(names(), notes(), max_size=2)


@st.composite
def pages(draw: st.DrawFn, below: dict[str, Page] | None = None, main: bool = True) -> Page:
    """Pages without problems but those of opaque blocks; wires run from earlier blocks to later.

    ``below`` are the pages that may be used.
    """
    below = below or {}
    made = dict(draw(_members(tuple(below))))
    if not main:
        made |= {"in": PageInput(), "in 2": PageInput.from_record({"x": 1.0}), "out": PageOutput()}
    wires: dict[PortName, PortName] = {}
    outputs: list[PortName] = []
    for name in made:
        for port in _inputs(made[name], below):
            wired = bool(outputs) and draw(st.booleans())
            if wired:
                wires[PortName(name, port)] = draw(st.sampled_from(outputs))
        outputs += [PortName(name, port) for port in _outputs(made[name], below)]
    bent = {target: draw(bends()) for target in wires if draw(st.integers(0, 3)) == 0}
    return Page(
        made,
        wires,
        {name: draw(points()) for name in made if draw(st.booleans())},
        draw(_some_notes()),
        bent,
        {t: draw(routes()) for t in wires if t not in bent and draw(st.integers(0, 3)) == 0},
        {name: style for name in made if (style := draw(styles())) != Style()},
    )


def _inputs(block: Block, below: dict[str, Page]) -> tuple[str, ...]:
    if isinstance(block, PageBlock):
        return page_ports(below[block.page]).inputs
    if isinstance(block, PageInput):
        return ()
    ports = own_ports(Page({"it": block}), "it")
    return (*ports.inputs, *ports.free, *(("x", "y") if isinstance(block, Opaque) else ()))


def _outputs(block: Block, below: dict[str, Page]) -> tuple[str, ...]:
    return page_ports(below[block.page]).outputs if isinstance(block, PageBlock) else block.outputs


def styles() -> st.SearchStrategy[Style]:
    """Styles, plain ones included."""
    sizes = st.builds(Size, *(st.floats(*ends) for ends in zip(LEAST_SIZE, MOST_SIZE, strict=True)))
    return st.builds(Style, _COLOURS, st.booleans(), st.none() | sizes)


def bookmarks(pages: Iterable[str]) -> st.SearchStrategy[tuple[View, ...]]:
    """Views of some of these pages."""
    views = st.builds(View, names(), st.sampled_from(list(pages)), points(), st.floats(0.01, 100.0))
    return st.lists(views, max_size=2, unique_by=lambda view: view.name).map(tuple)


def lessons() -> st.SearchStrategy[Lesson]:
    """Lessons of up to two steps, whose paths and expressions need not mean anything."""
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    rows = st.lists(numbers, max_size=2).map(tuple)
    settings = st.sampled_from(["open", "closed"]) | numbers | rows | st.tuples(rows, rows)
    common = {
        "text": TEXTS,
        "hints": st.lists(TEXTS, max_size=3).map(tuple),
        "setup": st.dictionaries(names(), settings, max_size=2),
        "reveal": st.lists(st.sampled_from(["why", "states"]), max_size=1).map(tuple),
        "losses": st.lists(names(), max_size=1).map(tuple),
    }
    option = st.builds(CheckOption, text=TEXTS, holds=TEXTS)
    steps = st.one_of(
        st.builds(ShowStep, **common, play=st.sampled_from(["", "all"])),
        st.builds(PredictStep, **common, gradient=names(), answer=st.sampled_from(["sign"])),
        st.builds(PaintStep, **common, wires=st.lists(names(), max_size=2).map(tuple)),
        st.builds(ChangeStep, **common, goals=st.lists(TEXTS, max_size=2).map(tuple)),
        st.builds(CheckStep, **common, options=st.lists(option, max_size=2).map(tuple)),
    )
    vary = st.dictionaries(names(), st.lists(numbers, min_size=1, max_size=2).map(tuple))
    return st.builds(
        Lesson,
        goal=TEXTS,
        minutes=st.integers(1, 60),
        support=st.sampled_from(["worked", "faded", "predict first"]),
        vary=vary,
        steps=st.lists(steps, max_size=2).map(tuple),
    )


def trainings() -> st.SearchStrategy[Training]:
    """Recipes of up to two optimisers, whose patterns need not name anything."""
    patterns = st.lists(TEXTS, max_size=2).map(tuple)
    rates = st.floats(0, 10)
    rule = st.builds(
        OptimiserRule,
        name=names(),
        method=st.one_of(st.builds(method, lr=rates, weight_decay=rates) for method in METHODS),
        variables=patterns,
        losses=patterns,
        groups=st.lists(st.builds(Group, variables=patterns, lr=rates), max_size=2).map(tuple),
        schedule=st.one_of(st.builds(schedule) for schedule in SCHEDULES),
        clip=st.none() | st.builds(Clip, by=st.sampled_from(["value", "norm"]), limit=rates),
        steps=st.integers(1, 5),
    )
    average = st.builds(Average, name=names(), of=TEXTS, into=TEXTS, decay=st.floats(0, 1))
    return st.builds(
        Training,
        optimisers=st.lists(rule, max_size=2).map(tuple),
        order=st.sampled_from(["alternating", "simultaneous"]),
        averages=st.lists(average, max_size=2).map(tuple),
        record=patterns,
    )


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    """Diagrams of up to three pages that use one another."""
    inner = draw(pages(main=False))
    outer = draw(pages({"inner": inner}, main=False))
    below = draw(st.sampled_from([{}, {"inner": inner}, {"inner": inner, "outer": outer}]))
    made = {MAIN: draw(pages(below)), **below}
    order = draw(st.permutations(list(made)))
    contracts = tuple(draw(st.lists(TEXTS, max_size=3)))
    views = draw(bookmarks(order))
    lesson = draw(st.none() | lessons())
    training = draw(st.none() | trainings())
    ordered = {name: made[name] for name in order}
    return Diagram(ordered, draw(TEXTS), draw(TEXTS), contracts, views, lesson, training)


@cache
def broken_diagrams() -> st.SearchStrategy[Diagram]:
    """Documents with anything wrong: dangling wires, cycles, gaps, recursion, names, places."""
    anything = st.sampled_from([MAIN, "a", "b", "", "a.b", "a/b", "…"])
    ports = st.sampled_from(["a", "b", "x", "out", "parts.0", "parts.2", "parts.²", "nothing"])
    ends = st.builds(PortName, anything, ports)
    users = st.builds(PageBlock, page=anything)
    members = operations() | users | opaque_blocks() | st.just(PageInput()) | st.just(PageOutput())
    places = st.builds(Point, st.floats(), st.floats())
    page = st.builds(
        Page,
        st.dictionaries(anything, members, max_size=5),
        st.dictionaries(ends, ends, max_size=8),
        st.dictionaries(anything, places, max_size=3),
        st.dictionaries(anything, notes(), max_size=1),
        st.dictionaries(ends, st.lists(places, max_size=2).map(tuple), max_size=3),
    )
    return st.builds(Diagram, st.dictionaries(anything, page, max_size=3), TEXTS, TEXTS)


def changes(diagram: Diagram) -> st.SearchStrategy[Change]:
    """Changes to a diagram, many of which can be made."""
    here = st.sampled_from(list(diagram.pages))
    return here.flatmap(lambda page: _changes_of_page(diagram, page)) | st.one_of(
        st.builds(InsertPage, names(), pages()),
        st.builds(RemovePage, here),
        st.builds(RenamePage, here, names()),
        st.builds(SetTitle, TEXTS, st.none() | TEXTS),
        st.builds(SetViews, bookmarks([*diagram.pages, "a"])),
        st.builds(SetLesson, st.none() | lessons()),
        st.builds(SetTraining, st.none() | trainings()),
        st.builds(SetTitle, contracts=st.lists(TEXTS, max_size=2).map(tuple)),
    )


def _changes_of_page(diagram: Diagram, page_name: str) -> st.SearchStrategy[Change]:
    page = diagram.pages[page_name]
    at = st.just(page_name)
    new = st.builds(AddBlock, names(), blocks(tuple(diagram.pages)), points(), at)
    found: list[st.SearchStrategy[Change]] = [
        new,
        st.builds(SetNote, names(), st.none() | notes(), at),
        st.builds(Arrange, at),
    ]
    texts = st.sampled_from(list(page.notes)) if page.notes else st.nothing()
    if page.blocks:
        known = st.sampled_from(list(page.blocks))
        values = st.dictionaries(
            st.sampled_from(["a", "b", "x", "parts.0"]), literals() | st.none()
        )
        ends = [
            PortName(name, port)
            for name, block in page.blocks.items()
            for port in (*_known_inputs(diagram, block), *_known_outputs(diagram, block))
        ]
        found += [
            st.builds(Arrange, at, st.sets(known).map(sorted)),
            st.builds(RemoveBlocks, st.sets(known, min_size=1).map(sorted), at),
            st.builds(RenameBlock, known, names(), at),
            st.builds(
                MoveBlocks, st.dictionaries(known, points()), at, st.dictionaries(texts, points())
            ),
            st.builds(SetParameters, known, values, at),
            st.builds(StyleBlocks, st.dictionaries(known, styles(), max_size=3), at),
        ]
        if ends:
            found.append(st.builds(Connect, st.sampled_from(ends), st.sampled_from(ends), at))
    if page.wires:
        wires = st.sampled_from(list(page.wires))
        led = st.dictionaries(wires, bends(), max_size=3)
        found += [
            st.builds(Disconnect, wires, at),
            st.builds(BendWire, wires, bends() | st.just(()), at, routes()),
            st.builds(MoveBlocks, st.just({}), at, bends=led),
        ]
    return st.one_of(found)


def _known_inputs(diagram: Diagram, block: Block) -> tuple[str, ...]:
    missing = isinstance(block, PageBlock) and block.page not in diagram.pages
    return () if missing else _inputs(block, dict(diagram.pages))


def _known_outputs(diagram: Diagram, block: Block) -> tuple[str, ...]:
    missing = isinstance(block, PageBlock) and block.page not in diagram.pages
    return () if missing else _outputs(block, dict(diagram.pages))
