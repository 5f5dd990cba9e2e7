"""Timings on a GPU beside PyTorch (eager, torch.compile with max-autotune) and jax on the same card: `make bench-gpu`.
docs/cuda.md has the figures of one H100.

    gelu, 64 M, with gradient  0.310 ms  0.92 of the copy  torch 0.800  torch.compile 0.350  jax 0.360  ratio 0.89 (goal 0.95)

A time is the median of 50 calls after 5, by events of the device (jax has none: by the clock, until the result is there). Peers
that are not installed, or see no GPU, are left out. Results are written to a JSON file after each row, so a run cut off has
what it measured; after --seconds no further row is begun. `--side 16 --runs 1` tries all rows at a small size, as
`MINDLITE_CUDA=simulator` needs it, and `--peers-on cpu` those of the peers; such times mean nothing.
"""
import argparse
import contextlib
import functools
import gc
import importlib.util
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")        # the others need memory, too

import numpy as np  # noqa: E402

import gpu_rows  # noqa: E402
from frameworks import Jax, Mindlite, Torch  # noqa: E402

import mindlite as ms  # noqa: E402
from mindlite.backend.cuda import nvidia  # noqa: E402
from mindlite.backend.target import target_of  # noqa: E402
from mindlite.common.device import Device  # noqa: E402
from mindlite.common.errors import DeviceError  # noqa: E402
from mindlite.functional import runtime  # noqa: E402

WARM = 5


class MindliteOnGpu(Mindlite):
    """mindlite, its arrays on the GPU."""
    on_gpu, open_sizes = True, {"dynamic": True}

    def array(self, x):
        return super().array(x).to("GPU")

    def converted(self, x, dtype):
        return super().converted(x, dtype).to("GPU")

    def timed(self, run, runs):
        """The milliseconds of each of so many calls, on the device."""
        events = [(runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)) for _ in range(runs)]
        for first, last in events:
            first.record()
            run()
            last.record()
        runtime.synchronize()
        return [first.elapsed_time(last) for first, last in events]

    def wait(self, value):
        runtime.synchronize()
        return value

    def tidy(self):
        """Give back what is not in use."""
        runtime.empty_cache()


class TorchOnGpu(Torch):
    """PyTorch. device: "cuda", or "cpu" for a try"""
    open_sizes: dict = {}

    def __init__(self, device):
        super().__init__()
        self.device, self.on_gpu = device, device == "cuda"
        self.torch.backends.cudnn.allow_tf32 = self.torch.backends.cuda.matmul.allow_tf32 = False      # float32 means float32
        self.array = lambda x: self.torch.from_numpy(np.ascontiguousarray(x)).to(device)

    def jit(self, f, **settings):
        """f as it is."""
        return f

    def numpy(self, x):
        return x.detach().float().cpu().numpy() if isinstance(x, self.torch.Tensor) else np.asarray(x)

    def placed(self, net):
        """The network on the device; it computes in bfloat16 where that is right."""
        torch = self.torch

        class Mixed(torch.nn.Module):
            """Parameters of float32, products of bfloat16."""

            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                with torch.autocast(device, torch.bfloat16):
                    return self.net(x).float()
        device = self.device
        return Mixed().to(device)

    def timed(self, run, runs):
        if not self.on_gpu:
            return by_the_clock(self, run, runs)
        event = functools.partial(self.torch.cuda.Event, enable_timing=True)
        events = [(event(), event()) for _ in range(runs)]
        for first, last in events:
            first.record()
            run()
            last.record()
        self.torch.cuda.synchronize()
        return [first.elapsed_time(last) for first, last in events]

    def wait(self, value):
        if self.on_gpu:
            self.torch.cuda.synchronize()
        return value

    def tidy(self):
        if self.on_gpu:
            self.torch.cuda.empty_cache()


class CompiledOnGpu(TorchOnGpu):
    """torch.compile."""
    name, open_sizes = "torch.compile", {"dynamic": True}

    def jit(self, f, **settings):
        if getattr(f, "differentiates", False):
            return f
        return self.torch.compile(f, mode="max-autotune" if self.on_gpu else "default", **settings)

    def value_and_grad(self, f, count=1):
        run = super().value_and_grad(self.jit(f), count)
        run.differentiates = True
        return run


class JaxOnGpu(Jax):
    """jax.jit."""
    open_sizes: dict = {}

    def __init__(self, device):
        super().__init__()
        self.on_gpu = device == "cuda"
        self.jax.config.update("jax_default_matmul_precision", "highest")
        self.attention = "cudnn" if self.on_gpu else "xla"

    def timed(self, run, runs):
        return by_the_clock(self, run, runs)

    def tidy(self):
        """Nothing is to be done."""


def by_the_clock(F, run, runs):
    """The milliseconds of so many calls, each until its result is there."""
    made = []
    for _ in range(runs):
        start = time.perf_counter()
        F.wait(run())
        made.append((time.perf_counter() - start) * 1e3)
    return made


def peers(names, device):
    """The frameworks to compare with that are here and see the device."""
    found = []
    for name in names:
        package = name.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            print(f"{name}: not installed")
            continue
        F = JaxOnGpu(device) if name == "jax" else (CompiledOnGpu if name == "torch.compile" else TorchOnGpu)(device)
        there = F.jax.default_backend() == "gpu" if name == "jax" else F.torch.cuda.is_available()
        if device == "cpu" or there:
            found.append(F)
        else:
            print(f"{name}: sees no GPU")
    return found


def measured(F, make, side, runs):
    """What a row gives in one framework: {"ms": the median, "least", "first": seconds of the first call, "sum"}, or {"error"}."""
    try:
        run = make(F, side)
        if run is None:
            return None
        start = time.perf_counter()
        value = F.wait(run())
        first = time.perf_counter() - start
        leaves = F.leaves(value)
        digest = float(np.abs(np.asarray(F.numpy(leaves[0]), np.float64)).sum()) if leaves and side < 1024 else None
        for _ in range(min(WARM, runs)):
            value = run()
        F.wait(value)
        times = F.timed(run, runs)
        return {"ms": statistics.median(times), "least": min(times), "first": first, "sum": digest}
    except Exception as error:                               # a row that fails is a result; the others go on
        return {"error": f"{type(error).__name__}: {str(error)[:500]}"}
    finally:
        run = value = None
        gc.collect()
        with contextlib.suppress(Exception):
            F.tidy()


def line_of(name, facts, goal, copy):
    """A row as text."""
    ours = facts.get("mindlite") or {}
    if "error" in ours:
        return f"{name:<40}{ours['error'].splitlines()[0]}"
    others = {peer: found["ms"] for peer, found in facts.items()
              if peer != "mindlite" and isinstance(found, dict) and "ms" in found}
    words = [f"{name:<40}{ours['ms']:10.3f} ms"]
    if "bytes" in facts and copy:
        words.append(f"{facts['bytes'] / ours['ms'] / copy:5.2f} of the copy")
    if "flops" in facts:
        words.append(f"{facts['flops'] / ours['ms'] / 1e9:7.1f} TFLOP/s")
    words += [f"{peer} {value:.3f}" for peer, value in others.items()]
    if others:
        words.append(f"ratio {ours['ms'] / min(others.values()):.2f} (goal {goal})")
    return "  ".join(words)


def written(path, results):
    """Write the file whole or not at all."""
    if path:
        with open(f"{path}.new", "w", encoding="utf-8") as opened:
            json.dump(results, opened, indent=1)
        os.replace(f"{path}.new", path)


def main(arguments):
    """Print the table and write the file; a line that says what is missing, and status 1, without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--side", type=int, default=8192, help="the most elements of an axis")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=540, help="begin no row after so many")
    parser.add_argument("--json", default="", help="the file for the results")
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--peers", default="torch,torch.compile,jax")
    parser.add_argument("--peers-on", default="cuda", choices=("cuda", "cpu"))
    chosen = parser.parse_args(arguments)
    begun = time.perf_counter()
    try:
        ms.set_context(device_target="GPU")
    except DeviceError as error:
        sys.exit(f"bench-gpu: {error.message}; {error.hint}")
    driver = target_of(Device("GPU")).driver
    results = {"device": driver.gpu(0).name, "architecture": driver.gpu(0).architecture, "cuda": driver.version,
               "libraries": {name: getattr(driver.library_of(name), "path", None) for name in nvidia.LIBRARIES},
               "side": chosen.side, "runs": chosen.runs, "rows": {}}
    print(results["device"])
    frameworks = [MindliteOnGpu(), *peers([p for p in chosen.peers.split(",") if p], chosen.peers_on)]
    results["versions"] = {key: value for F in frameworks for key, value in F.versions.items()}
    copy = None
    for name, (make, goal, nbytes, flops) in gpu_rows.ROWS.items():
        if chosen.only not in name:
            continue
        if time.perf_counter() - begun > chosen.seconds:
            print(f"{name}: no time left")
            continue
        facts = {F.name: measured(F, make, chosen.side, chosen.runs) for F in frameworks}
        facts.update({"goal": goal} | ({"bytes": nbytes(chosen.side)} if nbytes else {}) |
                     ({"flops": flops(chosen.side)} if flops else {}))
        results["rows"][name] = facts
        copy = copy or ("bytes" in facts and "ms" in facts["mindlite"] and facts["bytes"] / facts["mindlite"]["ms"])
        print(line_of(name, {k: v for k, v in facts.items() if k != "goal"}, goal, copy), flush=True)
        written(chosen.json, results)


if __name__ == "__main__":
    main(sys.argv[1:])
