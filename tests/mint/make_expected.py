"""Writes expected.json: what torch gives for the cases of torch_cases.py. Run it with an interpreter that has torch.

    python tests/mint/make_expected.py
"""
import json
import pathlib

import torch_cases as cases
import numpy as np
import torch

HERE = pathlib.Path(__file__).parent


def tensor(value):
    if isinstance(value, np.ndarray):
        made = torch.tensor(value)
        return made.requires_grad_() if made.is_floating_point() and value.flags.writeable else made
    return type(value)(map(tensor, value)) if isinstance(value, (tuple, list)) else value


def leaves(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from leaves(value)
        elif isinstance(value, torch.Tensor):
            yield value


def told(x):
    """[dtype, shape, numbers]"""
    if isinstance(x, (bool, int, float)):
        return x
    x = x.detach()
    if x.is_complex():
        x = torch.view_as_real(x)
    numbers = x.flatten().tolist()
    return [str(x.dtype).split(".")[1], list(x.shape), [float(f"{n:.6g}") if isinstance(n, float) else n for n in numbers]]


def answer(outs, inputs):
    """{"out": [..], "grad": [..]}"""
    outs = outs if isinstance(outs, (tuple, list)) else (outs,)
    loss = sum((o * torch.tensor(cases.cotangent(tuple(o.shape)))).sum() for o in outs
               if isinstance(o, torch.Tensor) and o.requires_grad and o.is_floating_point())
    wrt = [x for x in inputs if x.requires_grad]
    try:
        found = torch.autograd.grad(loss, wrt, allow_unused=True) if isinstance(loss, torch.Tensor) else [None] * len(wrt)
    except RuntimeError as error:                             # torch has no gradient
        print("no gradient:", error)
        return {"out": [told(o) for o in outs], "grad": None}
    return {"out": [told(o) for o in outs], "grad": [None if g is None else told(g) for g in found]}


def function_of(room, name):
    other = {"fix": "fix"}.get(name, name)
    home = {"": torch, "nn.functional": torch.nn.functional, "linalg": torch.linalg, "special": torch.special}[room]
    return getattr(home, other)


def main():
    made = {}
    for room, table in cases.TABLES.items():
        for name, calls in table.items():
            for k, (args, settings) in enumerate(calls):
                rng = cases.rng_of(room, name, k)
                args = tensor(cases.built(args, rng))
                settings = {key: tensor(cases.built(v, rng)) for key, v in settings.items()}
                if isinstance(settings.get("dtype"), str):
                    settings["dtype"] = getattr(torch, settings["dtype"])
                try:
                    out = function_of(room, name)(*args, **settings)
                except (TypeError, RuntimeError, AttributeError, ValueError, IndexError, NotImplementedError) as error:
                    print("torch refuses:", room, name, k, str(error)[:150])
                    continue
                made[f"{room}:{name}:{k}"] = answer(out, list(leaves((*args, *settings.values()))))
    for name, calls in cases.LAYERS.items():
        for k, ((args, settings), inputs) in enumerate(calls):
            layer, rng = getattr(torch.nn, name)(*args, **settings), cases.rng_of("layer", name, k)
            with torch.no_grad():
                for _, p in sorted(layer.named_parameters()):
                    p.copy_(torch.tensor(cases.f(*p.shape).array(rng)))
            inputs = tensor(cases.built(inputs, rng))
            params = [p for _, p in sorted(layer.named_parameters())]
            entry = answer(layer(*inputs), [*leaves(inputs), *params])
            entry["state"] = {n: told(v) for n, v in sorted(layer.named_buffers())}
            entry["after"] = told(params[0]) if name == "Embedding" else None
            layer.eval()
            entry["eval"] = told(layer(*inputs)) if not name.endswith("Loss") else None
            made[f"layer:{name}:{k}"] = entry
    for name, each in cases.OPTIMISERS.items():
        for k, settings in enumerate(each):
            params = [torch.nn.Parameter(torch.tensor(cases.step_of("start", n, (3,)))) for n in range(2)]
            groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.05, "weight_decay": 0.3}]
            optimiser = getattr(torch.optim, name)(groups, **settings)
            for n in range(4):
                for number, p in enumerate(params):
                    p.grad = torch.tensor(cases.step_of(name, (n, number), (3,)))
                optimiser.step()
            made[f"optim:{name}:{k}"] = [told(p) for p in params]
    lines = ",\n".join(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in made.items())
    (HERE / "expected.json").write_text("{\n" + lines + "\n}\n")
    print(len(made), "cases")


if __name__ == "__main__":
    main()
