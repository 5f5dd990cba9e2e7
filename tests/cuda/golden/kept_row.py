from mindlite.backend.cuda.numba_functions import cuda, exp, float32, float64, inf, maximum, minimum, threads_for


@cuda.jit
def softmax(x, out, n0, n1):
    """f32[5, 78] -> f32[5, 78]"""
    thread = cuda.threadIdx.x
    shared = cuda.shared.array(256, float32)
    shared_1 = cuda.shared.array(256, float64)
    group = threads_for(n0, cuda.blockDim.x)
    lane = thread % group
    rows = cuda.blockDim.x // group
    for first in range(cuda.blockIdx.x*rows, n1, cuda.gridDim.x*rows):
        i0 = first + thread // group
        active = i0 < n1
        i0 = minimum(i0, n1 - 1)
        test_max = float32(-inf)
        for r in range(lane, n0, group):
            test_max = maximum(test_max, x[n0*i0 + r])
        shared[thread] = test_max
        cuda.syncthreads()
        half = group // 2
        while half > 0:
            if lane < half:
                other = thread + half
                shared[thread] = maximum(shared[thread], shared[other])
            cuda.syncthreads()
            half //= 2
        test_max = shared[thread - lane]
        cuda.syncthreads()
        total = float64(0)
        for first_1 in range(0, n0, 1024*group):
            part = float32(0)
            for r_1 in range(first_1 + lane, minimum(first_1 + 1024*group, n0), group):
                test_sub = x[n0*i0 + r_1] - test_max
                test_exp = exp(test_sub)
                part += test_exp
            total += float64(part)
        shared_1[thread] = total
        cuda.syncthreads()
        half_1 = group // 2
        while half_1 > 0:
            if lane < half_1:
                other_1 = thread + half_1
                shared_1[thread] = shared_1[thread] + shared_1[other_1]
            cuda.syncthreads()
            half_1 //= 2
        total = shared_1[thread - lane]
        cuda.syncthreads()
        test_sum = float32(total)
        if active:
            for i1 in range(lane, n0, group):
                test_sub_1 = x[n0*i0 + i1] - test_max
                test_exp_1 = exp(test_sub_1)
                test_div = test_exp_1 / test_sum
                out[n0*i0 + i1] = test_div
