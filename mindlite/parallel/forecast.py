"""Forecasts: a training step on 8 to 4,096 devices as a plan of actors, priced for a Cluster and simulated. Never a measurement.

    found = gpt(Transformer(96, 12288, 96), SELENE, devices=1024, tensor=8, stages=16, batch=1536)
    found.seconds, found.rate         of one step, FLOP/s of one device as Narayanan et al. 2021 count them

The plan is that of `actors.pipeline`, which `nn.Pipeline` runs on ranks: forwards, backwards and the sum of gradients between
replicas, with their registers and credits. Here its actors have seconds (arithmetic, memory, collectives of one stage) and its
registers bytes. A stage is a group of `tensor` devices that do the same thing at the same time; each replica of each stage is
simulated.

Assumed, beside what the Cluster says: half precision (2 bytes), gradients that are summed in 4 bytes behind the last backward, as
Megatron does, an optimiser that reads and writes 30 bytes for each of its weights, activations that are computed twice.

Source: Narayanan et al. 2021 (Megatron-LM), section 3 and appendix; Shoeybi et al. 2019, section 3.
"""
import json
import math

from ..common.errors import ValueRangeError
from ..common.records import dataclass
from .actors import Actor, ActorPlan, Register, Simulation, pipeline
from .cluster import Cluster

HALF, SINGLE, OF_OPTIMISER = 2, 4, 30            # bytes of an activation, of a gradient, that an update moves for each weight


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
        norms = 2 * 2 * HALF * rows * h                                      # two, each read and written
        residuals = 2 * (3 * HALF + 1) * rows * h                            # two: bias, dropout with its mask, sum
        scores = (4 * HALF + 1) * micro * heads * s * s                      # softmax; dropout with its mask
        bent = 2 * HALF * rows * 4 * h / tensor
        moved = (norms + residuals + scores + bent) / cluster.device.memory
        summed = 2 * cluster.all_reduce(HALF * rows * h, range(tensor)) if tensor > 1 else 0.0
        forward = multiplied + moved + summed
        return forward, 2 * multiplied + 2 * moved + summed + forward

    def head(self, cluster: Cluster, tensor: int, micro: int) -> float:
        """Seconds of the logits of the last stage, forward; backward takes twice as long."""
        rows, words = micro * self.length, self.words // tensor
        return cluster.products([(rows, self.hidden, words)]) + 3 * SINGLE * rows * words / cluster.device.memory


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
    last = model.head(cluster, tensor, micro)
    forward = [ahead + (last if k == stages * chunks - 1 else 0.0) for k in range(stages * chunks)]
    backward = [back + (2 * last if k == stages * chunks - 1 else 0.0) for k in range(stages * chunks)]
    held = model.weights / (tensor * stages)
    places = [stage * replicas * tensor for stage in range(stages)]
    members = [[place + replica * tensor for replica in range(replicas)] for place in places]
    summed = max(cluster.all_reduce(SINGLE * held, member) for member in members)
    plan = pipeline(stages, count, forward=forward, backward=backward, replicas=replicas, chunks=chunks,
                    reduce=summed + OF_OPTIMISER * held / cluster.device.memory,
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
