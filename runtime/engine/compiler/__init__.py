"""The compiler: terms, how they are computed, machine code; needs the ``fast`` extra.

``front`` says what a value is at one place (``terms``), ``schedule`` in which loops and vectors it
is computed, ``emit`` writes these as LLVM's text, and ``computing`` calls what becomes of it. Of
sums of products, as matrix products and convolutions are, ``products`` and ``tiles`` choose and
write the loops; of regions of arithmetic, with folds of rows or columns, ``recipes`` say in which
loops each operation is computed, and ``regions`` write these. Code is for arrays of any lengths,
but for short folds and rows that are folded. What NumPy computes faster is None.
"""
