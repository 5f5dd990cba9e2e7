"""Files: a checkpoint with entries of one's own, loaded whole, in part and by prefix; training goes on as if it had not ended."""
import os
import tempfile

from fixed import fill, numbers, show

import mindspore as ms
from mindspore import Parameter, Tensor, load_checkpoint, load_param_into_net, nn, save_checkpoint


class Net(nn.Cell):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.SequentialCell([nn.Dense(4, 6), nn.Tanh()])
        self.head = nn.Dense(6, classes)

    def construct(self, x):
        return self.head(self.backbone(x))


def trained(net, optimizer, steps):
    loss_fn = nn.CrossEntropyLoss()

    def forward(x, y):
        return loss_fn(net(x), y)

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
    for step in steps:
        loss, grads = grad_fn(Tensor(numbers(5, 4, seed=step)), Tensor([0, 1, 2, 1, 0], ms.int32))
        optimizer(grads)
    return float(loss.asnumpy())


folder = tempfile.mkdtemp()
net = fill(Net())
optimizer = nn.Adam(net.trainable_params(), 0.02)
show("first", trained(net, optimizer, range(3)))
path = os.path.join(folder, "net.ckpt")
save_checkpoint(net, path, append_dict={"epoch": 3, "rate": 0.02, "name": "run", "done": True})
save_checkpoint(optimizer, os.path.join(folder, "optimizer.ckpt"))
show("goes on", trained(net, optimizer, range(3, 6)))

loaded = load_checkpoint(path)
show("entries", [[k, list(v.shape) if isinstance(v, Tensor) else v] for k, v in loaded.items()])
again = Net()
show("missing", load_param_into_net(again, {k: v for k, v in loaded.items() if isinstance(v, Parameter)}))
optimizer = nn.Adam(again.trainable_params(), 0.02)
load_param_into_net(optimizer, load_checkpoint(os.path.join(folder, "optimizer.ckpt")))
load_param_into_net(again, loaded)
show("the same", trained(again, optimizer, range(3, 6)))

wider = fill(Net(5), 7)
part = load_checkpoint(path, choice_func=lambda name: name.startswith("backbone"))
missing = load_param_into_net(wider, part)
show("not loaded", [list(names) for names in missing])
show("some", sorted(load_checkpoint(path, filter_prefix="head")))
show("as given", load_checkpoint(path, net=Net()).keys() == loaded.keys())
out = wider(Tensor(numbers(2, 4)))
show("out", out)
save_checkpoint([{"name": "a", "data": Tensor([1.0, 2.0])}, {"name": "b", "data": Tensor([3], ms.int32)}],
                os.path.join(folder, "list.ckpt"))
show("list", {k: v.asnumpy().tolist() for k, v in load_checkpoint(os.path.join(folder, "list.ckpt")).items()})
save_checkpoint(net, os.path.join(folder, "net.safetensors"), format="safetensors")
show("safetensors", sorted(load_checkpoint(os.path.join(folder, "net.safetensors"), format="safetensors")))
