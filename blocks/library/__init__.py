"""The blocks that come with Gradwire, one module a family."""

FAMILIES = (
    "sources",
    "data",
    "arithmetic",
    "functions",
    "activations",
    "logic",
    "reduce",
    "linear",
    "linear_algebra",
    "shape",
    "parts",
    "convolution",
    "sampling",
    "layers",
    "containers",
    "gradient",
    "losses",
    "random",
    "views",
    "pages",
)
"""Modules in the order the palette shows them."""
