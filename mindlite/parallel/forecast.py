"""Forecasts: a training step on 8 to 4,096 devices as a plan of actors, priced for a Cluster and simulated. Never a measurement.

    found = gpt(Transformer(96, 12288, 96), SELENE, devices=1024, tensor=8, stages=16, batch=1536)
    found.seconds, found.rate         of one step, FLOP/s of one device as Narayanan et al. 2021 count them

The plan is that of `actors.pipeline`, which `nn.Pipeline` runs on ranks: forwards, backwards and the sum of gradients between
replicas, with their registers and credits. Here its actors have seconds (arithmetic, memory, collectives of one stage) and its
registers bytes. A stage is a group of `tensor` devices that do the same thing at the same time; each replica of each stage is
simulated.

Assumed, beside what the Cluster says: half precision (2 bytes), activations that are computed twice, gradients that are summed
in 4 bytes behind the last backward. Bytes that elementwise operators move are counted from Megatron-LM's operators of that time,
one by one: each reads its operands from memory and writes its result there.

Source: Narayanan et al. 2021 (Megatron-LM), section 3 and appendix; Shoeybi et al. 2019, section 3; Megatron-LM, version 2.5.
"""
import json
import math

from ..common.errors import ValueRangeError
from ..common.records import dataclass
from .actors import Actor, ActorPlan, Register, Simulation, pipeline
from .cluster import Cluster

HALF, SINGLE = 2, 4                              # bytes of an activation, of a gradient
OF_SUM = HALF + 2 * SINGLE                       # for each weight: the gradient of a micro-batch is added to a sum
OF_UPDATE = 66                                   # for each weight: mean 8, unscale 8, norm 4, clip 8, Adam 28, copy 6, zero 4
OF_LOSS = 38, 14                                 # for each logit: cast 6, max 4, minus 8, exp 8, sum 4, over 8; times 8, cast 6


@dataclass(frozen=True)
class Transformer:
    """A decoder of `layers` layers of width `hidden` with `heads` heads, on `length` tokens of `words` words."""
    layers: int
    hidden: int
    heads: int
    length: int = 2048
    words: int = 51200

    @property
    def weights(self) -> float:
        """How many numbers are trained (Narayanan et al. 2021, equation 2)."""
        h = self.hidden
        return 12 * self.layers * h * h * (1 + 13 / (12 * h) + (self.words + self.length) / (12 * self.layers * h))

    def flops(self, batch: int) -> float:
        """Floating-point operations of a step whose activations are computed twice (equation 3 of the same)."""
        h, n = self.hidden, self.layers
        return 96 * batch * self.length * n * h * h * (1 + self.length / (6 * h) + self.words / (16 * n * h))

    def layer(self, cluster: Cluster, tensor: int, micro: int) -> tuple[float, float]:
        """Seconds of one layer, (forward, backward that computes the forward again), split between `tensor` devices."""
        rows, h, s = micro * self.length, self.hidden, self.length
        heads, width = self.heads // tensor, self.hidden // self.heads
        multiplied = cluster.products([(rows, h, 3 * h // tensor), (s, width, s, micro * heads), (s, s, width, micro * heads),
                                       (rows, h // tensor, h), (rows, h, 4 * h // tensor), (rows, 4 * h // tensor, h)])
        wide, inner = rows * h, rows * h / tensor                            # numbers of an activation, whole and split
        scores = micro * heads * s * s
        # norms; bias, dropout with its mask and sum; softmax and dropout; GELU; bias of query, key, value, heads side by side
        ahead = 4 * HALF * wide + 2 * (3 * HALF + 1) * wide + (4 * HALF + 1) * scores + (8 + 8) * HALF * inner
        # norms and their weights; dropout, biases, sums; softmax and dropout; GELU and its bias; heads and theirs
        back = 10 * HALF * wide + 2 * (6 * HALF + 1) * wide + (5 * HALF + 1) * scores + (16 + 11) * HALF * inner
        summed = 2 * cluster.all_reduce(HALF * rows * h, range(tensor)) if tensor > 1 else 0.0
        forward = multiplied + ahead / cluster.device.memory + summed
        return forward, 2 * multiplied + back / cluster.device.memory + summed + forward

    def head(self, cluster: Cluster, tensor: int, micro: int) -> tuple[float, float]:
        """Seconds of the logits and the loss of the last stage, (forward, backward)."""
        rows, words = micro * self.length, self.words // tensor
        multiplied = cluster.products([(rows, self.hidden, words)])
        forward, backward = [nbytes * rows * words / cluster.device.memory for nbytes in OF_LOSS]
        return multiplied + forward, 2 * multiplied + backward


@dataclass(frozen=True)
class Forecast:
    """What a simulation says. seconds: of a step; rate: FLOP/s of a device; share: of the data sheet's; rows: examples a second;
    plan, simulation: from which it comes. As JSON it is marked as simulated."""
    name: str
    devices: int
    seconds: float
    rate: float
    share: float
    rows: float
    plan: ActorPlan
    simulation: Simulation

    def to_json(self) -> str:
        """The figures as JSON text."""
        return json.dumps({"simulated": True, "name": self.name, "devices": self.devices, "seconds": self.seconds,
                           "flops_of_a_device": self.rate, "share_of_peak": self.share, "examples_a_second": self.rows,
                           "bubble": self.simulation.bubble}, indent=1)


def gpt(model: Transformer, cluster: Cluster, devices: int, tensor: int, stages: int, batch: int, micro: int = 1,
        chunks: int = 1) -> Forecast:
    """The Forecast of a step of a Transformer: `tensor` devices split each layer, `stages` groups of them the layers (in `chunks`
    pieces each), all together are as often there as `devices` allow, and divide the batch.

    micro  : examples of a micro-batch
    raises : ValueRangeError where it does not divide
    """
    replicas, rest = divmod(devices, tensor * stages)
    if rest or batch % (replicas * micro) or model.layers % (stages * chunks) or model.heads % tensor:
        raise ValueRangeError(f"gpt: {devices} devices, {model.layers} layers, {model.heads} heads and a batch of {batch} do not "
                              f"go into {tensor} x {stages} x {chunks} parts and micro-batches of {micro}")
    per_chunk, count = model.layers // (stages * chunks), batch // (replicas * micro)
    ahead, back = [per_chunk * seconds for seconds in model.layer(cluster, tensor, micro)]
    held = model.weights / (tensor * stages)
    back += OF_SUM * held / chunks / cluster.device.memory
    last, lost = model.head(cluster, tensor, micro)
    forward = [ahead + (last if k == stages * chunks - 1 else 0.0) for k in range(stages * chunks)]
    backward = [back + (lost if k == stages * chunks - 1 else 0.0) for k in range(stages * chunks)]
    places = [stage * replicas * tensor for stage in range(stages)]
    members = [[place + replica * tensor for replica in range(replicas)] for place in places]
    summed = max(cluster.all_reduce(SINGLE * held, member) for member in members)
    plan = pipeline(stages, count, forward=forward, backward=backward, replicas=replicas, chunks=chunks,
                    reduce=summed + OF_UPDATE * held / cluster.device.memory,
                    nbytes=math.ceil(HALF * micro * model.length * model.hidden / tensor))
    found = plan.simulate(lambda a, b, nbytes: cluster.link(a * tensor, b * tensor).seconds(nbytes))
    rate = model.flops(batch) / found.seconds / devices
    return Forecast(f"{model.weights / 1e9:.1f}B", devices, found.seconds, rate, rate / cluster.device.peak,
                    batch / found.seconds, plan, found)


def data_parallel(name: str, cluster: Cluster, devices: int, batch: int, alone: float, gradients: list[float],
                  flops: float = 0.0) -> Forecast:
    """The Forecast of a step of any network whose rows are divided: buckets of gradients are summed while the backward goes on.

    batch     : examples of a device         alone: seconds that one device takes for them, one third of them forward
    gradients : bytes of the buckets in the order of the backward, which takes as long for each byte
    flops     : of one example, for the rate
    """
    registers, actors = [], []
    total = sum(gradients)
    for device in range(devices):
        chain = [f"c{device}.{k}" for k in range(len(gradients))]
        actors.append(Actor(f"F{device}", device, (), (chain[0],), 1, alone / 3))
        for k, nbytes in enumerate(gradients):
            gives = (f"g{device}.{k}", *chain[k + 1:k + 2])
            actors.append(Actor(f"B{device}.{k}", device, (chain[k],), gives, 1, alone * 2 / 3 * nbytes / total))
            actors.append(Actor(f"R{device}.{k}", device, (f"g{device}.{k}",), (), 1, cluster.all_reduce(nbytes, range(devices)),
                                "link", f"bucket {k}"))
            registers += [Register(chain[k], 1), Register(f"g{device}.{k}", 1)]
    plan = ActorPlan(tuple(actors), tuple(registers))
    found = plan.simulate()
    rate = flops * batch / found.seconds
    return Forecast(name, devices, found.seconds, rate, rate / cluster.device.peak, batch * devices / found.seconds, plan, found)


def resnet50_buckets(most: float = 4 << 20) -> list[float]:
    """Bytes of the gradients of ResNet-50 (He et al. 2016) in buckets of at most `most`, from the last layer to the first."""
    sizes, width = [64 * 3 * 49, 2 * 64], 64
    for planes, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            sizes += [width * planes, 2 * planes, planes * planes * 9, 2 * planes, planes * 4 * planes, 8 * planes]
            sizes += [width * 4 * planes, 8 * planes] if block == 0 else []
            width = 4 * planes
    buckets: list[float] = []
    for size in reversed([*sizes, width * 1000, 1000]):
        if buckets and buckets[-1] + SINGLE * size <= most:
            buckets[-1] += SINGLE * size
        else:
            buckets.append(SINGLE * size)
    return buckets
