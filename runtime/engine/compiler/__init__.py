"""The compiler: terms, how they are computed, machine code; needs the ``fast`` extra.

``front`` says what a value is at one place (``terms``), ``schedule`` in which loops and vectors it
is computed, ``emit`` writes these as LLVM's text, and ``computing`` calls what becomes of it. Of
sums of products, as matrix products and convolutions are, ``products`` and ``tiles`` choose and
write the loops. Code is for arrays of any lengths, but for windows and short folds. What NumPy
computes faster is None.
"""
