"""One attack a module.

A module has `RECIPES`, a hypothesis strategy of recipes (JSON, so that a case can be kept in a
file), `attack(recipe, folder)`, which tries one case in a new folder and returns "refused" or
"held" or raises, and `CASES`, how many of them the tests try. `CHECK_BOUNDS = True` lets `make fuzz`
try it with bounds of arrays checked in kernels, too.
"""
