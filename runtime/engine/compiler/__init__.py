"""The compiler: terms, how they are computed, machine code; needs the ``fast`` extra.

``front`` says what a value is at one place (``terms``), ``schedule`` in which loops and vectors it
is computed, ``emit`` writes these as LLVM's text, and ``computing`` calls what becomes of it. Code
is for arrays of any lengths, but for windows and short folds. What NumPy computes faster is None.
"""
