"""The arithmetic of the page: loops of elementwise primitives, written from their expressions.

``a``, ``b``, ``c`` are the inputs, and ``f`` rounds to the dtype of the result between two steps.
The other primitives are in ``script/kernels.js`` and ``script/matrices.js``.
"""

from __future__ import annotations

import re
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


def loops() -> str:
    """The script that defines ``LOOPS``."""
    rows = [
        f'"{name}": {_loop(expression, arity)}'
        for arity, table in _EXPRESSIONS
        for name, expression in table.items()
    ]
    return "const LOOPS={" + ",\n".join(rows) + "};\n"


def source(name: str) -> str:
    """A file of the page's script."""
    return (
        files("gradwire.runtime.publish.living")
        .joinpath("script", name)
        .read_text(encoding="utf-8")
    )


def _defined(name: str) -> frozenset[str]:
    """The kernels that a file of the script has."""
    return frozenset(re.findall(r"^KERNELS\.(\w+) =", source(name), re.MULTILINE))


MATRIX_KERNELS = _defined("matrices.js")
"""Names of the primitives of linear algebra, whose kernels are in a file of their own."""
KERNELS = frozenset(
    {*MATRIX_KERNELS, *_defined("kernels.js"), *(name for _, each in _EXPRESSIONS for name in each)}
)
"""Names of the primitives that the page computes."""
