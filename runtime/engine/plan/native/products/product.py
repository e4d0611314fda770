"""Matrix products as loops of machine code.

A tile of the result is held in registers, while it goes along rows of the left operand and across
columns of the right one. Nothing beyond the operands is read: vectors at edges are masked.
"""

from __future__ import annotations

from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel
from gradwire.runtime.engine.plan.native.products.form import PRODUCT, Form
from gradwire.runtime.engine.plan.native.products.long_vectors import by_long_vectors
from gradwire.runtime.engine.plan.native.products.short_vectors import by_short_vectors
from gradwire.runtime.engine.plan.native.products.tiles import Matrices


@lru_cache(maxsize=64)
def product(form: Form) -> Kernel:
    """``out[i, j] = Σ left[i, k] · right[k, j]``, each sum by chunks of so many terms in order.

    ``call(frame, scratch, start, stop)`` computes the units from start to stop, of which each is
    one of the ``panels`` of columns of one of the products. ``matrices`` has three addresses for
    each product: left, right and out. Of the ``tiles``, so many are ``full``, the first ones;
    ``block`` of them are computed at once, of ``chunk`` terms. ``bias`` is the address of a row,
    where the form has one. See ``scratch_bytes``.
    """
    w = Assembly("product", form.dtype, form.lanes, PRODUCT)
    first = w.put("udiv i64 %start, %panels")
    last = w.put(f"udiv i64 {w.add(w.add('%stop', '%panels'), -1)}, %panels")
    with w.loop("n", first, last) as n:
        units = w.multiply(n, "%panels")
        begin = w.most(w.subtract("%start", units), 0)
        end = w.least(w.subtract("%stop", units), "%panels")
        if form.is_short:
            by_short_vectors(w, form, _matrices(w, n), (begin, end))
        else:
            following = w.least(w.add(n, 1), w.add(last, -1))
            is_followed = w.subtract(following, n)
            then = _matrices(w, following), is_followed
            by_long_vectors(w, form, _matrices(w, n), (begin, end), then)
    return Kernel(*machine.function(w.text(), "product", is_vector=True))


def _matrices(w: Assembly, number: str) -> Matrices:
    """The addresses of a product's matrices."""
    first = w.multiply(number, len(Matrices._fields))
    return Matrices(*(w.entry("%matrices", w.add(first, x)) for x in range(3)))
