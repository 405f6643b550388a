"""How each benchmark of the paper is run and tabulated."""
