"""The frameworks that are compared, each as an object with the same names: array, jit, value_and_grad, tanh, ...

Only the chosen one is imported, because each lives in an environment of its own.
"""
import importlib
import time

import numpy as np

SETTLED = 0.5, 1200                                # seconds or calls without a compilation after which a function has settled
MOST_TRIES = 8                                     # so many times it is called for that long, at most


class Framework:
    """What all have: array(ndarray), numpy(x), wait(x), leaves(value); jit and grad are None where there is none.

    kind: whose programs it runs ("mindspore", "jax", "torch", "numpy"); compiles: is the first call a compilation?
    """
    name = kind = ""
    compiles = True

    def array(self, x):
        """The framework's array of an ndarray."""
        raise NotImplementedError

    def rows(self, x):
        """The array of a batch: all of it; of many ranks, each takes its rows (parallel.py)."""
        return self.array(x)

    def converted(self, x, dtype):
        """The framework's array of an ndarray, with elements of the dtype of this name; None: as they are."""
        raise NotImplementedError

    def pullback(self, f, wrt):
        """(*operands, cotangent of f's value) -> the gradients for the operands numbered in wrt"""
        raise NotImplementedError

    def numpy(self, x):
        """The ndarray of a framework's array or a number."""
        return np.asarray(x)

    def wait(self, value):
        """Wait until everything in `value` is computed; returns it."""
        return value

    def settle(self, run):
        """Call run() until nothing more is compiled for it."""

    def leaves(self, value):
        """The arrays in a value."""
        if isinstance(value, (tuple, list)):
            return [leaf for part in value for leaf in self.leaves(part)]
        return [] if value is None else [value]


class MindSporeLike(Framework):
    """What speaks MindSpore's interface, imported as `package`."""
    kind = "mindspore"

    def __init__(self, package):
        ms = importlib.import_module(package)
        self.ms, self.nn = ms, importlib.import_module(f"{package}.nn")
        self.ops = importlib.import_module(f"{package}.ops")
        self.jit, self.tanh, self.sigmoid, self.matmul = ms.jit, self.ops.tanh, self.ops.sigmoid, self.ops.matmul
        self.gelu = self.ops.gelu
        self.versions = {package: ms.__version__, "numpy": np.__version__}

    def array(self, x):
        return self.ms.Tensor(x)

    def converted(self, x, dtype):
        made = self.ms.Tensor(x)
        return made if dtype is None else made.astype(getattr(self.ms, {"bool": "bool_"}.get(dtype, dtype)))

    def pullback(self, f, wrt):
        """(*operands, cotangent of f's value) -> the gradients for the operands numbered in wrt"""
        return self.ms.grad(f, wrt, sens_param=True)

    def numpy(self, x):
        return x.asnumpy() if hasattr(x, "asnumpy") else np.asarray(x)

    def reduced(self, optimiser):
        """gradients -> what the optimiser takes; of many ranks they are summed"""
        return lambda grads: grads

    def grad(self, f):
        """x -> df/dx"""
        return self.ms.grad(f)

    def value_and_grad(self, f, count=1):
        """(x, ..) -> (f(x, ..), df/dx), or a gradient for each of the first `count` arguments"""
        return self.ms.value_and_grad(f, tuple(range(count)) if count > 1 else 0)

    def record(self, f):
        """x -> f(x), with all that its gradient needs"""
        return lambda x: self.ms.vjp(f, x)[0]

    def layer_norm(self, x, gamma, beta):
        """Normalise the last axis."""
        return self.ops.layer_norm(x, gamma.shape, gamma, beta)

    def cross_entropy(self, x, labels):
        """The mean of -log softmax(x)[label]."""
        return self.ops.cross_entropy(x, labels)

    def conv2d(self, x, w, padding, stride=1, groups=1, dilation=1):
        """Convolution, NCHW."""
        return self.ops.conv2d(x, w, None, stride, "pad", padding, dilation, groups)


class Mindlite(MindSporeLike):
    """mindlite itself."""
    name = "mindlite"

    def __init__(self):
        super().__init__("mindlite")
        self.counters = importlib.import_module("mindlite.common.events").counters
        self.beside = importlib.import_module("mindlite.pynative.beside")

    def settle(self, run):
        """Call run() until eager mode compiles nothing more for it, which it does beside the calls, once that is worth it."""
        for _ in range(MOST_TRIES):
            before, start, calls = self.compiled(), time.perf_counter(), 0
            while time.perf_counter() - start < SETTLED[0] and calls < SETTLED[1]:
                run()
                calls += 1
            self.beside.compiler.wait()
            if self.compiled() == before:
                return

    def compiled(self):
        """How many Flows were compiled, or came from the disk, up to now."""
        return sum(self.counters[name] for name in ("flow_compile", "flow_restore", "flow_load"))


class MindSpore(MindSporeLike):
    """MindSpore on the CPU, in graph mode."""
    name = "mindspore"

    def __init__(self):
        super().__init__("mindspore")

    def layer_norm(self, x, gamma, beta):
        """Normalise the last axis; ops.layer_norm has no kernel for the CPU."""
        mean = x.mean(-1, keep_dims=True)
        variance = ((x - mean) ** 2).mean(-1, keep_dims=True)
        return (x - mean) * self.ops.rsqrt(variance + 1e-5) * gamma + beta

    def wait(self, value):
        for leaf in self.leaves(value):
            if hasattr(leaf, "asnumpy"):
                leaf.asnumpy()
        return value


class Jax(Framework):
    """jax.jit on the CPU."""
    name = kind = "jax"

    def __init__(self):
        jax = importlib.import_module("jax")
        self.jax, self.jnp, self.lax = jax, importlib.import_module("jax.numpy"), jax.lax
        self.jit, self.tanh, self.sigmoid, self.matmul = jax.jit, self.jnp.tanh, jax.nn.sigmoid, self.jnp.matmul
        self.grad = jax.grad
        self.versions = {"jax": jax.__version__, "numpy": np.__version__}

    def array(self, x):
        return self.jnp.asarray(x)

    def converted(self, x, dtype):
        return self.jnp.asarray(x) if dtype is None else self.jnp.asarray(x).astype(dtype)

    def pullback(self, f, wrt):
        """(*operands, cotangent of f's value) -> the gradients for the operands numbered in wrt"""
        def run(*operands):
            *inputs, dout = operands

            def of(*chosen):
                inside = dict(zip(wrt, chosen))
                return f(*[inside.get(i, x) for i, x in enumerate(inputs)])
            return self.jax.vjp(of, *[inputs[i] for i in wrt])[1](dout)
        return run

    def value_and_grad(self, f, count=1):
        """(x, ..) -> (f(x, ..), df/dx), or a gradient for each of the first `count` arguments"""
        return self.jax.value_and_grad(f, tuple(range(count)) if count > 1 else 0)

    def record(self, f):
        """x -> f(x), with all that its gradient needs"""
        return lambda x: self.jax.vjp(f, x)[0]

    def wait(self, value):
        return self.jax.block_until_ready(value)

    def gelu(self, x):
        """The exact form, with erf."""
        return self.jax.nn.gelu(x, approximate=False)

    def layer_norm(self, x, gamma, beta):
        """Normalise the last axis."""
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * self.lax.rsqrt(variance + 1e-5) * gamma + beta

    def cross_entropy(self, x, labels):
        """The mean of -log softmax(x)[label]."""
        logs = self.jax.nn.log_softmax(x)
        return -self.jnp.take_along_axis(logs, labels[:, None], 1).mean()

    def conv2d(self, x, w, padding, stride=1, groups=1, dilation=1):
        """Convolution, NCHW."""
        return self.lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, feature_group_count=groups,
                                             rhs_dilation=(dilation, dilation))


class Torch(Framework):
    """PyTorch, eager; its jit does nothing."""
    name = kind = "torch"
    compiles = False

    def __init__(self):
        torch = importlib.import_module("torch")
        self.torch, self.functional = torch, importlib.import_module("torch.nn.functional")
        self.tanh, self.sigmoid, self.matmul, self.array = torch.tanh, torch.sigmoid, torch.matmul, torch.from_numpy
        self.versions = {"torch": torch.__version__, "numpy": np.__version__}

    def jit(self, f):
        """f as it is."""
        return f

    def joined(self, net, optimiser):
        """The network as it is; of many ranks, one that sums gradients, which the optimiser steps"""
        return net

    def converted(self, x, dtype):
        return self.array(x) if dtype is None else self.array(x).to(getattr(self.torch, dtype))

    def pullback(self, f, wrt):
        """(*operands, cotangent of f's value) -> the gradients for the operands numbered in wrt"""
        def run(*operands):
            *inputs, dout = operands
            for i in wrt:
                inputs[i] = inputs[i].detach().requires_grad_()
            return self.torch.autograd.grad(f(*inputs), [inputs[i] for i in wrt], dout)
        return run

    def numpy(self, x):
        if not isinstance(x, self.torch.Tensor):
            return np.asarray(x)
        return (x.float() if x.dtype is self.torch.bfloat16 else x).detach().numpy()

    def value_and_grad(self, f, count=1):
        """(x, ..) -> (f(x, ..), df/dx), or a gradient for each of the first `count` arguments"""
        def run(*operands):
            leaves = [x.detach().requires_grad_() for x in operands[:count]]
            value = f(*leaves, *operands[count:])
            grads = self.torch.autograd.grad(value, leaves)
            return value.detach(), grads if count > 1 else grads[0]
        return run

    def record(self, f):
        """x -> f(x), with all that its gradient needs"""
        return lambda x: f(x.detach().requires_grad_())

    def grad(self, f):
        """x -> df/dx"""
        run = self.value_and_grad(f)
        return lambda x: run(x)[1]

    def gelu(self, x):
        """The exact form, with erf."""
        return self.functional.gelu(x)

    def layer_norm(self, x, gamma, beta):
        """Normalise the last axis."""
        return self.functional.layer_norm(x, gamma.shape, gamma, beta)

    def cross_entropy(self, x, labels):
        """The mean of -log softmax(x)[label]."""
        return self.functional.cross_entropy(x, labels.long())

    def conv2d(self, x, w, padding, stride=1, groups=1, dilation=1):
        """Convolution, NCHW."""
        return self.functional.conv2d(x, w, None, stride, padding, dilation, groups)


class TorchCompile(Torch):
    """torch.compile: the forward function is compiled, and with it its gradient."""
    name = "torch.compile"
    compiles = True

    def jit(self, f):
        """f compiled; what differentiates has compiled the function inside already."""
        return f if getattr(f, "differentiates", False) else self.torch.compile(f)

    def value_and_grad(self, f, count=1):
        run = super().value_and_grad(self.torch.compile(f), count)
        run.differentiates = True
        return run

    def grad(self, f):
        run = super().grad(f)
        run.differentiates = True
        return run


class Numpy(Framework):
    """NumPy, line by line; what has no derivative or compiler there is left out."""
    name = kind = "numpy"
    compiles = False
    jit = grad = value_and_grad = record = None

    def __init__(self):
        self.tanh, self.matmul = np.tanh, np.matmul
        self.versions = {"numpy": np.__version__}

    def array(self, x):
        return x

    def sigmoid(self, x):
        """1 / (1 + exp(-x))"""
        return 1 / (1 + np.exp(-x))


FRAMEWORKS = {f.name: f for f in (Mindlite, Jax, Torch, TorchCompile, MindSpore, Numpy)}
