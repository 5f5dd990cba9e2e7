"""The same kinds of work in sizes that no other row has: no powers of two, few rows, odd pictures, strides, groups."""
from measure import labels, normal, row

GOAL = 1.5


def compiled(F, f):
    """f compiled, or as it is where nothing compiles."""
    return f if F.jit is None else F.jit(f)


def product_row(name, *shapes, turned=None):
    """A product of two arrays; turned: 0 or 1, the number of one that is the transpose of an array."""
    @row(f"other sizes: {name}", goal=GOAL)
    def make(F):
        a, b = (F.array(normal(*(shape[::-1] if i == turned else shape), seed=i)) for i, shape in enumerate(shapes))

        def product(*operands):
            return F.matmul(*(x.swapaxes(0, 1) if i == turned else x for i, x in enumerate(operands)))
        f = compiled(F, product)
        return lambda: f(a, b)


product_row("matmul 37 x 501 x 999", (37, 501), (501, 999))
product_row("matmul 3 x 5000 x 7", (3, 5000), (5000, 7))
product_row("matmul 700 x 3 x 700", (700, 3), (3, 700))
product_row("matmul 1 x 1000 x 1000", (1, 1000), (1000, 1000))
product_row("matmul 31 of 65 x 17 x 33", (31, 65, 17), (31, 17, 33))
product_row("matmul 1 x 5000 x 7", (1, 5000), (5000, 7))
product_row("matmul 7 x 5000 x 1", (7, 5000), (5000, 1))
product_row("matmul 1001 x 1 x 999", (1001, 1), (1, 999))
product_row("matmul 64 of 8 x 8 x 8", (64, 8, 8), (64, 8, 8))
product_row("matmul 9999 x 17 x 15", (9999, 17), (17, 15))
product_row("matmul 17 x 9999 x 15", (17, 9999), (9999, 15))
product_row("matmul 3 x 5000 x 7, b transposed", (3, 5000), (5000, 7), turned=1)
product_row("matmul 2 x 768 x 3072, b transposed", (2, 768), (768, 3072), turned=1)
product_row("matmul 127 x 15 x 513, a transposed", (127, 15), (15, 513), turned=0)


def function_row(name, make_function, *arrays, differentiate=False):
    """A function of arrays, or value and gradient for the first."""
    @row(f"other sizes: {name}", goal=GOAL)
    def make(F):
        if F.jit is None:
            return None
        first, *rest = map(F.array, arrays)
        function = make_function(F)

        def of_first(x):
            return function(x, *rest)
        f = F.jit(F.value_and_grad(of_first) if differentiate else of_first)
        return lambda: f(first)


function_row("GELU, 1000003", lambda F: F.gelu, normal(1000003))
function_row("tanh(x.T) + y, 501 x 333", lambda F: lambda x, y: F.tanh(x.T) + y, normal(333, 501), normal(501, 333))
function_row("column sums, 1001 x 333", lambda F: lambda x: (x * x).sum(0), normal(1001, 333))
function_row("sum of a middle axis, 37 x 101 x 53", lambda F: lambda x: (x * x).sum(1), normal(37, 101, 53))
function_row("LayerNorm forward and backward, 77 x 333",
             lambda F: lambda x, g, b: (F.layer_norm(x, g, b) * x).sum(), normal(77, 333), normal(333),
             normal(333, seed=2), differentiate=True)
function_row("cross entropy forward and backward, 77 x 333", lambda F: F.cross_entropy, normal(77, 333),
             labels(77, 333), differentiate=True)


def conv_row(name, x, w, padding, stride=1, groups=1, dilation=1):
    """A convolution, forward and with its gradient for the picture."""
    pictures, weights = normal(*x), normal(*w, seed=1) * 0.1

    def convolution(F):
        return lambda x, w: F.conv2d(x, w, padding, stride, groups, dilation)
    function_row(f"{name}, forward", convolution, pictures, weights)

    def squares(F):                                # of a plain sum the gradient is that of ones, which jax makes less of
        f, square = convolution(F), lambda y: (y * y).sum()
        return lambda x, w: square(f(x, w))
    function_row(f"{name}, gradient", squares, pictures, weights, differentiate=True)


conv_row("conv 5 channels of 17 x 23, 11 out, 5 x 5", (7, 5, 17, 23), (11, 5, 5, 5), 2)
conv_row("conv 20 channels of 29 x 31, 34 out, 3 x 3, stride 2", (5, 20, 29, 31), (34, 20, 3, 3), 1, stride=2)
conv_row("conv 21 channels of 27 x 29, 35 out, 1 x 1, stride 2", (5, 21, 27, 29), (35, 21, 1, 1), 0, stride=2)
conv_row("conv 24 channels of 15 x 13, 36 out, 3 x 3, 3 groups", (9, 24, 15, 13), (36, 8, 3, 3), 1, groups=3)
conv_row("conv 24 channels of 27 x 29, 3 x 3, depthwise", (5, 24, 27, 29), (24, 1, 3, 3), 1, groups=24)
conv_row("conv 24 channels of 27 x 29, 3 x 3, depthwise, stride 2", (5, 24, 27, 29), (24, 1, 3, 3), 1, 2, groups=24)
conv_row("conv 13 channels of 27 x 29, 18 out, 3 x 3, dilation 2", (5, 13, 27, 29), (18, 13, 3, 3), 2, dilation=2)
conv_row("conv 33 channels of 19 x 19, 47 out, 1 x 1", (6, 33, 19, 19), (47, 33, 1, 1), 0)
conv_row("conv 19 channels of 21 x 9, 21 out, 3 x 3", (6, 19, 21, 9), (21, 19, 3, 3), 1)
conv_row("conv 3 channels of 63 x 65, 16 out, 3 x 3, batch 1", (1, 3, 63, 65), (16, 3, 3, 3), 1)
