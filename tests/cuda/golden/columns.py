from mindlite.backend.cuda.numba_functions import cuda, float32, float64, minimum


@cuda.jit
def column_moments(x, out0, out1, n0, n1):
    """f32[50, 70] -> f32[70], f32[70]"""
    thread = cuda.threadIdx.x
    shared = cuda.shared.array(256, float64)
    lane = thread % 32
    row = thread // 32
    rows = cuda.blockDim.x // 32
    for first in range(cuda.blockIdx.x*32, n0, cuda.gridDim.x*32):
        i0 = first + lane
        active = i0 < n0
        i0 = minimum(i0, n0 - 1)
        total = float64(0)
        for first_1 in range(0, n1, 1024*rows):
            part = float32(0)
            for r in range(first_1 + row, minimum(first_1 + 1024*rows, n1), rows):
                part += x[n0*r + i0]
            total += float64(part)
        shared[thread] = total
        cuda.syncthreads()
        half = rows // 2
        while half > 0:
            if row < half:
                other = thread + half*32
                shared[thread] = shared[thread] + shared[other]
            cuda.syncthreads()
            half //= 2
        total = shared[lane]
        cuda.syncthreads()
        reduce_sum = float32(total)
        total_1 = float64(0)
        for first_2 in range(0, n1, 1024*rows):
            part_1 = float32(0)
            for r_1 in range(first_2 + row, minimum(first_2 + 1024*rows, n1), rows):
                t_1 = x[n0*r_1 + i0]
                mul = t_1 * t_1
                part_1 += mul
            total_1 += float64(part_1)
        shared[thread] = total_1
        cuda.syncthreads()
        half_1 = rows // 2
        while half_1 > 0:
            if row < half_1:
                other_1 = thread + half_1*32
                shared[thread] = shared[thread] + shared[other_1]
            cuda.syncthreads()
            half_1 //= 2
        total_1 = shared[lane]
        cuda.syncthreads()
        reduce_sum_1 = float32(total_1)
        if active and row == 0:
            out0[i0] = reduce_sum
        if active and row == 0:
            out1[i0] = reduce_sum_1
