"""What torch or mindlite gives for the calls of drawn_calls.py, as lines of JSON; and what differs between the two.

    python tests/mint/drawn_answers.py --torch PYTHON [--seed S] [--count N] [--only NAME ..] [--jit] [--variants [V ..]]
                                       [--keep FILE]

PYTHON is an interpreter that has torch; the one that runs the script has mindlite. --keep writes torch's answers, packed.
--variants draws each call with its operands of another dtype, empty, without axes, with special numbers, or as views: in the
variants of the names V, in so many of them, or in all.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys

import drawn_operators  # noqa: F401  (its table is one of TABLES)
import numpy as np
from drawn_calls import TABLES, VARIANTS, Array, Drawing, Kind, arguments_of, cotangent

HERE = pathlib.Path(__file__).parent
KEPT = HERE / "drawn.json.gz"
ENDS_TORCH = {("grid_sample", "special")}              # a grid with nan and padding_mode "reflection" ends its process


class Torch:
    """How torch is asked."""

    def __init__(self):
        import torch
        self.torch = torch
        torch.set_num_threads(1)
        self.rooms = {"": torch, "nn.functional": torch.nn.functional, "linalg": torch.linalg, "special": torch.special,
                      "Tensor": torch.Tensor}

    def function(self, room, name):
        """The function that is meant."""
        if room in ("ops", "more"):
            other = self.torch.linalg if name == "solve" else self.torch.nn.functional
            return getattr(other, name, None) or getattr(self.torch, name)
        return getattr(self.rooms[room], name)

    def tensor(self, x):
        """A drawn operand."""
        made = self.torch.tensor(x.numbers).to(getattr(self.torch, x.dtype))
        made = made.transpose(0, -1).contiguous().transpose(0, -1) if x.turned else made
        made = self.torch.stack([made, made], -1)[..., 0] if x.stepped else made
        return made.requires_grad_() if (made.is_floating_point() or made.is_complex()) and x.numbers.flags.writeable else made

    def kind(self, name):
        """A dtype."""
        return getattr(self.torch, name)

    def told(self, x):
        """[dtype, sizes, numbers] of a tensor."""
        if not isinstance(x, self.torch.Tensor):
            return x
        x = x.detach()
        dtype, x = str(x.dtype).split(".")[1], self.torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
        numbers = x.flatten().to(self.torch.float32 if dtype == "bfloat16" else x.dtype).tolist()
        return [dtype, list(x.shape), numbers]

    def turned(self, x):
        """A real tensor of both parts of a complex one."""
        return x.real + 2 * x.imag if isinstance(x, self.torch.Tensor) and x.is_complex() else x

    def gradients(self, run, inputs):
        """The outputs of a call, and the gradients of their weighted sum."""
        outs = run(*inputs)
        wrt = [x for x in inputs if isinstance(x, self.torch.Tensor) and x.requires_grad]
        total = sum((o * self.torch.tensor(cotangent(tuple(o.shape))).to(o.dtype)).sum() for o in map(self.turned, parts(outs))
                    if isinstance(o, self.torch.Tensor) and o.requires_grad and o.is_floating_point())
        if not isinstance(total, self.torch.Tensor):
            return outs, None
        try:
            found = self.torch.autograd.grad(total, wrt, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return outs, None
        return outs, [None if g is None else self.told(g) for g in found]


class Mindlite:
    """How mindlite is asked."""

    def __init__(self, compiled=False):
        import mindlite
        from mindlite import mint, ops
        self.ms, self.compiled = mindlite, compiled
        self.rooms = {"": mint, "nn.functional": mint.nn.functional, "linalg": mint.linalg, "special": mint.special, "ops": ops,
                      "more": ops, "Tensor": mindlite.Tensor}

    def function(self, room, name):
        """The function that is meant."""
        return getattr(self.rooms[room], name)

    def tensor(self, x):
        """A drawn operand."""
        made = self.ms.Tensor(x.numbers, getattr(self.ms, x.dtype if x.dtype != "bool" else "bool_"))
        if x.turned:
            made = made.swapaxes(0, -1).contiguous().swapaxes(0, -1)
        if x.stepped:
            made = self.ms.ops.stack([made, made], -1)[..., 0]
        made.wanted = made.dtype.kind in "fc" and x.numbers.flags.writeable
        return made

    def kind(self, name):
        """A dtype."""
        return getattr(self.ms, name if name != "bool" else "bool_")

    def told(self, x):
        """[dtype, sizes, numbers] of a tensor."""
        if not isinstance(x, self.ms.Tensor):
            return x
        array, dtype = x.asnumpy(), {"bool_": "bool"}.get(str(x.dtype).lower(), str(x.dtype).lower())
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        elif dtype == "bfloat16":
            array = array.astype(np.float32)
        return [dtype, list(array.shape), array.ravel().tolist()]

    def gradients(self, run, inputs):
        """The outputs of a call, and the gradients of their weighted sum."""
        ms, wrt = self.ms, [k for k, x in enumerate(inputs) if getattr(x, "wanted", False)]
        run = ms.jit(run, fullgraph=True) if self.compiled else run
        outs = run(*inputs)
        if not wrt or not any(isinstance(o, ms.Tensor) and o.dtype.kind in "fc" for o in parts(outs)):
            return outs, None

        def loss(*values):
            given, total = dict(zip(wrt, values)), 0
            for o in parts(run(*[given.get(k, x) for k, x in enumerate(inputs)])):
                if isinstance(o, ms.Tensor) and o.dtype.kind in "fc":
                    o = ms.ops.real(o) + 2 * ms.ops.imag(o) if o.dtype.kind == "c" else o
                    total = total + (o * ms.Tensor(cotangent(tuple(o.shape))).astype(o.dtype)).sum()
            return total
        values = [inputs[k] for k in wrt]
        found = ms.grad(loss, tuple(range(len(wrt))))(*values)
        return outs, [self.told(g) for g in (found if isinstance(found, tuple) else (found,))]


def parts(outs):
    """The outputs in one list."""
    return [p for o in outs for p in parts(o)] if isinstance(outs, (tuple, list)) else [outs]


def answer(world, room, name, seed, number, given=None, variant=None):
    """What a world gives for one call; given : (args, settings) in place of those that are drawn."""
    args, settings = given or arguments_of(room, name, seed, number, variant)
    names, inputs, places = list(settings), [], []

    def placed(value):
        """The value with a place for each operand."""
        if isinstance(value, (tuple, list)):
            return type(value)(placed(v) for v in value)
        if isinstance(value, Kind):
            return lambda given: world.kind(value)
        if not isinstance(value, Array):
            return lambda given: value
        inputs.append(world.tensor(value))
        return lambda given, at=len(inputs) - 1: given[at]

    def filled(place, given):
        return type(place)(filled(p, given) for p in place) if isinstance(place, (tuple, list)) else place(given)
    places = [placed(v) for v in (*args, *settings.values())]

    def run(*given):
        values = [filled(p, given) for p in places]
        return world.function(room, name)(*values[:len(args)], **dict(zip(names, values[len(args):])))
    try:
        outs, gradients = world.gradients(run, inputs)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error).strip().splitlines()[0][:160] if str(error).strip() else ""}
    return {"out": [world.told(o) for o in parts(outs)], "grad": gradients}


TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 5e-8, "complex64": 3e-5, "complex128": 1e-9}


def apart(found, wanted, loose=1.0):
    """What differs between two answers for one tensor, or ''."""
    if wanted is None or not isinstance(wanted, list) or not isinstance(found, list):
        return "" if found == wanted else f"{found} for {wanted}"
    if found[:2] != wanted[:2]:
        return f"{found[0]}{found[1]} for {wanted[0]}{wanted[1]}"
    a, b = (np.array(x[2], np.float64) for x in (found, wanted))
    close = TOLERANCE.get(wanted[0], 0.0) * loose
    scale = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0) * (0.1 if wanted[0] in TOLERANCE else 0))
    with np.errstate(all="ignore"):
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= close * (scale + np.abs(b))))
    if not bad.any():
        return ""
    at = int(np.flatnonzero(bad)[0])
    return f"{wanted[0]}{wanted[1]}[{at}]: {a[at]!r} for {b[at]!r} ({bad.sum()} of {bad.size})"


def difference(found, wanted):
    """What differs between two answers, or ''."""
    if "error" in wanted or "error" in found:
        texts = found.get("text", "a value"), wanted.get("text", "a value")
        return "" if "error" in wanted and "error" in found else " | ".join(texts)
    if len(found["out"]) != len(wanted["out"]):
        return f"{len(found['out'])} outputs for {len(wanted['out'])}"
    for a, b in zip(found["out"], wanted["out"]):
        if why := apart(a, b):
            return why
    if found["grad"] is None or wanted["grad"] is None:
        return ""
    for a, b in zip(found["grad"], wanted["grad"]):
        if b is None and a is not None and any(a[2]) or b is not None and (why := apart(a, b, 4)):
            return f"gradient: {why if b is not None else a}"
    return ""


def numbers_of(count, only):
    """(room, name, number) of each call."""
    return [(room, name, k) for room, names in TABLES.items() for name in names
            if not only or name in only or room in only for k in range(count)]


def varied_calls(count, only, variants):
    """(room, name, number, variant) of each call with its operands changed; variants : their names, or how many each has."""
    for room, name, k in numbers_of(count, only):
        some = Drawing(room, name, k).rng.permutation(list(VARIANTS))[:variants] if isinstance(variants, int) else variants
        yield from ((room, name, k, str(variant)) for variant in some if (name, variant) not in ENDS_TORCH)


def main():
    parser = argparse.ArgumentParser()
    for flag, settings in (("--torch", {}), ("--seed", {"default": "0"}), ("--count", {"type": int, "default": 8}),
                           ("--only", {"nargs": "*", "default": []}), ("--answers", {"action": "store_true"}),
                           ("--jit", {"action": "store_true"}), ("--keep", {}), ("--variants", {"nargs": "*"})):
        parser.add_argument(flag, **settings)
    args = parser.parse_args()
    calls = numbers_of(args.count, args.only)
    if args.variants is not None:
        many = args.variants and args.variants[0].isdigit()
        calls = [*varied_calls(args.count, args.only, int(args.variants[0]) if many else args.variants or list(VARIANTS))]
    if args.answers:
        world = Torch()
        for call in calls:
            print(json.dumps(answer(world, *call[:2], args.seed, call[2], None, *call[3:])), flush=True)
        return
    only = ["--only", *args.only] * bool(args.only) + (["--variants", *args.variants] if args.variants is not None else [])
    peer = subprocess.run([args.torch, __file__, "--answers", "--seed", args.seed, "--count", str(args.count), *only],
                          stdout=subprocess.PIPE, check=True, text=True)
    wanted = [json.loads(line) for line in peer.stdout.splitlines()]
    if args.keep:
        lines = [json.dumps([*call, want]) for call, want in zip(calls, wanted)]
        pathlib.Path(args.keep).write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    world, differ = Mindlite(args.jit), 0
    for call, want in zip(calls, wanted):
        if why := difference(answer(world, *call[:2], args.seed, call[2], None, *call[3:]), want):
            differ += 1
            print(*call, "|", why, "|", str(arguments_of(*call[:2], args.seed, *call[2:]))[:300], flush=True)
    print(len(calls), "calls of", len({c[:2] for c in calls}), "names:", sum("error" in w for w in wanted), "refused by torch,",
          differ, "differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
