"""Limits of what a diagram may ask for, so that no file can hang or fill the machine."""

MAX_INSTANCES = 200_000
"""Blocks that run, those in every use of a page included."""
MAX_NESTING = 100
"""Pages inside one another; the page that runs counts."""
MAX_PATH_CHARACTERS = 32 * 2**20
"""Characters in the paths of all blocks that run: names grow with the nesting of pages."""
MAX_AXES = 64
"""Axes of an array, as many as numpy allows."""
MAX_ELEMENTS = 2**36
"""Elements of an array, those of broadcast ones that take no memory included."""
MAX_CONSTANT = 2**28
"""Elements of an array that is made while a diagram is traced, such as that of a Range."""
MAX_VALUES = 4_000_000
"""Values that a diagram computes, and nodes of the trees on its wires, all together."""
MAX_NODES = 50_000
"""Nodes of one tree: its leaves, mappings and sequences."""
MAX_LEAF_PATH = 1_000
"""Characters in the path of a leaf of a tree."""
MAX_COMPARISONS = 5_000_000
"""Comparisons of parts of patterns with parts of the paths of a tree, in one block."""
MAX_ENTRIES = 5_000_000
"""Values in a diagram's file; large arrays, which lie beside it, don't count."""
MAX_CONTAINERS = 1_500_000
"""Lists and objects in a diagram's file."""
MAX_CONTRACTS = 10_000
"""Lines of contracts in a diagram."""
