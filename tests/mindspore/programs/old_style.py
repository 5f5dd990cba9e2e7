"""The style of earlier versions: GradOperation, HyperMap, MultitypeFuncGraph, composite, TrainOneStepWithLossScaleCell."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore.common.dtype as mstype
import mindspore.nn as nn
import mindspore.ops.functional as F
from mindspore import Parameter, ParameterTuple, Tensor
from mindspore.ops import composite as C
from mindspore.ops import operations as P

clip_grad = C.MultitypeFuncGraph("clip_grad")


@clip_grad.register("Number", "Number", "Tensor")
def _clip_grad(clip_type, clip_value, grad):
    if clip_type == 0:
        return C.clip_by_value(grad, F.cast(F.tuple_to_array((-clip_value,)), F.dtype(grad)),
                               F.cast(F.tuple_to_array((clip_value,)), F.dtype(grad)))
    return nn.ClipByNorm()(grad, F.cast(F.tuple_to_array((clip_value,)), F.dtype(grad)))


grad_scale = C.MultitypeFuncGraph("grad_scale")
reciprocal = P.Reciprocal()


@grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * F.cast(reciprocal(scale), F.dtype(grad))


class NetWithLoss(nn.Cell):
    def __init__(self, network):
        super(NetWithLoss, self).__init__()
        self.network = network
        self.onehot = P.OneHot()
        self.on, self.off = Tensor(1.0, mstype.float32), Tensor(0.0, mstype.float32)
        self.log_softmax = P.LogSoftmax(axis=-1)
        self.reduce_sum, self.reduce_mean, self.neg = P.ReduceSum(False), P.ReduceMean(), P.Neg()
        self.cast, self.shape = P.Cast(), P.Shape()

    def construct(self, x, label):
        logits = self.network(x)
        one_hot = self.onehot(label, self.shape(logits)[1], self.on, self.off)
        per_example = self.neg(self.reduce_sum(one_hot * self.log_softmax(logits), -1))
        return self.cast(self.reduce_mean(per_example), mstype.float32)


class TrainOneStep(nn.Cell):
    def __init__(self, network, optimizer, scale):
        super(TrainOneStep, self).__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.weights = optimizer.parameters
        self.optimizer = optimizer
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.hyper_map = C.HyperMap()
        self.loss_scale = Parameter(Tensor(scale, mstype.float32), name="loss_scale")
        self.alloc_status, self.get_status, self.depend = P.Fill(), P.ReduceSum(False), P.Depend()
        self.is_finite, self.less_equal = P.IsFinite(), P.LessEqual()

    def construct(self, x, label):
        weights = self.weights
        loss = self.network(x, label)
        sens = P.Fill()(P.DType()(loss), P.Shape()(loss), 1.0) * self.loss_scale
        grads = self.grad(self.network, weights)(x, label, sens)
        grads = self.hyper_map(F.partial(grad_scale, self.loss_scale), grads)
        grads = self.hyper_map(F.partial(clip_grad, 1, 0.5), grads)
        grads = self.hyper_map(F.partial(clip_grad, 0, 0.2), grads)
        succ = self.optimizer(grads)
        return F.depend(loss, succ), grads[0]


class MLP(nn.Cell):
    def __init__(self):
        super(MLP, self).__init__()
        self.w = Parameter(Tensor(np.ones((6, 8)), mstype.float32), name="w")
        self.matmul, self.bias_add = P.MatMul(transpose_b=False), P.BiasAdd()
        self.b = Parameter(Tensor(np.zeros(8), mstype.float32), name="b")
        self.act, self.fc = P.Gelu() if hasattr(P, "Gelu") else P.GeLU(), nn.Dense(8, 4)
        self.transpose, self.reshape = P.Transpose(), P.Reshape()

    def construct(self, x):
        x = self.reshape(self.transpose(x, (0, 2, 1)), (-1, 6))
        return self.fc(self.act(self.bias_add(self.matmul(x, self.w), self.b)))


net = fill(MLP())
optimizer = nn.Momentum(ParameterTuple(net.trainable_params()), learning_rate=0.1, momentum=0.9, loss_scale=1.0)
train = TrainOneStep(NetWithLoss(net), optimizer, 128.0)
train.set_train()
for step in range(4):
    loss, grad = train(Tensor(numbers(5, 3, 2, seed=step)), Tensor([0, 3, 1, 2, 2], mstype.int32))
    show("loss", loss)
    show("grad", grad[0])
totals(net)
