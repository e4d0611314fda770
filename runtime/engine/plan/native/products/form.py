"""How matrix products are computed by machine code: what kernels exist, and what they take."""

from __future__ import annotations

from typing import NamedTuple

PRODUCT = (
    "matrices", "left_row", "left_next", "right_column", "right_next", "out_step", "rows",
    "columns", "depth", "chunk", "block", "tiles", "full", "panels", "bias",
)  # fmt: skip
"""The frame of ``product``: an address, bytes, counts, and an address, all int64."""

VECTORS = 2
"""Vectors in a row of a tile."""

LINE = 64
"""Bytes of a line of the caches."""

FEW_BESIDE, MANY_BESIDE = 16, 64
"""Panels of columns that are packed at once for short vectors: few stay in the second-level cache;
many are worth it where rows are packed too, anew for each time.
"""


class Form(NamedTuple):
    """How a product is computed: in tiles of ``rows`` by ``VECTORS`` vectors of ``lanes`` elements.

    Some tiles have a row less. Of a deep operand, elements along the sum lie side by side; of
    others, those across it. A deep right operand is packed. Of a turned result, the elements of a
    column lie side by side; of others, those of a row. With ``is_whole`` tiles make up all columns;
    with ``ends_narrow`` the last ones fit into one vector; with ``in_chunks`` the terms are not all
    added at once. With ``has_bias`` a row is added to each row of the result, and with ``has_relu``
    what is less than 0 is 0 then.
    """

    dtype: str
    lanes: int
    rows: int
    left_is_deep: bool
    left_is_packed: bool
    right_is_deep: bool
    right_is_packed: bool
    is_turned: bool
    is_whole: bool
    ends_narrow: bool
    in_chunks: bool
    has_bias: bool = False
    has_relu: bool = False

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return int(self.dtype[5:]) // 8

    @property
    def is_short(self) -> bool:
        """Whether a vector is shorter than a line of the caches."""
        return self.lanes * self.bytes < LINE

    @property
    def beside(self) -> int:
        """Panels of columns that are packed at once."""
        if not self.is_short:
            return 1
        return MANY_BESIDE if self.left_is_packed else FEW_BESIDE

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return VECTORS * self.lanes

    @property
    def has_ending(self) -> bool:
        """Whether something is done to the sums before they are written."""
        return self.has_bias or self.has_relu

    @property
    def board(self) -> int:
        """Elements of a tile, in whole vectors of rows."""
        return self.packed_rows * self.columns

    @property
    def packed_rows(self) -> int:
        """Rows of a packed tile: whole vectors, or all that lie in one short vector."""
        if self.is_short and self.rows <= self.lanes:
            return self.rows
        return -(-self.rows // self.lanes) * self.lanes


def scratch_bytes(form: Form, chunk: int, block: int, panels: int) -> int:
    """Bytes of memory that a call needs for itself."""
    right = (chunk + form.lanes) * form.columns if form.right_is_packed else 0
    if form.right_is_packed and form.is_short:
        right = (min(panels, form.beside) * (chunk + 1) + form.lanes) * form.columns
    left = (block * (chunk + 1) + form.lanes) * form.packed_rows if form.left_is_packed else 0
    board = form.board if form.is_turned else 0
    return (board + right + left) * form.bytes
