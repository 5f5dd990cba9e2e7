"""Two ranks beside PyTorch's: whole steps, data parallel and in parts, and what one eager operator on sharded tensors takes.

    python bench/parallel.py [--rows TEXT ..] [--rounds 15] [--peers DIR]     needs mpi4py; DIR/torch/bin/python has PyTorch

Each side is started once: mindlite by mpiexec on 2 ranks with a thread each, mindlite in one process with 2 threads, PyTorch on 2
ranks (gloo) with a thread each. All divide the same batch. They are asked one after the other, so that all see the same machine;
who is not asked waits on a socket and takes no time. The least of many samples counts: wall time of a step (of the slower rank)
and processor time (of both). mindlite's bytes are counted and compared with those of its plan.
"""
import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Client, Listener

import numpy as np
from frameworks import Mindlite, Torch

HERE = pathlib.Path(__file__).resolve().parent
NETWORKS = {"MLP": ("networks", "mlp"), "ResNet-18": ("large_networks", "resnet"),
            "transformer": ("large_networks", "transformer")}
WAYS = {"mindlite": ("data", "plan", "zero3"), "torch": ("data", "zero3"), "alone": ("one",)}
PAIRS = (("data", "data"), ("plan", "data"), ("zero3", "zero3"))          # mindlite's and PyTorch's that are compared
OPERATORS = ("add", "matmul")
SAMPLE = 0.1                                       # seconds that one sample takes at least
CALLS = 200                                        # of an operator in one sample


class RanksOfMindlite(Mindlite):
    """data: gradients summed in pieces; plan: sharded rows and one partitioned program; zero3: Parameters in parts as well."""

    def __init__(self, way):
        super().__init__()
        parallel = importlib.import_module("mindlite.parallel")
        self.way, self.zero, self.jit = way, parallel.zero, self.compiled_whole
        self.engine = importlib.import_module("mindlite.common.ranks").engine()
        self.mesh = parallel.Layout((self.engine.size,), ("dp",))

    def rows(self, x):
        if self.way == "data":
            return self.array(np.array_split(x, self.engine.size)[self.engine.rank])
        return self.array(x).to_global(self.mesh("dp")) if self.engine.size > 1 else self.array(x)

    def reduced(self, optimiser):
        if self.way == "zero3":
            self.zero(optimiser, self.mesh, level=3)
        if self.way == "data":
            return self.nn.DistributedGradReducer(optimiser.parameters, mean=True)
        return super().reduced(optimiser)

    def compiled_whole(self, f):
        """f as one graph, which is kept: it knows its plan."""
        self.compiled = self.ms.jit(f, fullgraph=True)
        return self.compiled

    def bytes_planned(self):
        """What the plan of the last compiled step says that it sends."""
        plan = self.compiled.compiled.latest().compiled.plan
        return None if plan is None else sum(nbytes for _, nbytes in plan.sent.values())

    def bytes_sent(self):
        """What this rank has sent up to now."""
        return sum(nbytes for _, nbytes in self.engine.sent.values())

    def operator(self, name):
        """A call of an operator on sharded tensors of 32 x 32."""
        x, y = [self.array(np.ones((32, 32), np.float32)).to_global(self.mesh(*words)) for words in (
            ("dp", "None"), ("dp", "None") if name == "add" else ())]
        return (lambda: x + y) if name == "add" else (lambda: x @ y)


class RanksOfTorch(Torch):
    """data: DistributedDataParallel; zero3: fully_shard."""

    def __init__(self, way):
        super().__init__()
        self.way, self.distributed = way, importlib.import_module("torch.distributed")

    def rows(self, x):
        return self.array(np.array_split(x, self.distributed.get_world_size())[self.distributed.get_rank()].copy())

    def joined(self, net, optimiser):
        if self.way == "data":
            return self.torch.nn.parallel.DistributedDataParallel(net)
        importlib.import_module("torch.distributed.fsdp").fully_shard(net, mesh=self.mesh())
        optimiser.param_groups[0]["params"] = list(net.parameters())
        return net

    def mesh(self):
        """The line of all ranks."""
        return importlib.import_module("torch.distributed.device_mesh").init_device_mesh("cpu", (2,))

    def bytes_planned(self):
        """Nobody says."""

    bytes_sent = bytes_planned

    def operator(self, name):
        tensor = importlib.import_module("torch.distributed.tensor")
        split, whole, mesh = [tensor.Shard(0)], [tensor.Replicate()], self.mesh()
        ways = split, split if name == "add" else whole
        x, y = [tensor.distribute_tensor(self.torch.ones(32, 32), mesh, way) for way in ways]
        return (lambda: x + y) if name == "add" else (lambda: x @ y)


def serve(side, address, number):
    """One process of a side: prepares what it is asked for, and answers with seconds."""
    if side == "torch":
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.distributed.init_process_group("gloo", init_method=f"file://{address}.torch", rank=number, world_size=2)
        make = RanksOfTorch
    else:
        communication = importlib.import_module("mindlite.communication")
        communication.init()
        number, make = communication.get_rank(), RanksOfMindlite
    prepared = {}
    with Client(address) as controller:
        controller.send((side, number))
        while True:
            task, *key, calls = controller.recv()
            key = tuple(key)
            if task == "end":
                break
            if task == "forget":
                prepared.clear()
                controller.send(None)
                continue
            if key not in prepared:
                framework = make(key[0])
                run = framework.operator(key[1]) if task == "operator" else getattr(
                    importlib.import_module(f"rows.{NETWORKS[key[1]][0]}"), NETWORKS[key[1]][1])(framework)
                prepared[key] = framework, run
            framework, run = prepared[key]
            before, start, worked = framework.bytes_sent(), time.perf_counter(), time.process_time()
            for _ in range(calls):
                value = run()
            last = float(framework.numpy(value).reshape(-1)[0]) if task == "step" else 0.0
            took = (time.perf_counter() - start) / calls, (time.process_time() - worked) / calls
            sent = None if before is None else (framework.bytes_sent() - before) / calls
            controller.send((*took, last, sent, framework.bytes_planned() if task == "step" else None))


class Side:
    """The processes of one side, as the controller sees them."""

    def __init__(self, command, count, listener, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        self.links = [listener.accept() for _ in range(count)]
        self.links.sort(key=lambda link: link.recv())

    def ask(self, *task):
        """The answers of all ranks."""
        for link in self.links:
            link.send(task)
        return [link.recv() for link in self.links]

    def end(self):
        """Let the processes end."""
        for link in self.links:
            link.send(("end", 0))
        self.process.wait(60)


def started(args, folder):
    """{side: Side} of those that are present."""
    address = f"{folder}/socket"
    listener = Listener(address)
    base = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]), "OMP_NUM_THREADS": "1"}
    this, mpiexec = [str(HERE / "parallel.py"), "--serve"], str(pathlib.Path(sys.executable).parent / "mpiexec")
    sides = {"alone": Side([sys.executable, *this, "alone", address, "0"], 1, listener,
                           {**base, "MINDLITE_THREADS": "2", "OMP_NUM_THREADS": "2"}),
             "mindlite": Side([mpiexec, "-n", "2", sys.executable, *this, "mindlite", address, "0"], 2, listener,
                              {**base, "MINDLITE_THREADS": "1"})}
    python = args.peers / "torch" / "bin" / "python" if not os.access(args.peers / "bin/python", os.X_OK) else (
        args.peers / "bin/python")
    if os.access(python, os.X_OK):
        line = " & ".join(f"'{python}' '{this[0]}' --serve torch '{address}' {rank}" for rank in range(2))
        sides["torch"] = Side(["sh", "-c", f"{line} & wait"], 2, listener, base)
    return sides


def compare(sides, task, name, rounds):
    """{(side, way): [least wall seconds, least processor seconds, bytes sent, bytes planned]} of one row."""
    keys = [(side, way) for side in sides for way in WAYS[side] if task == "step" or way == "data"]
    calls, found, losses = {}, {}, {}
    for side, way in keys:
        calls[side, way] = 1 if task == "step" else CALLS
        answers = sides[side].ask(task, way, name, 3 if task == "step" else CALLS)
        losses[side, way] = answers[0][2]
        if task == "step":
            seconds = max(a[0] for a in sides[side].ask(task, way, name, 2))
            calls[side, way] = max(1, int(SAMPLE / seconds))
    for _ in range(rounds):
        for side, way in keys:
            answers = sides[side].ask(task, way, name, calls[side, way])
            best = found.setdefault((side, way), [np.inf, np.inf, None, None])
            best[0] = min(best[0], max(a[0] for a in answers))
            best[1] = min(best[1], sum(a[1] for a in answers))
            best[2:] = answers[0][3:]
    for side in sides.values():
        side.ask("forget", 0)
    return found, losses


def table(task, name, found):
    """Lines of the report."""
    for (side, way), (wall, processor, sent, planned) in found.items():
        tail = "" if sent is None else f"   {sent:.0f} bytes sent, {planned} planned" if planned is not None else (
            f"   {sent:.0f} bytes sent")
        unit, scale = ("ms", 1e3) if task == "step" else ("us", 1e6)
        yield f"  {side:9} {way:6} {wall * scale:9.2f} {unit} wall  {processor * scale:9.2f} {unit} of processors{tail}"
    for ours, theirs in PAIRS:
        if ("torch", theirs) in found and ("mindlite", ours) in found:
            a, b = found["mindlite", ours], found["torch", theirs]
            yield f"  mindlite {ours} / torch {theirs}: {a[0] / b[0]:.2f} wall, {a[1] / b[1]:.2f} processor"
    if task == "step":
        a, b = found["mindlite", "data"], found["alone", "one"]
        yield f"  2 ranks / one process with 2 threads: {a[0] / b[0]:.2f} wall, {a[1] / b[1]:.2f} processor"


def main():
    """Run all rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", default=[*NETWORKS, *OPERATORS])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", type=pathlib.Path, default=pathlib.Path(".peers"))
    parser.add_argument("--serve", nargs=3, metavar=("SIDE", "ADDRESS", "RANK"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve[0], args.serve[1], int(args.serve[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        sides = started(args, folder)
        for name in args.rows:
            task = "step" if name in NETWORKS else "operator"
            found, losses = compare(sides, task, name, args.rounds)
            print(f"{name}" + (f"   losses of the third step {losses}" if task == "step" else ", 32 x 32, split rows"))
            print("\n".join(table(task, name, found)), flush=True)
        for side in sides.values():
            side.end()


if __name__ == "__main__":
    main()
