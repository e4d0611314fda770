"""What is said of operators whose gradient is not finite everywhere."""

from __future__ import annotations

_EQUAL = (
    "What comes back through its vectors is divided by differences of {0}: it is not finite where "
    "some are equal, as several zeros are. Let the loss read the {0} alone, or what doesn't depend "
    "on the choice of vectors, or keep them apart by adding a little to the input."
)
CAVEATS = {
    "_linalg_svd": _EQUAL.format("singular values"),
    **dict.fromkeys(("_linalg_eigh", "linalg_eig"), _EQUAL.format("eigenvalues")),
}
"""What is said besides of operators whose gradient is not finite everywhere."""
