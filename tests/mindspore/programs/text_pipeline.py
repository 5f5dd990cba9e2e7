"""Text: vocabulary, lookups, padding, truncation, buckets, filters, zips; an order that is prescribed."""
import numpy as np
from fixed import show

import mindspore as ms
from mindspore import dataset as ds
from mindspore.dataset import text, transforms

sentences = ["the cat sat on the mat", "a dog ran", "the dog and the cat", "birds fly over the house today", "mat",
             "a cat ran on"]
labels = [0, 1, 0, 1, 1, 0]


def source():
    for sentence, label in zip(sentences, labels):
        yield np.array(sentence), np.array(label, np.int32)


def fresh():
    return ds.GeneratorDataset(source, ["text", "label"], shuffle=False)


tokens = fresh().map(text.WhitespaceTokenizer(), "text")
vocab = text.Vocab.from_dataset(tokens, columns=["text"], freq_range=(1, None), special_tokens=["<pad>", "<unk>"],
                                special_first=True)
show("vocab", sorted(vocab.vocab().items())[:8])
show("ids", [vocab.tokens_to_ids("cat"), vocab.ids_to_tokens([0, 1])])
known = text.Vocab.from_list(["<pad>", "<unk>", "the", "cat", "dog", "a", "on", "ran"])
data = fresh().map(text.WhitespaceTokenizer(), "text")
data = data.map([text.Lookup(known, "<unk>", ms.int32), transforms.PadEnd([8], 0)], "text")
for batch in data.batch(4).create_dict_iterator(num_epochs=1, output_numpy=True):
    show("batch", [batch["text"].tolist(), batch["label"].tolist()])


def lengths():
    return fresh().map(text.WhitespaceTokenizer(), "text").map(text.Lookup(known, "<unk>"), "text")


for row in lengths().padded_batch(3, pad_info={"text": ([7], 9)}).create_tuple_iterator(output_numpy=True, num_epochs=1):
    show("padded", [row[0].tolist(), row[1].tolist()])
buckets = lengths().bucket_batch_by_length(["text"], [4, 6], [2, 2, 1], element_length_function=lambda x: x.shape[0],
                                         pad_info={"text": ([None], 0)}, pad_to_bucket_boundary=False)
show("buckets", sorted(list(row[0].shape) for row in buckets.create_tuple_iterator(output_numpy=True, num_epochs=1)))
short = lengths().filter(lambda x: x.shape[0] < 5, ["text"])
show("short", [int(row[1]) for row in short.create_tuple_iterator(output_numpy=True, num_epochs=1)])


def numbers():
    return ds.NumpySlicesDataset({"n": list(range(10)), "m": [k * k for k in range(10)]}, shuffle=False)


show("chain", [[int(v) for v in row] for row in
               numbers().skip(1).take(5).repeat(2).create_tuple_iterator(output_numpy=True, num_epochs=1)])
first, second = numbers().split([0.7, 0.3], randomize=False)
show("split", [first.get_dataset_size(), second.get_dataset_size()])
zipped = ds.zip((numbers().take(4).project("n"), numbers().take(4).project("m").rename("m", "k")))
show("zip", [zipped.get_col_names(), [[int(v) for v in row] for row in zipped.create_tuple_iterator(output_numpy=True)]])
both = numbers().take(2) + numbers().skip(8)
show("concat", [int(row["n"]) for row in both.create_dict_iterator(output_numpy=True, num_epochs=1)])
batched = numbers().batch(4, drop_remainder=False, per_batch_map=lambda n, m, info: ([x + info.get_batch_num() for x in n], m),
                        input_columns=["n", "m"])
show("batched", [row["n"].tolist() for row in batched.create_dict_iterator(output_numpy=True, num_epochs=1)])
show("sizes", [batched.get_dataset_size(), batched.get_batch_size(), batched.get_repeat_count(), numbers().output_shapes()])
sampled = ds.NumpySlicesDataset(np.arange(8), sampler=ds.SubsetSampler([5, 1, 7]))
show("sampled", [int(row[0]) for row in sampled.create_tuple_iterator(output_numpy=True)])
shard = ds.NumpySlicesDataset(np.arange(7), shuffle=False, num_shards=2, shard_id=1)
show("shard", [int(row[0]) for row in shard.create_tuple_iterator(output_numpy=True)])
python = ds.GeneratorDataset(lambda: iter([(np.float32(k),) for k in range(5)]), ["x"]).map(
    transforms.Compose([lambda x: x * 2, lambda x: (x, x + 1)]), ["x"], ["x", "y"])
show("compose", [[float(v) for v in row] for row in python.create_tuple_iterator(output_numpy=True, num_epochs=1)])
