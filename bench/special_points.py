"""What torch's gradients are at the points of tests/ops/special_points.py, written beside it: run by a Python with torch.

    python bench/special_points.py               writes tests/ops/special_points.json
    python bench/special_points.py --check       says which rows this torch has other gradients for
"""
import json
import math
import pathlib
import runpy
import sys
import types

import torch
import torch.nn.functional

TESTS = pathlib.Path(__file__).parents[1] / "tests" / "ops"


class Nothing:
    """What the table takes from mindlite, which need not be installed here."""

    def __getattr__(self, name):
        return None


def gradients(text, points):
    """For each point the gradients of the sum of an expression, a list for each argument."""
    found = []
    for point in points:
        args = [torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in point]
        names = {"torch": torch, "F": torch.nn.functional, "weights": torch.arange(1.0, 5.0, dtype=torch.float64)}
        out = eval(text, names | dict(zip("xy", args)))
        made = torch.autograd.grad(out.sum(), args, allow_unused=True)
        found.append([[0.0] * len(x) if g is None else g.tolist() for x, g in zip(args, made)])
    return found


def same(a, b):
    """Equal, nan to nan."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def main(check):
    """Write, or compare; the exit status is 1 where something differs."""
    sys.modules["mindlite"] = types.SimpleNamespace(ops=Nothing(), Tensor=list)
    table = runpy.run_path(str(TESTS / "special_points.py"))["TABLE"]
    found = {name: gradients(text, points) for name, (points, _, text) in table.items()}
    path = TESTS / "special_points.json"
    if not check:
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in found.items())
        path.write_text("{\n" + rows + "\n}\n")
        return 0
    kept = json.loads(path.read_text())
    others = [name for name in found if name not in kept or not same(kept[name], found[name])]
    print(f"torch {torch.__version__}: {len(found)} rows, others: {others}")
    return bool(others)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
