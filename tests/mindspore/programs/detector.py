"""Boxes: a folder like VOC's, crops and flips that move boxes, anchors, encoding by overlaps, a smooth L1 and focal loss
over selected anchors, non-maximum suppression."""
import os
import tempfile
import xml.etree.ElementTree as tree

import numpy as np
from fixed import fill, show, totals
from PIL import Image

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
from mindspore import Tensor, nn, ops

random = np.random.RandomState(2)
folder = tempfile.mkdtemp()
for part in ("JPEGImages", "Annotations", "ImageSets/Main"):
    os.makedirs(os.path.join(folder, part))
names = [f"{n:03}" for n in range(4)]
for name in names:
    Image.fromarray(random.randint(0, 256, (4, 6, 3)).astype(np.uint8)).resize((48, 32)).save(
        os.path.join(folder, "JPEGImages", name + ".jpg"), quality=95)
    root = tree.Element("annotation")
    for kind in random.choice(["cat", "dog"], random.randint(1, 4)):
        thing = tree.SubElement(root, "object")
        x, y, w, h = random.randint(1, 20), random.randint(1, 12), random.randint(8, 24), random.randint(6, 18)
        for key, value in (("name", kind), ("difficult", 0), ("truncated", 0)):
            tree.SubElement(thing, key).text = str(value)
        box = tree.SubElement(thing, "bndbox")
        for key, value in (("xmin", x), ("ymin", y), ("xmax", min(x + w, 47)), ("ymax", min(y + h, 31))):
            tree.SubElement(box, key).text = str(value)
    tree.ElementTree(root).write(os.path.join(folder, "Annotations", name + ".xml"))
with open(os.path.join(folder, "ImageSets", "Main", "train.txt"), "w") as stream:
    stream.write("\n".join(names) + "\n")

data = ds.VOCDataset(folder, task="Detection", usage="train", class_indexing={"cat": 1, "dog": 2}, shuffle=False, decode=True)
show("columns", [data.get_col_names(), data.get_dataset_size(), data.get_class_indexing()])
for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
    show("row", [list(row["image"].shape), str(row["bbox"].dtype), row["bbox"].tolist(), row["label"].tolist()])

flipped = data.map([vision.RandomHorizontalFlipWithBBox(1.0), vision.ResizeWithBBox((32, 32))], ["image", "bbox"])
for row in flipped.create_dict_iterator(num_epochs=1, output_numpy=True):
    show("flipped", row["bbox"].astype(np.float32))

anchors = []
for level, (cells, size) in enumerate(((4, 0.3), (2, 0.6))):
    for i in range(cells):
        for j in range(cells):
            for ratio in (1.0, 0.5, 2.0):
                anchors.append([(i + 0.5) / cells, (j + 0.5) / cells, size * ratio ** 0.5, size / ratio ** 0.5])
anchors = np.clip(np.array(anchors, np.float32), 0, 1)
corners = np.concatenate([anchors[:, :2] - anchors[:, 2:] / 2, anchors[:, :2] + anchors[:, 2:] / 2], 1)


def encode(boxes, labels):
    boxes = boxes / 32.0
    yxyx = np.stack([boxes[:, 1], boxes[:, 0], boxes[:, 1] + boxes[:, 3], boxes[:, 0] + boxes[:, 2]], 1).astype(np.float32)
    low, high = np.maximum(corners[:, None, :2], yxyx[None, :, :2]), np.minimum(corners[:, None, 2:], yxyx[None, :, 2:])
    inter = np.prod(np.maximum(high - low, 0), -1)
    area = np.prod(corners[:, 2:] - corners[:, :2], -1)
    iou = inter / (area[:, None] + np.prod(yxyx[:, 2:] - yxyx[:, :2], -1) - inter)
    best = iou.argmax(1)
    best[iou.argmax(0)] = np.arange(len(yxyx))
    positive = iou.max(1) > 0.3
    positive[iou.argmax(0)] = True
    chosen = yxyx[best]
    middle, size = (chosen[:, :2] + chosen[:, 2:]) / 2, chosen[:, 2:] - chosen[:, :2]
    location = np.concatenate([(middle - anchors[:, :2]) / anchors[:, 2:] / 0.1, np.log(size / anchors[:, 2:]) / 0.2], 1)
    return (np.where(positive[:, None], location, 0).astype(np.float32),
            np.where(positive, labels.reshape(-1)[best], 0).astype(np.int32), np.int32(positive.sum()))


train = flipped.map(encode, ["bbox", "label"], ["location", "kind", "count"])
train = train.map([vision.Normalize([127.0] * 3, [60.0] * 3), vision.HWC2CHW()], "image")
train = train.project(["image", "location", "kind", "count"]).batch(2, drop_remainder=True)
show("encoded", [int(v) for row in train.create_tuple_iterator(num_epochs=1, output_numpy=True) for v in row[3]])


class Head(nn.Cell):
    def __init__(self, channels, per_anchor):
        super().__init__()
        self.conv = nn.SequentialCell(nn.Conv2d(channels, channels, 3, pad_mode="same", group=channels, has_bias=False),
                                      nn.BatchNorm2d(channels), nn.ReLU6(), nn.Conv2d(channels, per_anchor * 3, 1, has_bias=True))
        self.per_anchor = per_anchor

    def construct(self, x):
        x = ops.transpose(self.conv(x), (0, 2, 3, 1))
        return ops.reshape(x, (x.shape[0], -1, self.per_anchor))


class Detector(nn.Cell):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.SequentialCell([nn.Conv2d(3, 8, 3, 4, pad_mode="same"), nn.ReLU(), nn.Conv2d(8, 12, 3, 2)])
        self.extra = nn.Conv2d(12, 12, 3, 2, pad_mode="pad", padding=(0, 1, 0, 1))
        self.location = nn.CellList([Head(12, 4), Head(12, 4)])
        self.kind = nn.CellList([Head(12, classes), Head(12, classes)])

    def construct(self, x):
        first = self.stem(x)
        maps = (first, ops.relu(self.extra(first)))
        location, kind = (), ()
        for i in range(len(maps)):
            location += (self.location[i](maps[i]),)
            kind += (self.kind[i](maps[i]),)
        return ops.concat(location, 1), ops.concat(kind, 1)


class FocalLoss(nn.Cell):
    def __init__(self, gamma=2.0, alpha=0.75):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha
        self.cross_entropy = ops.SigmoidCrossEntropyWithLogits()

    def construct(self, logits, label):
        label = ops.one_hot(label, logits.shape[-1], Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        entropy = self.cross_entropy(logits, label)
        sigmoid = ops.sigmoid(logits)
        p_t = label * sigmoid + (1 - label) * (1 - sigmoid)
        return (label * self.alpha + (1 - label) * (1 - self.alpha)) * ops.pow(1 - p_t, self.gamma) * entropy


class DetectionLoss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net, self.focal = net, FocalLoss()
        self.smooth_l1 = nn.SmoothL1Loss(reduction="none")

    def construct(self, image, location, kind, count):
        found, logits = self.net(image)
        mask = ops.cast(ops.less(Tensor(0), kind), ms.float32)
        total = ops.reduce_sum(ops.cast(count, ms.float32))
        mask_location = ops.tile(ops.expand_dims(mask, -1), (1, 1, 4))
        smooth = ops.reduce_sum(ops.reduce_mean(self.smooth_l1(found, location) * mask_location, -1), -1)
        return ops.reduce_sum((ops.reduce_sum(ops.reduce_mean(self.focal(logits, kind), -1), -1) + smooth) / total)


net = Detector()
fill(net)
momentum = nn.Momentum(filter(lambda p: p.requires_grad, net.get_parameters()), 0.02, 0.9, 1e-4)
step = nn.TrainOneStepCell(DetectionLoss(net), momentum, 1024.0)
step.set_train()
for epoch in range(3):
    for row in train.create_dict_iterator(num_epochs=1):
        show("loss", step(row["image"], row["location"], row["kind"], row["count"]) / 1)
totals(net)
net.set_train(False)
for row in train.create_dict_iterator(num_epochs=1):
    location, logits = net(row["image"])
    middle = location[0, :, :2] * 0.1 * Tensor(anchors[:, 2:]) + Tensor(anchors[:, :2])
    size = ops.exp(ops.clip_by_value(location[0, :, 2:] * 0.2, Tensor(-2.0), Tensor(2.0))) * Tensor(anchors[:, 2:])
    boxes = ops.concat((middle - size / 2, middle + size / 2), -1)
    scores = ops.sigmoid(0.05 * logits[0]).amax(-1)
    kept, index, valid = ops.NMSWithMask(0.55)(ops.concat((boxes, scores.expand_dims(-1)), 1))
    show("kept", int(valid.asnumpy().sum()))
    show("iou", ops.iou(Tensor(np.abs(boxes.asnumpy()[:3]) * 32), Tensor(np.array([[1, 1, 20, 20], [4, 6, 30, 25]], np.float32))))
