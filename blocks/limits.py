"""Limits of what a diagram may ask for, so that no file can hang or fill the machine."""

MAX_INSTANCES = 200_000
"""Blocks that run, those in every use of a page included."""
MAX_NESTING = 100
"""Pages inside one another; the page that runs counts."""
MAX_PATH_CHARACTERS = 32 * 2**20
"""Characters in the paths of all blocks that run: names grow with the nesting of pages."""
