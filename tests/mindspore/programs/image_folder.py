"""Pictures in folders, as programs for pictures load them: an index of classes, decoding, augmentation, a split by
a sampler, a transfer with frozen layers, Model.fit with callbacks, a confusion matrix, an export that is read again."""
import os
import tempfile

import numpy as np
from fixed import fill, show, totals
from PIL import Image

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Tensor, nn, ops
from mindspore.dataset import transforms, vision
from mindspore.dataset.vision import Border, Inter
from mindspore.train import (Accuracy, Callback, CheckpointConfig, ConfusionMatrix, EarlyStopping, History,
                             LearningRateScheduler, Loss, Model, ModelCheckpoint)

folder = tempfile.mkdtemp()
random = np.random.RandomState(7)
for kind, colour in (("bee", (200, 170, 30)), ("ant", (60, 40, 40)), ("cat", (120, 120, 140))):
    os.makedirs(os.path.join(folder, "train", kind))
    for number in range(6):
        pixels = np.clip(np.array(colour) + random.randint(-30, 30, (20 + number, 26, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(os.path.join(folder, "train", kind, f"{number}.png"))


def create_dataset(training, size=16):
    sampler = ds.SubsetSampler([k for k in range(18) if (k % 3 != 2) == training])
    data = ds.ImageFolderDataset(os.path.join(folder, "train"), num_parallel_workers=2, sampler=sampler,
                                 class_indexing={"ant": 0, "bee": 1, "cat": 2})
    mean, std = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
    steps = [vision.Decode(), vision.Resize(18, Inter.BILINEAR), vision.CenterCrop(size)]
    if training:
        steps += [vision.RandomHorizontalFlip(prob=1.0), vision.Pad(1, fill_value=9, padding_mode=Border.CONSTANT),
                  vision.Crop((1, 0), size)]
    steps += [vision.Normalize(mean=mean, std=std), vision.HWC2CHW()]
    data = data.map(operations=steps, input_columns="image", num_parallel_workers=1)
    data = data.map(operations=transforms.TypeCast(ms.int32), input_columns="label")
    return data.batch(4, drop_remainder=training)


train, valid = create_dataset(True), create_dataset(False)
show("sizes", [train.get_dataset_size(), valid.get_dataset_size(), train.get_batch_size(), train.num_classes(),
               train.get_class_indexing() and sorted(train.get_class_indexing())])
image, label = next(train.create_tuple_iterator(output_numpy=True))
show("image", [list(image.shape), str(image.dtype), label.tolist()])
show("pixels", image[:2, :, 5, 5:8])

mixed = ds.NumpySlicesDataset((np.arange(4 * 48, dtype=np.float32).reshape(4, 4, 4, 3), [0, 1, 2, 1]), ["image", "label"],
                              shuffle=False)
mixed = mixed.map(transforms.OneHot(3, smoothing_rate=0.1), "label")
for row in mixed.batch(4).create_dict_iterator(num_epochs=1, output_numpy=True):
    show("labels", row["label"].astype(np.float32))
two = vision.Resize((9, 7), Inter.BICUBIC)(np.arange(5 * 6 * 3, dtype=np.uint8).reshape(5, 6, 3))
show("resized", [list(two.shape), bool(np.abs(two.astype(int) - two.astype(int).mean()).mean() > 1)])
eager = [vision.VerticalFlip(), vision.Rescale(1 / 255.0, -0.5), vision.HWC2CHW()]
value = np.arange(4 * 3 * 3, dtype=np.uint8).reshape(4, 3, 3)
for operation in eager:
    value = operation(value)
show("eager", value.astype(np.float32))


class Backbone(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 6, 3, 2, pad_mode="same"), nn.BatchNorm2d(6)
        self.conv2, self.pool = nn.Conv2d(6, 8, 3, 2, pad_mode="same", has_bias=True), ops.AdaptiveAvgPool2D(1)

    def construct(self, x):
        x = ops.relu(self.bn1(self.conv1(x)))
        return ops.flatten(self.pool(ops.relu(self.conv2(x))))


class Classifier(nn.Cell):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone, self.head = Backbone(), nn.Dense(8, classes)

    def construct(self, x):
        return self.head(self.backbone(x))


pretrained = fill(Backbone())
ms.save_checkpoint(pretrained, os.path.join(folder, "backbone.ckpt"))
net = fill(Classifier(), seed=1)
values = {f"backbone.{name}": value for name, value in ms.load_checkpoint(os.path.join(folder, "backbone.ckpt"),
                                                                        filter_prefix="conv2.b").items()}
show("left", [sorted(values), ms.load_param_into_net(net, values)[0]])
for p in net.backbone.get_parameters():
    p.requires_grad = not p.name.endswith(("gamma", "beta"))
net.backbone.bn1.set_train(False)


class Rates(Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_epoch_end(self, run_context):
        optimizer = run_context.original_args().optimizer
        self.seen.append(round(float(optimizer.learning_rate.asnumpy()), 5))


optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.05, momentum=0.9)
model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"acc": Accuracy(), "loss": Loss()})
rates, history = Rates(), History()
files = ModelCheckpoint("net", os.path.join(folder, "out"), CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=2))
schedule = LearningRateScheduler(lambda lr, step: lr * 0.9 if step % 3 == 0 else lr)
model.fit(4, train, valid, callbacks=[schedule, rates, history, files, EarlyStopping("eval_loss", patience=3)],
          dataset_sink_mode=False, valid_dataset_sink_mode=False)
show("rates", rates.seen)
show("history", sorted(history.history))
show("files", sorted(name for name in os.listdir(os.path.join(folder, "out")) if name.endswith(".ckpt")))
totals(net)
matrix = ConfusionMatrix(num_classes=3)
net.set_train(False)
for image, label in valid.create_tuple_iterator(num_epochs=1):
    matrix.update(net(image), label)
show("matrix", matrix.eval())
ms.export(net, Tensor(np.ones((2, 3, 16, 16), np.float32)), file_name=os.path.join(folder, "net"), file_format="MINDIR")
loaded = nn.GraphCell(ms.load(os.path.join(folder, "net.mindir")))
show("exported", loaded(Tensor(image.asnumpy()[:2])))
