"""The test networks once more, over plain NumPy, from the formulas; gradients by HIPS autograd (Maclaurin et al. 2015).

Nothing here knows mindlite. Parameters come as {name: float64 array}, under the names that the Cells in networks.py
give them; each network is a function (parameters, x, labels) -> loss.
"""
import autograd
import autograd.numpy as np
import numpy


def loss_and_gradients(network, parameters, x, labels):
    """(loss, {name: gradient}) of one of the functions below, in float64."""
    parameters = {name: numpy.asarray(value, numpy.float64) for name, value in parameters.items()}
    loss, grads = autograd.value_and_grad(network)(parameters, numpy.asarray(x, numpy.float64), labels)
    return float(loss), grads


# ---------------------------------------------------------------- layers

def dense(p, name, x):
    """x W^T + b"""
    return np.dot(x, p[f"{name}.weight"].T) + p[f"{name}.bias"]


def relu(x):
    """max(x, 0)"""
    return np.where(x > 0, x, 0.0)


def sigmoid(x):
    """1 / (1 + e^-x)"""
    return 1 / (1 + np.exp(-x))


def cross_entropy(logits, labels):
    """The mean of log(sum e^logits) - logits[label]."""
    top = np.max(logits, axis=-1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(logits - top), axis=-1)) + top[..., 0]
    return np.mean(log_sum - logits[numpy.arange(len(labels)), labels])


def convolution(x, weight, stride, pad):
    """out[n, o, y, z] = sum over c, i, j of x[n, c, y s + i, z s + j] w[o, c, i, j], x padded by zeros."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), "constant")
    kernel = weight.shape[2]
    rows, columns = (x.shape[2] - kernel) // stride + 1, (x.shape[3] - kernel) // stride + 1
    out = 0.0
    for i in range(kernel):
        for j in range(kernel):
            window = x[:, :, i:i + stride * (rows - 1) + 1:stride, j:j + stride * (columns - 1) + 1:stride]
            out = out + np.einsum("ncyz,oc->noyz", window, weight[:, :, i, j])
    return out


def max_pool(x):
    """The largest of each 2 x 2 window."""
    n, c, h, w = x.shape
    return np.max(np.reshape(x, (n, c, h // 2, 2, w // 2, 2)), axis=(3, 5))


def normalised(x, axes, eps):
    """(x - mean) / sqrt(variance + eps) over the axes; the variance is the mean square of what is left."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred ** 2, axis=axes, keepdims=True) + eps)


def batch_norm(p, name, x):
    """Over all axes but the channels', by the batch's own moments."""
    gamma, beta = p[f"{name}.gamma"], p[f"{name}.beta"]
    return normalised(x, (0, 2, 3), 1e-5) * gamma[None, :, None, None] + beta[None, :, None, None]


def layer_norm(p, name, x):
    """Over the last axis."""
    return normalised(x, (-1,), 1e-5) * p[f"{name}.gamma"] + p[f"{name}.beta"]


# ---------------------------------------------------------------- networks

def mlp(p, x, labels):
    """Three dense layers, relu between them."""
    x = relu(dense(p, "first", x))
    x = relu(dense(p, "second", x))
    return cross_entropy(dense(p, "third", x), labels)


def lenet(p, x, labels):
    """LeNet-5 (LeCun et al. 1998) with relu and max pooling: two convolutions of 5 x 5, three dense layers."""
    x = convolution(x, p["conv1.weight"], 1, 0) + p["conv1.bias"][None, :, None, None]
    x = max_pool(relu(x))
    x = convolution(x, p["conv2.weight"], 1, 0) + p["conv2.bias"][None, :, None, None]
    x = max_pool(relu(x))
    x = np.reshape(x, (x.shape[0], -1))
    x = relu(dense(p, "fc1", x))
    x = relu(dense(p, "fc2", x))
    return cross_entropy(dense(p, "fc3", x), labels)


def resnet(p, x, labels):
    """ResNet-18 in its form for CIFAR (He et al. 2016): four stages of two basic blocks, mean over the picture."""
    x = relu(batch_norm(p, "norm", convolution(x, p["conv.weight"], 1, 1)))
    for stage in range(4):
        for block in range(2):
            name, stride = f"blocks.{2 * stage + block}", 2 if stage > 0 and block == 0 else 1
            inner = relu(batch_norm(p, f"{name}.norm1", convolution(x, p[f"{name}.conv1.weight"], stride, 1)))
            inner = batch_norm(p, f"{name}.norm2", convolution(inner, p[f"{name}.conv2.weight"], 1, 1))
            if stride == 2:
                x = batch_norm(p, f"{name}.norm3", convolution(x, p[f"{name}.conv3.weight"], 2, 0))
            x = relu(x + inner)
    return cross_entropy(dense(p, "fc", np.mean(x, axis=(2, 3))), labels)


def transformer(p, x, labels):
    """Two encoder layers (Vaswani et al. 2017) of two heads, normalised after each sum; x is [T, N, E]."""
    for layer in range(2):
        name = f"encoder.layers.{layer}"
        x = layer_norm(p, f"{name}.norm1", x + attention(p, f"{name}.self_attn", x, heads=2))
        inner = dense(p, f"{name}.dense2", relu(dense(p, f"{name}.dense1", x)))
        x = layer_norm(p, f"{name}.norm2", x + inner)
    return cross_entropy(dense(p, "head", np.mean(x, axis=0)), labels)


def attention(p, name, x, heads):
    """Each head: softmax(q k^T / sqrt(d)) v; the heads side by side, projected."""
    length, batch, features = x.shape
    q, k, v = np.split(np.dot(x, p[f"{name}.in_proj_weight"].T) + p[f"{name}.in_proj_bias"], 3, axis=-1)
    size, made = features // heads, []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = np.einsum("tne,sne->nts", q[..., part], k[..., part]) / numpy.sqrt(size)
        weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        made.append(np.einsum("nts,sne->tne", weights, v[..., part]))
    return dense(p, f"{name}.out_proj", np.concatenate(made, axis=-1))


def lstm(p, x, labels):
    """An LSTM over the axis 1 of x (Hochreiter & Schmidhuber 1997; Gers et al. 2000), the last state classified."""
    batch, steps, _ = x.shape
    size = p["hidden.weight"].shape[1]
    h = c = np.zeros((batch, size))
    for t in range(steps):
        gates = dense(p, "gates", x[:, t]) + np.dot(h, p["hidden.weight"].T)
        i, f, g, o = np.split(gates, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return cross_entropy(dense(p, "head", h), labels)
