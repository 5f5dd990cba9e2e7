"""SciPy's names on Tensors: linear algebra, optimisation, cosine transforms, iterative solvers.

    linalg.solve_triangular(a, b, lower=True);  optimize.minimize(f, x0, method="BFGS").x;  sparse.linalg.cg(A, b)

Results have gradients: of the solution, not of the way to it. source : MindSpore, mindspore.scipy; SciPy
"""
from . import fft, linalg, ops, optimize, sparse  # noqa: F401
