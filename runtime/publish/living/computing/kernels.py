"""The arithmetic of the page: loops of elementwise primitives, written from their expressions.

``a``, ``b``, ``c`` are the inputs, and ``f`` rounds to the dtype of the result between two steps.
The other primitives are in ``script/kernels``: most pages need what is in ``always.js`` alone, and
have a further file only if they compute one of its primitives.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.resources import files

_UNARY = {
    "negative": "-a",
    "abs": "Math.abs(a)",
    "square": "a*a",
    "sqrt": "Math.sqrt(a)",
    "exp": "Math.exp(a)",
    "expm1": "Math.expm1(a)",
    "log": "Math.log(a)",
    "log1p": "Math.log1p(a)",
    "sin": "Math.sin(a)",
    "cos": "Math.cos(a)",
    "tan": "Math.tan(a)",
    "arcsin": "Math.asin(a)",
    "arccos": "Math.acos(a)",
    "arctan": "Math.atan(a)",
    "tanh": "Math.tanh(a)",
    "sinh": "Math.sinh(a)",
    "cosh": "Math.cosh(a)",
    "arcsinh": "Math.asinh(a)",
    "arccosh": "Math.acosh(a)",
    "arctanh": "Math.atanh(a)",
    "sigmoid": "1/(1+f(Math.exp(-a)))",
    "softplus": "(a>0?a:a<=0?0:a)+Math.log1p(Math.exp(-Math.abs(a)))",
    "relu": "Math.max(a,0)",
    "erf": "erf(a)",
    "sign": "Math.sign(a)",
    "floor": "Math.floor(a)",
    "ceil": "Math.ceil(a)",
    "round": "roundHalfEven(a)",
    "logical_not": "a?0:1",
    "isnan": "a!==a?1:0",
    "isfinite": "Number.isFinite(a)?1:0",
}
_BINARY = {
    "add": "a+b",
    "subtract": "a-b",
    "multiply": "a*b",
    "divide": "a/b",
    "floor_divide": "quotientOf(a,b,f)",
    "remainder": "remainderOf(a,b)",
    "power": "powerOf(a,b)",
    "maximum": "Math.max(a,b)",
    "minimum": "Math.min(a,b)",
    "arctan2": "Math.atan2(a,b)",
    "equal": "a===b?1:0",
    "not_equal": "a!==b?1:0",
    "less": "a<b?1:0",
    "less_equal": "a<=b?1:0",
    "greater": "a>b?1:0",
    "greater_equal": "a>=b?1:0",
    "logical_and": "a&b",
    "logical_or": "a|b",
    "logical_xor": "a^b",
}
_TERNARY = {"where": "a?b:c"}
_EXPRESSIONS = ((1, _UNARY), (2, _BINARY), (3, _TERNARY))


def _loop(expression: str, arity: int) -> str:
    """``(out, inputs, maps, f) => { … }``: plain where no input is stretched."""
    names, maps = "abc"[:arity], "pqr"[:arity]
    buffers = names.upper()

    def loop(place: str) -> str:
        read = "".join(
            f"const {name}={buffer}[{place.replace('m', at)}];"
            for name, buffer, at in zip(names, buffers, maps, strict=True)
        )
        return f"for(let i=0;i<o.length;i++){{{read}o[i]={expression}}}"

    return (
        f"(o,[{','.join(buffers)}],[{','.join(maps)}],f)=>"
        f"{{if({'||'.join(maps)}){loop('m?m[i]:i')}else {loop('i')}}}"
    )


def loops(computed: Collection[str] | None) -> str:
    """The script that defines ``LOOPS``, for the primitives that are computed (all for None) and
    those that ``always.js`` builds upon.
    """
    rows = [
        f'"{name}": {_loop(expression, arity)}'
        for arity, table in _EXPRESSIONS
        for name, expression in table.items()
        if computed is None or name in computed or name in _BUILT_UPON
    ]
    return "const LOOPS={" + ",\n".join(rows) + "};\n"


def source(name: str) -> str:
    """A file of the page's script."""
    return (
        files("gradwire.runtime.publish.living")
        .joinpath("script", name)
        .read_text(encoding="utf-8")
    )


def _defined(part: str) -> frozenset[str]:
    """The kernels that a part of the script has."""
    return frozenset(re.findall(r"^KERNELS\.(\w+) =", source(part), re.MULTILINE))


_ALWAYS = "kernels/always.js"
_BUILT_UPON = frozenset(re.findall(r"^orIntegers\('(\w+)'", source(_ALWAYS), re.MULTILINE))
_FURTHER = {
    part: _defined(part)
    for part in (
        f"kernels/{name}.js" for name in ("order", "indexing", "einsum", "windows", "matrices")
    )
}
KERNELS = _defined(_ALWAYS).union(*_FURTHER.values(), *(table for _, table in _EXPRESSIONS))
"""Names of the primitives that the page computes."""


def kernel_parts(computed: Collection[str] | None) -> list[str]:
    """The parts of the script that have the kernels of these primitives, or all for None."""
    further = [
        part
        for part, defined in _FURTHER.items()
        if computed is None or not defined.isdisjoint(computed)
    ]
    return [_ALWAYS, *further]
