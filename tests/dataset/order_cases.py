"""Pipelines whose order is random: {name: rows -> what they give}. make_orders.py writes what MindSpore gives for them."""
import struct

import numpy as np

SEEDS, PASSES = (1, 58, 4294967290), 3


def write_files(folder):
    """Three files of lines and MNIST, in a folder."""
    for name, count in (("a", 3), ("b", 5), ("c", 4)):
        (folder / f"{name}.txt").write_text("".join(f"{name}{k}\n" for k in range(count)))
    (folder / "train-images-idx3-ubyte").write_bytes(
        struct.pack(">4I", 0x803, 12, 28, 28) + np.repeat(np.arange(12, dtype=np.uint8), 784).tobytes())
    labels = np.arange(12, dtype=np.uint8) % 3
    (folder / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 12) + labels.tobytes())


def write_records(writer, folder):
    """One MindRecord file of ten rows. writer : the class FileWriter"""
    made = writer(str(folder / "ten.mindrecord"), 1)
    made.add_schema({"x": {"type": "int32"}}, "numbers")
    made.write_raw_data([{"x": k} for k in range(10)])
    made.commit()


class Numbers:
    """A source with an index."""

    def __getitem__(self, index):
        return (np.array(index),)

    def __len__(self):
        return 11


def cases(ds, folder):
    """{name: a function that makes pipelines}"""
    def plain(count, **options):
        return ds.NumpySlicesDataset(np.arange(count), ["x"], **options)

    def still(count):
        return plain(count, shuffle=False)

    def chained(outer, inner):
        outer.add_child(inner)
        return plain(12, sampler=outer)

    def mixed(first, second):
        both = still(first) + ds.NumpySlicesDataset(np.arange(100, 100 + second), ["x"], shuffle=False)
        both.use_sampler(ds.RandomSampler())
        return both

    def part_of_part():
        one = still(10).split([6, 4])[0]
        one.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
        return one

    def text(*options, **more):
        return ds.TextFileDataset([str(folder / f"{name}.txt") for name in "abc"], *options, **more)
    weights, mnist, ten = [.1, .5, 3, .2, .9, 0, 4], str(folder), str(folder / "ten.mindrecord")
    found = {f"random of {n}": lambda n=n: plain(n, shuffle=True) for n in (1, 2, 3, 10, 17)}
    found |= {f"first of {n} in random order": lambda n=n: plain(n, sampler=ds.RandomSampler(False, 8))
              for n in (65534, 65535, 65536, 70000)}         # from 65536 on each place has a number of its own
    found |= {f"buffer of {b}": lambda b=b: still(17).shuffle(b) for b in (2, 5, 17, 100)}
    found |= {f"shard {k}": lambda k=k: plain(10, num_shards=3, shard_id=k) for k in range(3)}
    found |= {f"record shard {k}": lambda k=k: ds.MindDataset(ten, num_shards=3, shard_id=k) for k in range(3)}
    found |= {f"text {shuffle} by {n}": lambda n=n, shuffle=shuffle: text(shuffle=getattr(ds.Shuffle, shuffle),
                                                                         num_parallel_workers=n)
              for n in (1, 2) for shuffle in ("GLOBAL", "FILES")}
    found |= {f"text {shuffle} shard {k}": lambda k=k, shuffle=shuffle: text(
        shuffle=getattr(ds.Shuffle, shuffle), num_shards=2, shard_id=k, num_parallel_workers=1)
        for k in range(2) for shuffle in ("GLOBAL", "FILES")}
    return found | {
        "replacement": lambda: plain(10, sampler=ds.RandomSampler(True, 7)),
        **{f"{n} of random": lambda n=n: plain(10, num_samples=n) for n in (0, 6, 13)},
        "4 of random records": lambda: ds.GeneratorDataset(Numbers(), ["x"], shuffle=True, num_samples=4),
        "first of random": lambda: plain(10, sampler=ds.RandomSampler(False, 7)),
        "subset": lambda: plain(10, sampler=ds.SubsetRandomSampler([3, 1, 4, 1, 5, 9], 4)),
        "weighted": lambda: plain(10, sampler=ds.WeightedRandomSampler(weights)),
        "weighted without replacement": lambda: plain(10, sampler=ds.WeightedRandomSampler(weights, 5, False)),
        "a range in random order": lambda: chained(ds.RandomSampler(), ds.SequentialSampler(2, 8)),
        "a shard of random": lambda: chained(ds.DistributedSampler(2, 1, True), ds.RandomSampler()),
        "split": lambda: still(13).split([.5, .3, .2]),
        "split of a map": lambda: still(10).map(abs, "x").split([6, 4]),
        "split of random": lambda: plain(10, shuffle=True).split([6, 4]),
        "part of a part": part_of_part,
        "repeat below": lambda: still(6).repeat(2).shuffle(4),
        "repeat above": lambda: still(6).shuffle(4).repeat(2),
        "take above": lambda: still(10).shuffle(4).take(3),
        "filter below": lambda: still(11).filter(lambda x: x % 3 != 0, "x").shuffle(4),
        "twice": lambda: still(10).shuffle(4).shuffle(3),
        "zip": lambda: ds.zip((plain(10, shuffle=True), still(4).rename("x", "y"))),
        "concat": lambda: plain(5, shuffle=True) + plain(5, shuffle=True),
        "mixed": lambda: mixed(5, 6),
        "generator": lambda: ds.GeneratorDataset(Numbers(), ["x"]),
        "PKSampler": lambda: ds.MnistDataset(mnist, sampler=ds.PKSampler(2)),
        "PKSampler, shuffled": lambda: ds.MnistDataset(mnist, sampler=ds.PKSampler(5, shuffle=True, num_samples=11)),
        "first of text": lambda: text(3, shuffle=True, num_parallel_workers=1),
        "records": lambda: ds.MindDataset(ten),
    }


def orders(made):
    """The first value of each row, pass by pass; of each pipeline where there are several."""
    if isinstance(made, tuple):
        return [orders(one) for one in made]
    rows = made.create_tuple_iterator(num_epochs=PASSES, output_numpy=True)

    def value(row):
        first = np.asarray(row[0]).ravel()[0]
        return str(first) if isinstance(first, str) else int(first)
    return [[value(row) for row in rows] for _ in range(PASSES)]


def all_orders(ds, writer, folder):
    """{"name, seed": orders}"""
    write_files(folder)
    write_records(writer, folder)
    found, before = {}, ds.config.get_seed()
    try:
        for seed in SEEDS:
            ds.config.set_seed(seed)
            found |= {f"{name}, seed {seed}": orders(make()) for name, make in cases(ds, folder).items()}
    finally:
        ds.config.set_seed(before)
    return found
