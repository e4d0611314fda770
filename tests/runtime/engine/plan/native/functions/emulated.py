"""Instructions of AVX-512 for machines that lack them: LLVM's text with others in their place.

They follow Intel's manual, on one element after another; ``rcp14`` is cut to 14 bits.
"""

from __future__ import annotations

import re

LANES = 16

ONE = """
declare double @llvm.floor.f64(double)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)
define float @one.scalef(float %x, float %n) {
  %wide = fpext float %n to double
  %k = call double @llvm.floor.f64(double %wide)
  %low = call double @llvm.maxnum.f64(double %k, double -1000.0)
  %both = call double @llvm.minnum.f64(double %low, double 1000.0)
  %whole = fptosi double %both to i64
  %biased = add i64 %whole, 1023
  %bits = shl i64 %biased, 52
  %power = bitcast i64 %bits to double
  %long = fpext float %x to double
  %product = fmul double %long, %power
  %found = fptrunc double %product to float
  ret float %found
}
define float @one.rcp14(float %x) {
  %found = fdiv float 1.0, %x
  %bits = bitcast float %found to i32
  %cut = and i32 %bits, -1024
  %short = bitcast i32 %cut to float
  ret float %short
}
define float @one.look.up(<16 x float> %a, <16 x float> %b, i32 %at) {
  %within = and i32 %at, 15
  %first = extractelement <16 x float> %a, i32 %within
  %second = extractelement <16 x float> %b, i32 %within
  %bit = and i32 %at, 16
  %is.second = icmp ne i32 %bit, 0
  %found = select i1 %is.second, float %second, float %first
  ret float %found
}
"""

PARAMETERS = {
    "mask.scalef.ps.512": "float a, float b, whole z, i16 m, i32 r",
    "rcp14.ps.512": "float a, whole z, i16 m",
    "permvar.sf.512": "whole a, each c",
    "vpermi2var.ps.512": "whole a, each c, whole b",
}
"""Of the instructions; ``each`` is int32, and ``whole`` is taken with all its elements."""
TYPES = {"float": "<16 x float>", "whole": "<16 x float>", "each": "<16 x i32>"}


def emulated(text: str) -> str:
    """A module without these instructions."""
    used = sorted({*re.findall(r"call [^@]*@llvm\.x86\.avx512\.([\w.]+)", text)})
    lines = [line for line in text.splitlines() if "declare <16 x float> @llvm.x86" not in line]
    whole = "\n".join(lines).replace("@llvm.x86.avx512.", "@emulated.")
    return "\n".join([whole, ONE, *map(_defined, used)])


def _defined(name: str) -> str:
    given = [parameter.split(" ") for parameter in PARAMETERS[name].split(", ")]
    lines, found = [], "zeroinitializer"
    for i in range(LANES):
        operands = []
        for kind, x in given:
            if kind in ("float", "each"):
                lines.append(f"%{x}{i} = extractelement {TYPES[kind]} %{x}, i64 {i}")
                operands.append(f"{'float' if kind == 'float' else 'i32'} %{x}{i}")
        one = name.split(".")[1] if name.startswith("mask") else name.split(".")[0]
        if "perm" in name:
            second = "%b" if name.startswith("vpermi2") else "%a"
            operands = ["<16 x float> %a", f"<16 x float> {second}", *operands]
            one = "look.up"
        lines.append(f"%one{i} = call float @one.{one}({', '.join(operands)})")
        lines.append(f"%all{i} = insertelement <16 x float> {found}, float %one{i}, i64 {i}")
        found = f"%all{i}"
    head = ", ".join(f"{TYPES.get(kind, kind)} %{x}" for kind, x in given)
    body = "\n".join([*lines, f"ret <16 x float> {found}"])
    return f"define <16 x float> @emulated.{name}({head}) {{\n{body}\n}}"
