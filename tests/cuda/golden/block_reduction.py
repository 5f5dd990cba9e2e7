from mindlite.backend.cuda.numba_functions import cuda, float32, float64, minimum


@cuda.jit
def _lambda_(x, out, n0, n1):
    """f32[17, 70] -> f32[]"""
    thread = cuda.threadIdx.x
    shared = cuda.shared.array(256, float64)
    if cuda.blockIdx.x > 0:
        return
    lane = thread
    group = cuda.blockDim.x
    total = float64(0)
    for first in range(0, n0*n1, 1024*group):
        part = float32(0)
        for r in range(first + lane, minimum(first + 1024*group, n0*n1), group):
            part += x[r]
        total += float64(part)
    shared[thread] = total
    cuda.syncthreads()
    half = group // 2
    while half > 0:
        if lane < half:
            other = thread + half
            shared[thread] = shared[thread] + shared[other]
        cuda.syncthreads()
        half //= 2
    total = shared[thread - lane]
    cuda.syncthreads()
    reduce_sum = float32(total)
    if lane == 0:
        out[0] = reduce_sum
