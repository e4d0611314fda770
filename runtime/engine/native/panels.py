"""The code of matrix products: copying into panels, blocks of panels, and the loops over both."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from runtime.engine.native import machine
from runtime.engine.native.control import Procedure

if TYPE_CHECKING:
    from runtime.engine.native.machine import Code

DEEP = 256
"""Products that are added up before the result is touched: a panel of b then fits a first-level
cache of 32 KiB."""

PITCH = 16
"""Elements from one column of a panel of ``a`` to the next; its rows are not more than that."""

FIELDS = (
    "a", "a_step", "a_turned", "b", "b_step", "b_turned", "out", "out_step", "rows", "columns",
    "depth", "height", "panels", "taller", "block", "taller_block", "a_panels", "b_panel", "tile",
)  # fmt: skip
"""What the driver is told, as int64: addresses, bytes from row to row (or, where ``turned`` is 1,
from column to column), lengths, and the panels of ``a``: so many, of ``height`` rows, but the first
``taller`` of one row more, with the code for blocks of both heights, and scratch memory.
"""

_ADDRESSES = {"a", "b", "out", "block", "taller_block", "a_panels", "b_panel", "tile"}


def tallest() -> int:
    """Rows of a panel, so that its sums and operands fill the registers."""
    return 14 if machine.lanes() == 16 else 6


@cache
def block_code(rows: int) -> Code:
    """The code for blocks of so many rows."""
    return _code([_block(rows)], "block")


@cache
def driver() -> Code:
    """What packs panels and calls the code for their blocks."""
    return _code([_straight(16), _straight(2 * machine.lanes()), _turned(), _product()], "product")


def _code(procedures: list[Procedure], name: str) -> Code:
    declared = sorted({line for p in procedures for line in p.declared})
    bodies = {p.text[0]: p.text for p in procedures}  # two widths may be one
    lines = [line for body in bodies.values() for line in body]
    return machine.code("\n".join([*declared, *lines, machine.ATTRIBUTES]), name)


def _block(rows: int) -> Procedure:
    """A panel of a times a panel of b, set or added to a block of the result."""
    lanes = machine.lanes()
    kind = f"<{lanes} x float>"
    p = Procedure(
        "void @block(ptr noalias %a, ptr noalias %b, i64 %depth, ptr noalias %out, i64 %step, "
        "i1 %more) #0"
    )
    places = []
    for i in range(rows):
        left = p.at("%out", p.multiply("%step", i))
        places += [left, p.at(left, 4 * lanes)]
        p.prefetch(left)
        p.prefetch(p.at(left, 8 * lanes - 4))
    names = [f"%sum{i}" for i in range(2 * rows)]
    p.do("br label %loop")
    p.do("loop:")
    p.do("%i = phi i64 [0, %entry], [%next, %loop]")
    for name in names:
        p.do(f"{name} = phi {kind} [zeroinitializer, %entry], [{name}.next, %loop]")
    right = p.at("%b", p.multiply("%i", 8 * lanes))
    b = [p.load(kind, right), p.load(kind, p.at(right, 4 * lanes))]
    column = p.at("%a", p.multiply("%i", 4 * PITCH))
    p.declared.add(f"declare {kind} @llvm.fmuladd.v{lanes}f32({kind}, {kind}, {kind})")
    for i in range(rows):
        one = p.load("float", p.at(column, 4 * i))
        first = p.put(f"insertelement {kind} poison, float {one}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        a = p.put(f"shufflevector {kind} {first}, {kind} poison, {zeros}")
        for half in (0, 1):
            name = names[2 * i + half]
            terms = f"{kind} {a}, {kind} {b[half]}, {kind} {name}"
            p.do(f"{name}.next = call {kind} @llvm.fmuladd.v{lanes}f32({terms})")
    p.do("%next = add nuw nsw i64 %i, 1")
    p.do(f"br i1 {p.is_true('slt', '%next', '%depth')}, label %loop, label %out.of")
    p.do("out.of:")
    with p.when("%more"):
        for name, place in zip(names, places, strict=True):
            old = p.load(kind, place)
            p.store(kind, p.put(f"fadd {kind} {old}, {name}.next"), place)
    with p.when("%more", otherwise=True):
        for name, place in zip(names, places, strict=True):
            p.store(kind, f"{name}.next", place)
    return p


_PACKING = "(ptr noalias %x, i64 %step, i64 %there, i64 %depth, ptr noalias %out, i64 %pitch)"
"""Of ``there`` rows or columns at x, as many as a panel takes, so much of the other axis."""


def _straight(width: int) -> Procedure:
    """Rows of ``width`` elements as they are, ``pitch`` bytes apart."""
    kind = f"<{width} x float>"
    p = Procedure(f"internal void @straight{width}{_PACKING} noinline #0")
    whole = p.is_true("sge", "%there", width)
    with p.when(whole), p.loop(0, "%depth") as i:
        row = p.load(kind, p.at("%x", p.multiply(i, "%step")))
        p.store(kind, row, p.at("%out", p.multiply(i, "%pitch")))
    with p.when(whole, otherwise=True), p.loop(0, "%depth") as i:
        row, out = p.at("%x", p.multiply(i, "%step")), p.at("%out", p.multiply(i, "%pitch"))
        with p.loop(0, "%there") as j:
            p.store(
                "float", p.load("float", p.at(row, p.multiply(j, 4))), p.at(out, p.multiply(j, 4))
            )
    return p


def _turned() -> Procedure:
    """Sixteen rows as columns; the last that is there stands for those that are not."""
    kind = "<16 x float>"
    p = Procedure(f"internal void @turned{_PACKING} noinline #0")
    last = p.subtract("%there", 1)
    rows = [p.at("%x", p.multiply(p.smaller(last, i), "%step")) for i in range(16)]
    whole = p.put("and i64 %depth, -16")
    with p.loop(0, whole, 16) as i:
        square = [p.load(kind, p.at(row, p.multiply(i, 4))) for row in rows]
        for d in (8, 4, 2, 1):
            _swap(p, square, d)
        for j, column in enumerate(square):
            p.store(kind, column, p.at("%out", p.multiply(p.add(i, j), "%pitch")))
    with p.loop(whole, "%depth") as i:
        out = p.at("%out", p.multiply(i, "%pitch"))
        for j, row in enumerate(rows):
            p.store("float", p.load("float", p.at(row, p.multiply(i, 4))), p.at(out, 4 * j))
    return p


def _swap(p: Procedure, square: list[str], d: int) -> None:
    """In a matrix of d × d blocks, swap the two of every four that lie off the diagonal."""
    kind = "<16 x float>"
    upper = ", ".join(f"i32 {j if not j & d else 16 + j - d}" for j in range(16))
    lower = ", ".join(f"i32 {j + d if not j & d else 16 + j}" for j in range(16))
    for i in range(16):
        if not i & d:
            pair = f"{kind} {square[i]}, {kind} {square[i + d]}"
            square[i] = p.put(f"shufflevector {pair}, <16 x i32> <{upper}>")
            square[i + d] = p.put(f"shufflevector {pair}, <16 x i32> <{lower}>")


def _product() -> Procedure:
    """All blocks of the result, some columns of the operands at a time."""
    width = 2 * machine.lanes()
    p = Procedure("void @product(ptr %frame, i64 %unused, i64 %start, i64 %stop) #0")
    f = {
        name: p.load("ptr" if name in _ADDRESSES else "i64", p.at("%frame", 8 * i))
        for i, name in enumerate(FIELDS)
    }
    higher = p.add(f["height"], 1)
    with p.loop(0, f["depth"], DEEP) as begin:
        depth = p.smaller(p.subtract(f["depth"], begin), DEEP)
        size = p.multiply(depth, 4 * PITCH)
        more = p.is_true("ne", begin, 0)
        with p.loop(0, f["panels"]) as i:
            out = p.at(f["a_panels"], p.multiply(i, size))
            _pack(p, f, "a", "rows", _top(p, f, i), begin, depth, out)
        with p.loop("%start", "%stop") as j:
            left = p.multiply(j, width)
            _pack(p, f, "b", "columns", left, begin, depth, f["b_panel"])
            there = p.smaller(p.subtract(f["columns"], left), width)
            for block, height, first, last in (
                (f["taller_block"], higher, "0", f["taller"]),
                (f["block"], f["height"], f["taller"], f["panels"]),
            ):
                with p.loop(first, last) as i:
                    row = p.multiply(_top(p, f, i), f["out_step"])
                    corner = p.at(f["out"], p.add(row, p.multiply(left, 4)))
                    panel = p.at(f["a_panels"], p.multiply(i, size))
                    work = f"call void {block}(ptr {panel}, ptr {f['b_panel']}, i64 {depth}"
                    _place(p, f, work, height, there, corner, more)
    return p


def _top(p: Procedure, f: dict[str, str], panel: str) -> str:
    """The first row of a panel."""
    return p.add(p.multiply(panel, f["height"]), p.smaller(panel, f["taller"]))


def _pack(
    p: Procedure,
    f: dict[str, str],
    x: str,
    lengths: str,
    first: str,
    begin: str,
    depth: str,
    out: str,
) -> None:
    """The panel of an operand that starts at row (of b: column) ``first``, from ``begin`` on."""
    step, there = f[f"{x}_step"], p.subtract(f[lengths], first)
    turned = p.is_true("ne", f[f"{x}_turned"], 0)
    taken = PITCH if x == "a" else 2 * machine.lanes()
    along = x == "b"  # a row of b is a row of its panel
    with p.when(turned, otherwise=not along):
        corner = p.at(f[x], p.add(p.multiply(first, step), p.multiply(begin, 4)))
        for away in range(0, taken, 16):
            left = p.subtract(there, away)
            with p.when(p.is_true("sgt", left, 0)):
                start, end = p.at(corner, p.multiply(step, away)), p.at(out, 4 * away)
                p.do(f"call void @turned(ptr {start}, i64 {step}, i64 {left}, i64 {depth}, "
                     f"ptr {end}, i64 {4 * taken})")  # fmt: skip
    with p.when(turned, otherwise=along):
        corner = p.at(f[x], p.add(p.multiply(begin, step), p.multiply(first, 4)))
        p.do(f"call void @straight{taken}(ptr {corner}, i64 {step}, i64 {there}, i64 {depth}, "
             f"ptr {out}, i64 {4 * taken})")  # fmt: skip


def _place(
    p: Procedure, f: dict[str, str], work: str, height: str, there: str, corner: str, more: str
) -> None:
    """One block where it belongs; at the right border by way of a tile that is wide enough."""
    width = 2 * machine.lanes()
    whole = p.is_true("eq", there, width)
    with p.when(whole):
        p.do(f"{work}, ptr {corner}, i64 {f['out_step']}, i1 {more})")
    with p.when(whole, otherwise=True):
        p.do(f"{work}, ptr {f['tile']}, i64 {4 * width}, i1 false)")
        with p.loop(0, height) as i:
            row = p.at(corner, p.multiply(i, f["out_step"]))
            found = p.at(f["tile"], p.multiply(i, 4 * width))
            with p.loop(0, there) as j:
                place = p.at(row, p.multiply(j, 4))
                old = p.choose(more, "float32", p.load("float", place), "0.0")
                new = p.load("float", p.at(found, p.multiply(j, 4)))
                p.store("float", p.put(f"fadd float {old}, {new}"), place)
