"""Text for TeX: escaped, in the characters that LaTeX has without further packages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
