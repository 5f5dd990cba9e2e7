"""Half precision: amp levels, a dynamic loss scaler with its own checks, casts, overflow that skips a step."""
from fixed import fill, numbers, show

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.amp import DynamicLossScaler, StaticLossScaler, all_finite, auto_mixed_precision


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Dense(6, 16), nn.BatchNorm1d(16), nn.Dense(16, 4)

    def construct(self, x):
        return self.second(ops.relu(self.norm(self.first(x))))


net = fill(Net())
net = auto_mixed_precision(net, "O2", ms.float16)
loss_fn = nn.MSELoss()
optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
scaler = DynamicLossScaler(scale_value=2.0 ** 8, scale_factor=2, scale_window=2)


def forward(x, y):
    out = net(x)
    return scaler.scale(loss_fn(out.astype(ms.float32), y)), out


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
net.set_train()
for step in range(5):
    x = numbers(8, 6, seed=step)
    if step == 3:
        x[0, 0] = 1e5
    (loss, out), grads = grad_fn(Tensor(x), Tensor(numbers(8, 4, seed=10 + step)))
    loss, grads = scaler.unscale(loss), scaler.unscale(grads)
    finite = all_finite(grads)
    if finite:
        optimizer(grads)
    scaler.adjust(finite)
    show("step", [bool(finite), float(scaler.scale_value.asnumpy()), str(out.dtype)])
    if finite:
        show("loss", round(float(loss.asnumpy()), 2))
show("static", StaticLossScaler(4.0).unscale((Tensor([8.0]), Tensor([2.0])))[0])
show("types", [str(p.dtype) for p in net.trainable_params()])
