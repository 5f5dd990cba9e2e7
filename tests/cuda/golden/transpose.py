from mindlite.backend.cuda.numba_functions import cuda, float32, tanh


@cuda.jit
def _lambda_(x, out, n0, n1):
    """f32[50, 70] -> f32[70, 50]"""
    thread = cuda.threadIdx.x
    tile = cuda.shared.array((32, 33), float32)
    down = (n1 + 31) // 32
    right = (n0 + 31) // 32
    for square in range(cuda.blockIdx.x, down*right, cuda.gridDim.x):
        row = square // right % down * 32
        column = square % right * 32
        for t_1 in range(thread, 1024, cuda.blockDim.x):
            i0 = row + t_1 % 32
            i1 = column + t_1 // 32
            if i0 < n1 and i1 < n0:
                tile[i1 - column, i0 - row] = x[i1*n1 + i0]
        cuda.syncthreads()
        for t_1 in range(thread, 1024, cuda.blockDim.x):
            i1 = column + t_1 % 32
            i0 = row + t_1 // 32
            if i0 < n1 and i1 < n0:
                element = tile[i1 - column, i0 - row]
                tanh_1 = tanh(element)
                out[n0*i0 + i1] = tanh_1
        cuda.syncthreads()
