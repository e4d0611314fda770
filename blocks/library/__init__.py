"""The blocks that come with Gradwire, one module a family."""

FAMILIES = (
    "sources",
    "arithmetic",
    "functions",
    "activations",
    "logic",
    "reduce",
    "linear",
    "shape",
    "parts",
    "convolution",
    "containers",
    "gradient",
    "losses",
    "random",
    "view",
    "pages",
)
"""Modules in the order the palette shows them."""
