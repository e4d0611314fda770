"""The arithmetic of the page: loops of elementwise primitives, written from their expressions.

The other primitives are in ``script/kernels``: most pages need what is in ``always.js`` alone, and
have a further file only if they compute one of its primitives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files

from gradwire.runtime.calculus.namespace import primitives

_INPUT = re.compile(r"\b[abc]\b")


def _loop(expression: str, attributes: Collection[str] = ()) -> str:
    """``(out, inputs, maps, f, attributes) => { … }``: plain where no input is stretched."""
    arity = 1 + max(map("abc".index, _INPUT.findall(expression)), default=0)
    names, maps = "abc"[:arity], "pqr"[:arity]
    buffers = names.upper()

    def loop(place: str) -> str:
        read = "".join(
            f"const {name}={buffer}[{place.replace('m', at)}];"
            for name, buffer, at in zip(names, buffers, maps, strict=True)
        )
        return f"for(let i=0;i<o.length;i++){{{read}o[i]={expression}}}"

    named = f",{{{','.join(attributes)}}}" if attributes else ""
    return (
        f"(o,[{','.join(buffers)}],[{','.join(maps)}],f{named})=>"
        f"{{if({'||'.join(maps)}){loop('m?m[i]:i')}else {loop('i')}}}"
    )


def loops(computed: Collection[str] | None, foreign: Mapping[str, Sequence[str]]) -> str:
    """The script that defines ``LOOPS``, for the primitives that are computed (all for None), those
    that ``always.js`` builds upon, and those of plug-ins: their expressions, and after each the
    names of attributes.
    """
    wanted = {
        name: expression
        for name, expression in _EXPRESSIONS.items()
        if computed is None or name in computed or name in _BUILT_UPON
    }
    written = {name: _loop(text) for name, text in wanted.items()}
    written |= {name: _loop(text, attributes) for name, (text, *attributes) in foreign.items()}
    rows = [f"{json.dumps(name)}: {loop}" for name, loop in written.items()]
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


_EXPRESSIONS = {
    primitive.name: primitive.spelling.javascript
    for primitive in sorted(primitives(), key=lambda primitive: len(primitive.rules))
    if primitive.spelling.javascript
}
_ALWAYS = "kernels/always.js"
_BUILT_UPON = frozenset(re.findall(r"^orIntegers\('(\w+)'", source(_ALWAYS), re.MULTILINE))
_FURTHER = {
    part: _defined(part)
    for part in (
        f"kernels/{name}.js" for name in ("order", "indexing", "einsum", "windows", "matrices")
    )
}
KERNELS = _defined(_ALWAYS).union(*_FURTHER.values(), _EXPRESSIONS)
"""Names of the primitives that the page computes."""


def kernel_parts(computed: Collection[str] | None) -> list[str]:
    """The parts of the script that have the kernels of these primitives, or all for None."""
    further = [
        part
        for part, defined in _FURTHER.items()
        if computed is None or not defined.isdisjoint(computed)
    ]
    return [_ALWAYS, *further]
