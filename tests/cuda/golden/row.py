from mindlite.backend.cuda.numba_functions import cuda, exp, float32, float64, minimum, threads_for


@cuda.jit
def _lambda_(x, out, n0, n1):
    """f32[5, 78] -> f32[5]"""
    thread = cuda.threadIdx.x
    shared = cuda.shared.array(256, float64)
    group = threads_for(n1, cuda.blockDim.x)
    lane = thread % group
    rows = cuda.blockDim.x // group
    for first in range(cuda.blockIdx.x*rows, n0, cuda.gridDim.x*rows):
        i0 = first + thread // group
        active = i0 < n0
        i0 = minimum(i0, n0 - 1)
        total = float64(0)
        for first_1 in range(0, n1, 1024*group):
            part = float32(0)
            for r in range(first_1 + lane, minimum(first_1 + 1024*group, n1), group):
                exp_1 = exp(x[i0*n1 + r])
                part += exp_1
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
        div = reduce_sum / float32(78.0)
        if active and lane == 0:
            out[i0] = div
