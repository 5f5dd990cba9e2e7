"""Writes descriptions.json anew: what real MindSpore's `dataset.serialize` says of the operations that the file names.

    python tests/dataset/make_descriptions.py          with an interpreter that has MindSpore
"""
import json
import pathlib

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.audio as audio
import mindspore.dataset.text as text
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
import numpy as np

FILE = pathlib.Path(__file__).with_name("descriptions.json")
NAMES = {"ms": ms, "np": np, "audio": audio, "text": text, "transforms": transforms, "vision": vision}


def rounded(value):
    """Floats of seven digits: MindSpore's come from float32."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def main():
    """Describe each expression of the file."""
    found = {}
    for expression in json.loads(FILE.read_text(encoding="utf-8")):
        rows = ds.GeneratorDataset([1], "a").map(eval(expression, dict(NAMES)), ["a"])
        found[expression] = rounded(ds.serialize(rows)["operations"])
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value, sort_keys=True)}" for name, value in found.items())
    FILE.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
