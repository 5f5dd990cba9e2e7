"""Write orders.json with MindSpore: python tests/dataset/make_orders.py, in an environment that has MindSpore 2.10."""
import json
import pathlib
import tempfile

import mindspore.dataset as ds
from mindspore.mindrecord import FileWriter

from order_cases import all_orders

with tempfile.TemporaryDirectory() as folder:
    found = all_orders(ds, FileWriter, pathlib.Path(folder))
lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(order)}" for name, order in found.items())
pathlib.Path(__file__).with_name("orders.json").write_text("{\n" + lines + "\n}\n")
