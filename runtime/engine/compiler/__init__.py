"""The compiler: terms, how they are computed, machine code; needs the ``fast`` extra.

``computing`` says what a value is at one place and calls what becomes of it;
``schedule`` says in which loops and vectors it is computed, of sums of products, as matrix products
and convolutions are, ``products`` do; ``tiles`` write these as LLVM's text. Regions of arithmetic,
with folds of rows or columns, are ``regions``. Code is for arrays of any lengths, but for short
folds and rows that are folded. What NumPy computes faster is None.
"""
