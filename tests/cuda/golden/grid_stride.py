from mindlite.backend.cuda.numba_functions import cuda, float32, maximum


@cuda.jit
def _lambda_(x, b, out, n0, n1):
    """f32[9, 70], f32[70] -> f32[9, 70]"""
    for item in range(cuda.grid(1), n0*n1, cuda.gridsize(1)):
        i0 = item // n0
        i1 = item % n0
        add = x[n0*i0 + i1] + b[i1]
        maximum_1 = maximum(add, float32(0.0))
        out[n0*i0 + i1] = maximum_1
