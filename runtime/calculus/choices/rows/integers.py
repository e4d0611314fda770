"""Rows of integers and booleans: their dtypes and values."""

from __future__ import annotations

import numpy as np

from gradwire.runtime.calculus.choices.choice import Choice
from gradwire.runtime.calculus.choices.points import both_true, dtype_of, overflowing_power
from gradwire.runtime.calculus.dtypes import SIGNED, UNSIGNED

INTEGERS = (
    Choice(
        ("Add", "AddN"), "value", "booleans", both_true, "2 for two true",
        {"PyTorch": "true", "JAX": "true"},
        "A boolean counts as 0 or 1 in arithmetic.", modelled=False,
    ),
    Choice(
        ("Add", "AddN", "Mul", "Maximum", "Minimum"), "dtype", "booleans", dtype_of("bool"),
        "int64", {"PyTorch": "bool", "JAX": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Sign",), "dtype", "booleans", dtype_of("bool"), "int64", {"PyTorch": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Abs",), "dtype", "booleans", dtype_of("bool"), "int64", {"JAX": "bool"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Square", "Pow", "Mod"), "dtype", "booleans", dtype_of("bool"), "int64", {"JAX": "int32"},
        "A boolean counts as 0 or 1 in arithmetic.",
    ),
    Choice(
        ("Sqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Tanh", "Gelu", "Div", "Arctan2",
         "Mean", "Variance", "LogSumExp", "Norm", "Softmax", "LogSoftmax", "Tan", "Arcsin",
         "Arccos", "Arctan", "Sinh", "Cosh", "Arcsinh", "Arccosh", "Arctanh", "Erf"),
        "dtype", "int64 and uint64", dtype_of("int64", "uint64"), "float32",
        {"JAX": "float64 with 64 bits enabled"},
        "Integers become float32 where reals come out; the block warns of it.",
    ),
    Choice(
        ("LeakyRelu", "Elu", "Softplus"), "dtype", "integers and booleans",
        dtype_of("bool", *SIGNED, *UNSIGNED), "float32",
        {"JAX": "float64 with 64 bits enabled"},
        "Integers become float32 where reals come out; the block warns of it.",
    ),
    Choice(
        ("Exp", "Expm1", "Sin", "Cos", "Tan", "Sinh", "Cosh"), "value", "large int64 and uint64",
        lambda s: s.everywhere(s.x.dtype in (np.int64, np.uint64)) & (np.abs(s.x) >= 100),
        "as of float32",
        {"JAX": "as of float64"},
        "Integers become float32 where reals come out; the block warns of it.", modelled=False,
    ),
    Choice(
        ("Softmax", "LogSoftmax"), "value", "integers",
        dtype_of(*SIGNED, *UNSIGNED), "as of float32",
        {"JAX": "differences wrap round"},
        "Reals come out.", modelled=False,
    ),
    Choice(
        ("Norm",), "value", "large uint64", dtype_of("uint64"), "as of float32",
        {"JAX": "squares wrap round"},
        "Reals come out.", extreme=True, modelled=False,
    ),
    Choice(
        ("Pow",), "value", "an integer power that overflows", overflowing_power, "wraps round",
        {"JAX": "another number"},
        "As products of integers do.", extreme=True, modelled=False,
    ),
    Choice(
        ("Sum", "Prod"), "dtype", "uint8, uint16 and uint32", dtype_of(*UNSIGNED[:3]), "int64",
        {"JAX": "uint64"},
        "uint64 goes with no signed integer.",
    ),
    Choice(
        ("Prod",), "value", "a product of uint32 from 2⁶³ on", dtype_of("uint32"), "negative",
        {"JAX": "as of uint64"},
        "uint64 goes with no signed integer.", extreme=True, modelled=False,
    ),
    Choice(
        ("Sum", "Prod", "CumulativeSum"), "dtype", "uint64", dtype_of("uint64"), "uint64",
        {"PyTorch": "int64"},
        "It holds what an int64 does not.",
    ),
    Choice(
        ("Sum", "Prod", "CumulativeSum"), "value", "uint64", dtype_of("uint64"),
        "modulo 2⁶⁴", {"PyTorch": "as of int64: negative from 2⁶³ on"},
        "It holds what an int64 does not.", extreme=True, modelled=False,
    ),
    Choice(
        ("CumulativeSum",), "dtype", "narrow integers", dtype_of(*SIGNED[:3], *UNSIGNED[:3]),
        "int64", {"JAX": "the dtype of x"},
        "As Sum.",
    ),
    Choice(
        ("CumulativeSum",), "value", "narrow integers", dtype_of(*SIGNED[:3], *UNSIGNED[:3]),
        "the sum",
        {"JAX": "wraps round"},
        "As Sum.", modelled=False,
    ),
    Choice(
        ("AllTrue", "AnyTrue"), "dtype", "uint8", dtype_of("uint8"), "bool", {"PyTorch": "uint8"},
        "The answer is true or false.",
    ),
)  # fmt: skip
