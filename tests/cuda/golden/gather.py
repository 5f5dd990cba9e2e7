from mindlite.backend.cuda.numba_functions import cuda, tanh


@cuda.jit
def gather(x, index, out, n0, n1, n2):
    """f32[100, 20], i64[33] -> f32[33, 20]"""
    for item in range(cuda.grid(1), n0*n1, cuda.gridsize(1)):
        i0 = item // n0
        i1 = item % n0
        test_tanh = tanh(x[i1 + index[i0]*(n0)])
        out[n0*i0 + i1] = test_tanh
