"""Data pipelines beside PyTorch's DataLoader and MindSpore's engine: the same files, two workers, batches of 64.

    python bench/data.py [--rows TEXT ...] [--rounds 3] [--peers DIR] [--folder DIR] [--profile]

jpeg    2,000 files of 224 x 224 in 10 folders: decode, random part in 224 x 224, flip, normalise, channels first
mnist   20,000 images in IDX files: random crop after padding, to [0, 1], normalise, channels first
text    20,000 lines: split at blanks, look up, cut or pad to 64
arrays  60,000 rows of 784 float32 in memory, shuffled

A sample is one pass directly after another one. MindSpore computes batches ahead, also of the next pass: after a pause, say while
others are measured, half of a pass of these sizes is ready before its clock starts. Elapsed time and processor time (of the
process, its threads and its children) are printed as microseconds a row: least of the rounds, frameworks in turn. PyTorch's
images go through the steps of torchvision's transforms of PIL images, and its arrays have no workers, which is faster. It needs
Pillow in the peer.
"""
import argparse
import cProfile
import os
import pathlib
import pstats
import struct
import sys
import tempfile
import time

import numpy as np

from beside_torch import PEERS, Both, serve

WORKERS, BATCH, SIDE, LENGTH = 2, 64, 224, 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
COUNTS = {"jpeg": 2000, "mnist": 20000, "text": 20000, "arrays": 60000}
NAMES = ("mindlite", "torch", "mindspore")


# ------------------------------------------------------------------- what is read

def make_files(folder):
    """Write the files, the same on every machine."""
    from PIL import Image
    numbers = np.random.default_rng(15)
    for k in range(COUNTS["jpeg"]):
        path = folder / "jpeg" / f"class{k % 10}"
        path.mkdir(parents=True, exist_ok=True)
        smooth = Image.fromarray(numbers.integers(0, 256, (12, 12, 3), np.uint8)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        noisy = np.asarray(smooth, np.int16) + numbers.normal(0, 6, (SIDE, SIDE, 3)).astype(np.int16)
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(path / f"{k:05d}.jpg", quality=90)
    (folder / "mnist").mkdir(exist_ok=True)
    count = COUNTS["mnist"]
    images = struct.pack(">4I", 0x803, count, 28, 28) + numbers.integers(0, 256, count * 784, np.uint8).tobytes()
    labels = struct.pack(">2I", 0x801, count) + numbers.integers(0, 10, count, np.uint8).tobytes()
    (folder / "mnist" / "train-images-idx3-ubyte").write_bytes(images)
    (folder / "mnist" / "train-labels-idx1-ubyte").write_bytes(labels)
    words = [f"word{k}" for k in range(5000)]
    (folder / "words.txt").write_text("\n".join(["<pad>", "<unk>", *words]) + "\n")
    lines = (" ".join(words[w] for w in numbers.zipf(1.3, numbers.integers(10, 90)) % 5000) for _ in range(COUNTS["text"]))
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")


def arrays():
    """(rows, labels)"""
    numbers = np.random.default_rng(16)
    return numbers.random((COUNTS["arrays"], 784), np.float32), numbers.integers(0, 10, COUNTS["arrays"]).astype(np.int32)


# ------------------------------------------------------------------- pipelines

class MindSporeLike:
    """The pipelines in MindSpore's words. Each gives a function that makes one pass."""

    def __init__(self, package, folder):
        import importlib
        self.folder = folder
        self.ds = importlib.import_module(f"{package}.dataset")
        self.vision, self.texts, self.transforms = (importlib.import_module(f"{package}.dataset.{room}")
                                                   for room in ("vision", "text", "transforms"))
        self.many = dict(num_parallel_workers=WORKERS)

    def jpeg(self):
        v = self.vision
        mean, std = [255 * m for m in MEAN], [255 * s for s in STD]
        rows = self.ds.ImageFolderDataset(str(self.folder / "jpeg"), shuffle=True, num_parallel_workers=WORKERS)
        rows = rows.map([v.RandomCropDecodeResize(SIDE), v.RandomHorizontalFlip(), v.Normalize(mean, std), v.HWC2CHW()],
                        "image", **self.many)
        return self.passes(rows)

    def mnist(self):
        v = self.vision
        rows = self.ds.MnistDataset(str(self.folder / "mnist"), "train", shuffle=True)
        rows = rows.map([v.RandomCrop(28, 4), v.Rescale(1 / 255, 0.0), v.Normalize([0.1307], [0.3081]), v.HWC2CHW()],
                        "image", **self.many)
        return self.passes(rows)

    def text(self):
        rows = self.ds.TextFileDataset(str(self.folder / "lines.txt"), shuffle=False)
        vocabulary = self.texts.Vocab.from_file(str(self.folder / "words.txt"), "\n")
        rows = rows.map([self.texts.WhitespaceTokenizer(), self.texts.Lookup(vocabulary, "<unk>"),
                         self.transforms.Slice(slice(0, LENGTH)), self.transforms.PadEnd([LENGTH], 0)], "text", **self.many)
        return self.passes(rows)

    def arrays(self):
        return self.passes(self.ds.NumpySlicesDataset(arrays(), ["x", "y"], shuffle=True))

    def passes(self, rows):
        iterator = rows.batch(BATCH, num_parallel_workers=WORKERS).create_tuple_iterator()

        def once():
            for columns in iterator:
                columns[0].shape
        return once


class Torch:
    """The pipelines in PyTorch's."""

    def __init__(self, folder):
        import torch
        torch.set_num_threads(1)
        self.torch, self.folder = torch, folder

    def jpeg(self):
        import math
        import random
        from PIL import Image
        torch = self.torch
        files = sorted((self.folder / "jpeg").glob("*/*.jpg"))
        mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)

        def part(width, height):
            for _ in range(10):
                area = width * height * random.uniform(0.08, 1)
                aspect = math.exp(random.uniform(-math.log(4 / 3), math.log(4 / 3)))
                w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
                if 0 < w <= width and 0 < h <= height:
                    left, top = random.randint(0, width - w), random.randint(0, height - h)
                    return left, top, left + w, top + h
            return 0, 0, width, height

        def sample(k):
            with open(files[k], "rb") as stream:
                image = Image.open(stream).convert("RGB")
            image = image.crop(part(*image.size)).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            if random.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            x = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().to(torch.float32).div(255)
            return x.sub_(mean).div_(std), k % 10
        return self.passes(sample, len(files))

    def mnist(self):
        import random
        from PIL import Image, ImageOps
        torch = self.torch
        images = np.frombuffer((self.folder / "mnist" / "train-images-idx3-ubyte").read_bytes(), np.uint8, offset=16)
        labels = np.frombuffer((self.folder / "mnist" / "train-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
        images = images.reshape(-1, 28, 28)

        def sample(k):
            image = ImageOps.expand(Image.fromarray(images[k]), 4)
            left, top = random.randint(0, 8), random.randint(0, 8)
            image = image.crop((left, top, left + 28, top + 28))
            x = torch.from_numpy(np.array(image))[None].to(torch.float32).div(255)
            return x.sub_(0.1307).div_(0.3081), int(labels[k])
        return self.passes(sample, len(images))

    def text(self):
        torch = self.torch
        lines = (self.folder / "lines.txt").read_text().splitlines()
        vocabulary = {word: k for k, word in enumerate((self.folder / "words.txt").read_text().splitlines())}

        def sample(k):
            numbers = [vocabulary.get(word, 1) for word in lines[k].split()][:LENGTH]
            return torch.tensor(numbers + [0] * (LENGTH - len(numbers)))
        return self.passes(sample, len(lines), shuffle=False)

    def arrays(self):
        from torch.utils.data import TensorDataset
        rows = TensorDataset(*map(self.torch.from_numpy, arrays()))
        return self.passes(rows.__getitem__, len(rows), workers=0)

    def passes(self, sample, count, shuffle=True, workers=WORKERS):
        from torch.utils.data import DataLoader

        class Rows:
            def __len__(self):
                return count

            def __getitem__(self, k):
                return sample(k)
        loader = DataLoader(Rows(), BATCH, shuffle, num_workers=workers, persistent_workers=workers > 0)

        def once():
            for columns in loader:
                columns[0].shape
        return once


# ------------------------------------------------------------------- measuring

def processor_seconds():
    """Of this process and its living descendants."""
    times = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:                                      # it has ended meanwhile
            continue
        times[int(folder.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    for _ in range(4):
        ours |= {pid for pid, (parent, _) in times.items() if parent in ours}
    return sum(times[pid][1] for pid in ours)


def pipelines(name, folder):
    """The pipelines of a framework."""
    return Torch(folder) if name == "torch" else MindSporeLike(name, folder)


def answers(name, folder):
    """What a serving process answers: {"row": its name} -> [elapsed, processor time] of one pass."""
    made = {}

    def answer(asked):
        row = asked["row"]
        if row not in made:
            made.clear()                                     # the workers of the row before
            made[row] = getattr(pipelines(name, folder), row)()
            made[row]()
        made[row]()                                          # and what was computed ahead is used up
        elapsed, used = time.perf_counter(), processor_seconds()
        made[row]()
        return [time.perf_counter() - elapsed, processor_seconds() - used]
    return answer


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", default=[], help="only rows with one of these texts in their name")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=PEERS)
    parser.add_argument("--folder", help="where the files are, or are made")
    parser.add_argument("--profile", action="store_true", help="mindlite in one process, by function")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = pathlib.Path(options.folder or tempfile.gettempdir()) / "mindlite-bench-data"
    if options.serve:
        serve(answers(options.serve, folder))
        return
    if not (folder / "lines.txt").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_files(folder)
    rows = [row for row in COUNTS if not options.rows or any(text in row for text in options.rows)]
    if options.profile:
        profile_here(rows, folder)
        return
    beside = Both([__file__, "--folder", str(folder.parent)], options.peers, names=NAMES)
    print("| row | " + " | ".join(f"{name}: us elapsed, us of processor" for name in beside) + " | rate by the better peer |")
    print("|---" * (len(beside.workers) + 2) + "|")
    with beside as workers:
        for row in rows:
            print(f"| {row} | {compared(row, workers, options.rounds)} |", flush=True)


def compared(row, workers, rounds):
    """The cells of a row."""
    taken = {name: [] for name in workers}
    for _ in range(rounds):
        for name in workers:
            taken[name].append(workers.ask(name, row=row))
    least = {name: [1e6 * min(column) / COUNTS[row] for column in zip(*samples)] for name, samples in taken.items()}
    ours = least["mindlite"]
    ratios = [min((least[name][k] for name in least if name != "mindlite"), default=0) / ours[k] for k in (0, 1)]
    cells = [f"{elapsed:.1f}, {used:.1f}" for elapsed, used in least.values()]
    return " | ".join([*cells, f"{ratios[0]:.2f} elapsed, {ratios[1]:.2f} processor"])


def profile_here(rows, folder):
    """Print where the time of one pass goes."""
    global WORKERS
    WORKERS = 1
    for row in rows:
        once = getattr(pipelines("mindlite", folder), row)()
        once()
        profile = cProfile.Profile()
        profile.runcall(once)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    sys.exit(main())
