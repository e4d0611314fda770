"""Writes a picture as TikZ, to be read by LaTeX with no package but ``tikz``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradwire.app.pictures.marks import Outline, Raster, TextMark, marks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradwire.app.canvas.paint.painter import Progress
    from gradwire.app.pictures.marks import Ink, Mark, Step
    from gradwire.app.pictures.page_picture import PagePicture

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi",
    "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta",
    "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
    "ϵ": "epsilon",
}  # fmt: skip
_SIGNS = {
    "∇": "nabla", "∂": "partial", "·": "cdot", "×": "times", "÷": "div", "±": "pm", "≤": "leq",
    "≥": "geq", "≠": "neq", "≈": "approx", "∞": "infty", "∅": "emptyset", "⊣": "dashv",
    "▽": "bigtriangledown", "△": "bigtriangleup", "→": "rightarrow", "←": "leftarrow",
    "∑": "sum", "∏": "prod", "∈": "in", "‖": "|", "ℓ": "ell", "∗": "ast", "∘": "circ",
    "¬": "neg", "∧": "wedge", "⊕": "oplus", "⊗": "otimes", "√": "surd",
}  # fmt: skip
CHARACTERS: Mapping[str, str] = MappingProxyType(
    {chr(code): chr(code) for code in range(0x20, 0x7F)}
    | {character: f"\\{character}" for character in "#$%&_{}"}
    | {character: f"${character}$" for character in "<>|*"}
    | {character: f"{character}{{}}" for character in "-'`,?!"}  # keeps ligatures apart
    | {
        "\\": "\\textbackslash{}",
        "^": "\\textasciicircum{}",
        "~": "\\textasciitilde{}",
        '"': "''",
        " ": "\\ ",
        "\N{NO-BREAK SPACE}": "\\ ",
        "−": "$-$",
        "…": "\\ldots{}",
        "–": "--",
        "—": "---",
        "’": "'",
        "“": "``",
        "”": "''",
        "°": "$^{\\circ}$",
        "′": "$'$",
        "ℒ": "$\\mathcal{L}$",
    }
    | {character: f"$\\{name}$" for character, name in (_GREEK | _SIGNS).items()}
    | {character: f"$^{{{plain}}}$" for character, plain in _SUPERSCRIPTS.items()}
    | {character: f"$_{{{plain}}}$" for character, plain in _SUBSCRIPTS.items()}
)
"""What LaTeX reads for a character; others can't be written."""


def tex(text: str) -> str | None:
    """Text as LaTeX reads it; None if it has characters that not every LaTeX has."""
    if not all(character in CHARACTERS for character in text):
        return None
    return "".join(CHARACTERS[character] for character in text)


_LONGEST = 500.0
"""Longest side of a picture, cm: TeX has no lengths over 575 cm."""
_POINTS_PER_CM = 72.27 / 2.54
_TYPE_SIZE = 10.0
"""Size that labels are set in before they are scaled, pt: every LaTeX has it."""
_JOINS = {"round": "round", "bevel": "bevel", "miter": "miter"}
_CAPS = {"round": "round", "square": "rect", "butt": "butt"}
_LABEL = r"""\def\gradwirelabel#1#2#3#4#5#6{\node[anchor=base west,inner sep=0pt,outer sep=0pt,
  text=#5] at (#1,#2) {\resizebox{#3pt}{#4\height}{\normalfont\sffamily
  \fontsize{10}{10}\selectfont#6}};}%"""
"""Sets a label at a point, stretched to a width in pt, with letters of a size in 10 pt."""


def tikz(picture: PagePicture, progress: Progress | None = None) -> str:
    r"""The picture as the text of a file for ``\input``."""
    marks = [each for mark in marks_of(picture, progress) for each in _writable(mark)]
    side = max(picture.size.width(), picture.size.height())
    scale = min(picture.scale, _LONGEST / side)
    names = {colour: f"gw{place}" for place, colour in enumerate(_colours(marks))}
    lines = [
        "% A picture by Gradwire. The document needs \\usepackage{tikz}.",
        f"\\begin{{tikzpicture}}[x={scale:.6f}cm,y=-{scale:.6f}cm]",
        _LABEL,
        *(f"\\definecolor{{{n}}}{{HTML}}{{{c[1:].upper()}}}" for c, n in names.items()),
        *(_line(mark, names, scale * _POINTS_PER_CM) for mark in marks),
        "\\end{tikzpicture}%",
    ]
    return "\n".join(lines) + "\n"


def _writable(mark: Mark) -> Iterator[Outline | TextMark]:
    """Marks that every LaTeX can set: a label with other characters as shapes, and images too."""
    if isinstance(mark, Raster):
        yield from mark.outlines()
    elif isinstance(mark, TextMark) and tex(mark.text) is None:
        yield mark.outline()
    else:
        yield mark


def _colours(marks: Sequence[Outline | TextMark]) -> dict[str, None]:
    found = [colour for mark in marks for colour in (mark.ink.fill, mark.ink.stroke) if colour]
    return dict.fromkeys(found)


def _line(mark: Outline | TextMark, names: dict[str, str], points: float) -> str:
    """One mark; ``points`` is the length of 1 px in pt."""
    if isinstance(mark, Outline):
        options = ",".join(_options(mark.ink, names, points))
        return f"\\path[{options}] {_path(mark.steps)};"
    text = tex(mark.text) or ""
    style = ("\\bfseries " if mark.bold else "") + ("\\itshape " if mark.italic else "")
    width, height = mark.width * points, mark.size * points / _TYPE_SIZE
    return (
        f"\\gradwirelabel{{{mark.x:.2f}}}{{{mark.y:.2f}}}{{{width:.2f}}}{{{height:.3f}}}"
        f"{{{names[mark.ink.fill]}}}{{{style}{text}}}"
    )


def _options(ink: Ink, names: dict[str, str], points: float) -> Iterator[str]:
    if ink.fill:
        yield f"fill={names[ink.fill]},even odd rule"
    if ink.fill and ink.fill_opacity < 1.0:
        yield f"fill opacity={ink.fill_opacity:.3f}"
    if not ink.stroke:
        return
    yield f"draw={names[ink.stroke]},line width={ink.width * points:.3f}pt"
    yield f"line cap={_CAPS.get(ink.cap, 'butt')},line join={_JOINS.get(ink.join, 'miter')}"
    if ink.stroke_opacity < 1.0:
        yield f"draw opacity={ink.stroke_opacity:.3f}"
    if ink.dash:
        words = ("on" if place % 2 == 0 else "off" for place in range(len(ink.dash)))
        lengths = (f"{points * length:.3f}pt" for length in ink.dash)
        yield "dash pattern=" + " ".join(chain(*zip(words, lengths, strict=True)))


def _path(steps: tuple[Step, ...]) -> str:
    return " ".join(map(_step, steps))


def _step(step: Step) -> str:
    letter, numbers = step
    points = [f"({x:.2f},{y:.2f})" for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    match letter:
        case "M":
            return points[0]
        case "L":
            return f"-- {points[0]}"
        case "C":
            return f".. controls {points[0]} and {points[1]} .. {points[2]}"
    return "-- cycle"
