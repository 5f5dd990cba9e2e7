"""A .mindir file in which anything is another is read, or refused with FileFormatError; nothing else comes."""
import random
import warnings
import zipfile

import numpy as np

import mindlite as ms
from mindlite import ops
from mindlite.common.errors import FileFormatError
from mindlite.mindir.file import read_file

WORDS = (b"99999999999999999999", b"-1", b"%0", b"f64", b"(", b'"', b"\n", b"9" * 400, b"'\n(")


class Net(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.ones((3, 100), np.float32)), name="w")

    def construct(self, x):
        h = ops.tanh(ops.matmul(x, self.w))
        return h.sum() * 2, ops.concat((h, h), axis=1)


def changed(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at, how = draw.randrange(len(data)), draw.random()
        if how < 0.5:
            data[at] = draw.choice(b'0123456789()[]{}%,:=-"abcf i64\n')
        elif how < 0.75:
            del data[at:at + draw.randint(1, 6)]
        else:
            data[at:at] = draw.choice(WORDS)
    return bytes(data)


def test_changed_members_are_read_or_refused(tmp_path):
    ms.export(Net(), ms.Tensor(np.ones((2, 3), np.float32)), file_name=str(tmp_path / "net"), file_format="MINDIR")
    with zipfile.ZipFile(tmp_path / "net.mindir") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    draw, refused = random.Random(0), 0
    for number in range(1500):
        path, which = tmp_path / "changed.mindir", draw.choice(list(members))
        head = 128 if which.endswith(".npy") else None       # of an array: its header, as any elements are elements
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, changed(draw, data[:head]) + data[head:] if head and name == which else
                                 changed(draw, data) if name == which else data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")              # NumPy wonders who wrote such a header
                read_file(path)
        except FileFormatError:
            refused += 1
    assert refused > 1000
