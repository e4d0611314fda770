"""What comes to a window past mouse and keys: changes, texts to paste, files, other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from gradwire.app.services.examples import examples
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import (
    MAIN,
    AddBlock,
    Arrange,
    Batch,
    BendWire,
    Change,
    Connect,
    Diagram,
    Disconnect,
    InsertPage,
    MoveBlocks,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetNote,
    SetParameters,
    SetTitle,
    dumps,
    fresh_name,
    load,
    ports,
)
from gradwire.runtime.diagram.edits.clipboard import copied
from tests.app.mouse import drop_file
from tests.monkey.events import TEXTS

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.monkey.life import Monkey

VALUES = (None, 0, 1, -1, 2.5, "mean", "float64", [[1.0, 2.0], [3.0, 4.0]], [1.0], [], (2, 2), True)
TYPICAL = ("Variable", "Constant", "Add", "Mul", "MatMul", "Tanh", "StopGradient", "Loss", "Sum",
           "Concat", "Linear", "Reshape", "Input")  # fmt: skip


def change(monkey: Monkey) -> None:
    """Any change of the document, possible or not."""
    monkey.window.edit.change(_change(monkey.dice, monkey.window.document.diagram))


def grow(monkey: Monkey) -> None:
    """Add a block of a type that diagrams are mostly made of, and wire it up."""
    dice, window = monkey.dice, monkey.window
    diagram, title = window.document.diagram, window.navigation.page
    page = diagram.pages[title]
    kind = dice.choice([name for name in TYPICAL if name in registry().classes])
    name = fresh_name(page, kind)
    add: list[Change] = [AddBlock(name, registry().get(kind)(), _point(dice), title)]
    for port in registry().get(kind).inputs:
        if page.blocks and dice.random() < 0.8:
            source = dice.choice(list(page.blocks))
            outputs = ports(diagram, title, source).outputs
            number = f"{port.name}.0" if port.variadic else port.name
            if outputs:
                add.append(
                    Connect(PortName(source, dice.choice(outputs)), PortName(name, number), title)
                )
    window.edit.change(Batch("Grow", tuple(add)))


def _change(dice: Random, diagram: Diagram) -> Change:
    title = dice.choice(list(diagram.pages))
    page = diagram.pages[title]
    blocks, notes = list(page.blocks) or ["none"], list(page.notes) or ["none"]
    some = frozenset(dice.choices(blocks, k=dice.choice((1, 1, 2, 5))))
    kind = dice.choice(sorted(registry().classes))
    target = dice.choice(list(page.wires)) if page.wires else PortName("none", "x")
    name = dice.choice((*TEXTS, *blocks))
    options: tuple[Change, ...] = (
        AddBlock(name, registry().get(kind)() if _plain(kind) else PageBlock(page=dice.choice(
            list(diagram.pages))), _point(dice), title),
        RemoveBlocks(some, title),
        RenameBlock(dice.choice(blocks), name, title),
        MoveBlocks({block: _point(dice) for block in some}, title),
        SetParameters(*_parameters(dice, page.blocks, blocks), title),
        Connect(_port(dice, diagram, title, blocks, True), _port(dice, diagram, title, blocks,
                                                                  False), title),
        Disconnect(target, title),
        BendWire(target, tuple(_point(dice) for _ in range(dice.randrange(4))), title),
        SetNote(dice.choice((*notes, name)), _note(dice), title),
        Arrange(title),
        InsertPage(name),
        RemovePage(title),
        RenamePage(title, name),
        SetTitle(dice.choice(TEXTS), dice.choice(TEXTS)),
    )  # fmt: skip
    weights = (2, 1, 3, 3, 4, 6, 2, 2, 2, 1, 0.3, 0.3, 0.5, 0.5)
    return dice.choices(options, weights)[0]


def _plain(kind: str) -> bool:
    return not issubclass(registry().get(kind), PageBlock)


def _point(dice: Random) -> Point:
    return Point(float(dice.randint(-600, 1200)), float(dice.randint(-400, 800)))


def _note(dice: Random) -> Note | None:
    if dice.random() < 0.3:
        return None
    return Note(
        dice.choice(TEXTS), _point(dice), float(dice.randint(20, 500)),
        float(dice.randint(20, 400)), dice.random() < 0.4,
    )  # fmt: skip


def _port(dice: Random, diagram: Diagram, page: str, names: list[str], outgoing: bool) -> PortName:
    name = dice.choice(names)
    if name not in diagram.pages[page].blocks:
        return PortName(name, "x")
    known = ports(diagram, page, name)
    found = known.outputs if outgoing else (*known.inputs, *known.free)
    return PortName(name, dice.choice(found) if found and dice.random() < 0.95 else "x")


def _parameters(dice: Random, blocks: object, names: list[str]) -> tuple[str, dict[str, object]]:
    name = dice.choice(names)
    block = blocks.get(name)
    fields = [] if block is None else [*type(block).model_fields, *(p.name for p in block.inputs)]
    return name, {dice.choice(fields or ["x"]): dice.choice(VALUES)}


def cull(monkey: Monkey) -> None:
    """Delete most of the page: a diagram of a few hundred blocks shows what one of 9,000 does."""
    names = list(monkey.canvas.view.scene.names)
    monkey.canvas.select(monkey.dice.sample(names, k=len(names) * 2 // 3))
    monkey.window.actions_by_name["delete"].trigger()
    pages = monkey.window.document.diagram.pages
    for name in list(pages):
        monkey.window.edit.change(RemovePage(name)) if name != MAIN else None


def clipboard(monkey: Monkey) -> None:
    """Another program copies a text; mostly it is pasted."""
    dice = monkey.dice
    text = dice.choice(TEXTS)
    if dice.random() < 0.6:
        diagram = load(dice.choice(examples()).path)
        text = copied(diagram, MAIN, dice.sample(list(diagram.main.blocks), k=3))
        if dice.random() < 0.3:
            text = dumps(diagram)
    if dice.random() < 0.1:
        text = text[: dice.randrange(len(text) + 1)]
    QGuiApplication.clipboard().setText(text)
    if dice.random() < 0.8:
        monkey.window.actions_by_name["paste"].trigger()


def autosave(monkey: Monkey) -> None:
    """The clock of the autosave ticks."""
    monkey.window.autosave.write()


def save(monkey: Monkey) -> None:
    """Save to the file, or to one of two others; what is read again is the diagram."""
    window = monkey.window
    if window.document.path is None or monkey.dice.random() < 0.2:
        path: Path = monkey.folder / f"{monkey.dice.choice('ab')}.gradwire.json"
        if any(other.document.path == path for other in monkey.windows.listed):
            return
        assert window.document.save_as(path)
    elif not window.document.save():
        return
    assert load(window.document.path) == window.document.diagram, "load∘save is not the identity"


def meddle(monkey: Monkey) -> None:
    """Another program writes or removes the file that is open."""
    path = monkey.window.document.path
    if path is None or not path.exists():
        return
    match monkey.dice.randrange(3):
        case 0:
            path.write_text(dumps(load(monkey.dice.choice(examples()).path)))
        case 1:
            path.write_text("{")
        case 2:
            path.unlink()
    monkey.window.files.watch.check()


def drop_any_file(monkey: Monkey) -> None:
    """Drop an example, a broken file or one that isn't there on the window."""
    if len(monkey.windows.listed) > 1:
        return
    broken = monkey.folder / "broken.gradwire.json"
    broken.write_text(monkey.dice.choice(("", "{", "[]", '{"gradwire": 99}')))
    drop_file(monkey.window, monkey.dice.choice((broken, monkey.folder / "none.gradwire.json")))


def other_window(monkey: Monkey) -> None:
    """Open a second window, or close it."""
    if len(monkey.windows.listed) == 1:
        monkey.windows.new().resize(900, 650)
    else:
        monkey.windows.listed[-1].close()


def settle(monkey: Monkey) -> None:
    """Wait for the result of the diagram as it is."""
    for _ in range(400):
        if not monkey.window.evaluator.busy:
            return
        QTest.qWait(5)
