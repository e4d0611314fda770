from gradwire.runtime.formulas.adding import Addition as Addition, add_formula as add_formula
from gradwire.runtime.formulas.folding import fold as fold
from gradwire.runtime.formulas.writing import formula_of as formula_of, python_of as python_of
