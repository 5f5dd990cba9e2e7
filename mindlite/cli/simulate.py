"""`python -m mindlite simulate gpt3-175b --devices 1024`: a forecast of a training step on many devices, printed as such.

    --plan FILE writes the plan of actors as JSON, which `parallel.actors.ActorPlan.from_json` reads
"""
import argparse
import sys

from ..common.errors import ValueRangeError
from ..common.files import replacing
from ..parallel.cluster import CLUSTERS, DGX1, SELENE
from ..parallel.forecast import Forecast, Transformer, data_parallel, gpt, resnet50_buckets

TRANSFORMERS = {"gpt-1.7b": Transformer(24, 2304, 24), "gpt-7.5b": Transformer(36, 4096, 32),
                "gpt-39b": Transformer(48, 8192, 64), "gpt3-175b": Transformer(96, 12288, 96),
                "gpt-1t": Transformer(128, 25600, 160)}
RESNET = 128, 384.85, 3 * 8.2e9                  # images, images a second of one V100 (OneFlow's DLPerf, 2020), FLOPs of one


def add_arguments(commands: argparse._SubParsersAction) -> None:
    """Add the command to those of `python -m mindlite`."""
    command = commands.add_parser("simulate", help="forecast a training step on 8 to 4,096 devices; a simulation, no measurement",
                                  description="Simulate the actors of a training step on a cluster. Nothing is measured.")
    command.add_argument("model", choices=[*TRANSFORMERS, "resnet-50"])
    command.add_argument("--devices", type=int, default=1024)
    command.add_argument("--cluster", choices=CLUSTERS, help="selene for GPT, dgx1 for resnet-50")
    for name, default, text in (("tensor", 8, "devices that split each layer"), ("stages", 16, "stages of the pipeline"),
                                ("chunks", 1, "pieces of each stage: more than one interleaves"),
                                ("batch", 1536, "of all devices"),
                                ("micro", 1, "examples of a micro-batch")):
        command.add_argument(f"--{name}", type=int, default=default, help=f"{text} (GPT; {default})")
    command.add_argument("--plan", metavar="FILE", help="write the plan as JSON")
    command.add_argument("--json", action="store_true", help="print data in place of text")


def simulate(arguments: argparse.Namespace) -> int:
    """Run the command; gives the exit status."""
    try:
        found = forecast(arguments)
    except ValueRangeError as error:
        sys.stderr.write(f"mindlite: {error}\n")
        return 2
    if arguments.plan:
        with replacing(arguments.plan) as stream:
            stream.write(found.plan.to_json().encode())
    sys.stdout.write(found.to_json() + "\n" if arguments.json else
                     f"simulated, not measured: {arguments.model} ({found.name}) on {found.devices} devices\n"
                     f"  a step takes {found.seconds:.3g} s, {found.rows:.4g} examples a second\n"
                     f"  {found.rate / 1e12:.1f} TFLOP/s a device, {found.share:.0%} of its peak; bubble "
                     f"{found.simulation.bubble:.1%}\n")
    return 0


def forecast(arguments: argparse.Namespace) -> Forecast:
    """The Forecast that the arguments ask for. raises : ValueRangeError for sizes that do not divide"""
    if arguments.model == "resnet-50":
        rows, speed, flops = RESNET
        return data_parallel("ResNet-50", CLUSTERS.get(arguments.cluster, DGX1), arguments.devices, rows, rows / speed,
                             resnet50_buckets(), flops)
    return gpt(TRANSFORMERS[arguments.model], CLUSTERS.get(arguments.cluster, SELENE), arguments.devices, arguments.tensor,
               arguments.stages, arguments.batch, arguments.micro, arguments.chunks)
