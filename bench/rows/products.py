"""Matrix products and convolutions: library kernels."""
from measure import normal, row


def product(F, m, k, n):
    """a @ b for those sizes."""
    a, b = F.array(normal(m, k)), F.array(normal(k, n, seed=1))

    def f(a, b):
        return F.matmul(a, b)
    f = f if F.jit is None else F.jit(f)
    return lambda: f(a, b)


@row("matmul 512", goal=1.0)
def matmul_512(F):
    return product(F, 512, 512, 512)


@row("matmul 1024", goal=1.0)
def matmul_1024(F):
    return product(F, 1024, 1024, 1024)


@row("matmul 64 x 784 x 512", goal=1.0)
def matmul_layer(F):
    return product(F, 64, 784, 512)


def convolution(F, n, c, size, out):
    """A 3 x 3 convolution."""
    if F.jit is None:
        return None
    x, w = F.array(normal(n, c, size, size)), F.array(normal(out, c, 3, 3, seed=1) * 0.1)

    def forward(x, w):
        return F.conv2d(x, w, 1)
    f = F.jit(forward)
    return lambda: f(x, w)


@row("conv2d 32x64x32x32, 64 out, 3x3, forward", goal=1.0)
def conv_64(F):
    return convolution(F, 32, 64, 32, 64)


@row("conv2d 32x64x32x32, 64 out, 3x3, forward and backward", goal=1.0)
def conv_64_gradients(F):
    if F.jit is None:
        return None
    x, w = F.array(normal(32, 64, 32, 32)), F.array(normal(64, 64, 3, 3, seed=1) * 0.1)

    def squares(x, w):
        y = F.conv2d(x, w, 1)
        return (y * y).sum()
    f = F.jit(F.value_and_grad(squares, 2))
    return lambda: f(x, w)


@row("conv2d 32x3x32x32, 32 out, 3x3, forward", goal=0.2)
def conv_3(F):
    return convolution(F, 32, 3, 32, 32)
