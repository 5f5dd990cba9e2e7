"""Datasets in files: small ones are written here by each format's rules, then read."""
import gzip
import io
import json
import struct
import warnings
import wave

import numpy as np
import pytest
from PIL import Image

import mindlite.dataset as ds
from mindlite.dataset.files.records import crc32c, masked
from mindlite.dataset.files.table import FileSource

NUMBERS = np.random.default_rng(0)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def png(shape=(8, 9, 3)):
    stream = io.BytesIO()
    Image.fromarray(NUMBERS.integers(0, 256, shape, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def wav(path, samples=10, channels=1):
    stream = io.BytesIO()
    with wave.open(stream, "wb") as out:
        out.setnchannels(channels), out.setsampwidth(2), out.setframerate(8000)
        out.writeframes(np.arange(samples * channels, dtype="<i2").tobytes())
    return write(path, stream.getvalue())


def idx(path, array):
    return write(path, struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes())


def varint(value):
    value &= 2 ** 64 - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**features):
    out = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            kind, data = 1, b"".join(field(1, value) for value in values)
        elif isinstance(values[0], float):
            kind, data = 2, field(1, struct.pack(f"<{len(values)}f", *values))
        else:
            kind, data = 3, field(1, b"".join(map(varint, values)))
        out += field(1, field(1, name.encode()) + field(2, field(kind, data)))
    return field(1, out)


def record(data):
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", masked(crc32c(size))) + data + struct.pack("<I", masked(crc32c(data)))


def tfrecord(path, rows=range(3)):
    return write(path, b"".join(record(example(i=[k, -1], f=[k + 0.5], s=[b"ab%d" % k])) for k in rows))


def rows(dataset):
    return [[value.tolist() for value in row] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


# ---- every source of the table

def _mnist(folder, images="train-images-idx3-ubyte", labels="train-labels-idx1-ubyte"):
    idx(folder / images, NUMBERS.integers(0, 256, (3, 28, 28)))
    idx(folder / labels, np.array([3, 1, 2]))
    return str(folder)


def _folders(folder, name="cat/0.png"):
    for k, part in enumerate(("cat", "dog")):
        for number in range(2 + k):
            write(folder / part / f"{number}.png", png())
            write(folder / part / f"{number}.jpg", _jpeg())
    return str(folder)


def _jpeg():
    stream = io.BytesIO()
    Image.fromarray(NUMBERS.integers(0, 256, (8, 9, 3), np.uint8)).save(stream, "JPEG")
    return stream.getvalue()


def _files(folder, **files):
    for name, data in files.items():
        write(folder / name.replace("__", "/").replace("_dot_", "."), data)
    return str(folder)


def _csv(width):
    line = ",".join(f'"f{k}"' for k in range(width))
    return lambda folder: (_files(folder, **{"train_dot_csv": f"{line}\n{line}\n", "test_dot_csv": f"{line}\n"}),)


def _coco(folder):
    write(folder / "images" / "1.jpg", _jpeg())
    note = {"image_id": 1, "bbox": [1, 2, 3, 4], "category_id": 7, "iscrowd": 0}
    notes = write(folder / "notes.json", json.dumps({"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": [note],
                                                     "categories": [{"id": 7, "name": "cat"}]}))
    return str(folder / "images"), notes


def _voc(folder):
    box = "<object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox></object>"
    write(folder / "ImageSets/Main/train.txt", "a\n")
    write(folder / "JPEGImages/a.jpg", _jpeg())
    write(folder / "Annotations/a.xml", f"<annotation>{box}</annotation>")
    return str(folder), "Detection"


def _squad(folder):
    questions = [{"question": "q?", "answers": [{"text": "one", "answer_start": 4}]}, {"question": "r?", "answers": []}]
    return (_files(folder, **{"train-v1_dot_1_dot_json": json.dumps(
        {"data": [{"paragraphs": [{"context": "ctx one", "qas": questions}]}]})}), "train")


def _tagged(folder, source="de", target="en"):
    place = f"texts__{source}__{target}__{source}-{target}__train_dot_tags_dot_de-en_dot_"
    return _files(folder, **{place + x: "<doc>\n <url>\n a \n" for x in ("de", "en")})


def arrays(dataset):
    return list(dataset.create_tuple_iterator(output_numpy=True, num_epochs=1))


def _lfw(folder):
    for person, count in (("Ada", 2), ("Bo", 1)):
        for number in range(count):
            write(folder / "lfw_funneled" / person / f"{person}_{number + 1:04d}.jpg", _jpeg())
    files = {"lfw-names": "Ada 2\nBo 1\n", "peopleDevTrain": "1\nAda 2\n", "peopleDevTest": "1\nBo 1\n",
             "pairsDevTest": "1\nAda 1 2\nAda 1 Bo 1\n"}
    for name, text in files.items():
        write(folder / f"{name}.txt", text)
    return str(folder)


def _streets(folder):
    write(folder / "leftImg8bit/val/ulm/ulm_1_leftImg8bit.png", png())
    write(folder / "gtFine/val/ulm/ulm_1_gtFine_polygons.json", '{"objects": [ ]}')
    write(folder / "gtFine/val/ulm/ulm_1_gtFine_labelIds.png", png((8, 9)))
    return str(folder), "val", "fine", "semantic"


def _faces(folder):
    write(folder / "wider_face_split/wider_face_val_bbx_gt.txt", "a/1.jpg\n2\n1 2 3 4 0 1 2 3 4 5\n5 6 7 8 0 0 0 0 0 0\n"
          "a/2.jpg\n0\n0 0 0 0 0 0 0 0 0 0\n")
    for name in ("1", "2"):
        write(folder / f"WIDER_val/images/a/{name}.jpg", _jpeg())
    return str(folder), "valid"


def _patches(folder):
    stream = io.BytesIO()
    sheet = np.arange(256, dtype=np.uint8).reshape(16, 16).repeat(64, 0).repeat(64, 1)
    Image.fromarray(sheet).save(stream, "BMP")
    write(folder / "liberty/patches0000.bmp", stream.getvalue())
    write(folder / "liberty/info.txt", "0 0\n0 0\n1 0\n")
    write(folder / "liberty/m50_100000_100000_0.txt", "0 0 0 1 0 0 0\n0 0 0 17 1 0 0\n")
    return str(folder), "liberty"


def sphere(path, values, rate=1000):
    head = f"NIST_1A\n   1024\nsample_count -i {len(values)}\nsample_n_bytes -i 2\nchannel_count -i 1\n" \
           f"sample_byte_format -s2 10\nsample_rate -i {rate}\nsample_coding -s3 pcm\nend_head\n"
    return write(path, head.encode().ljust(1024, b"\0") + np.array(values, ">i2").tobytes())


def _talks(folder):
    sphere(folder / "dev/sph/a.sph", range(100))
    write(folder / "dev/stm/a.stm", "a 1 ann 0.00 0.02 <o,f0,female> good day\na 1 ann 0.05 0.10 <o> and night\n")
    return str(folder), "release1", "dev"


SOURCES = {                              # name: (folder -> arguments, number of rows, {column: dtype kind} of the first row)
    "MnistDataset": (lambda f: (_mnist(f),), 3, "uu"), "FashionMnistDataset": (lambda f: (_mnist(f),), 3, "uu"),
    "KMnistDataset": (lambda f: (_mnist(f),), 3, "uu"),
    "EMnistDataset": (lambda f: (_mnist(f, "emnist-mnist-train-images-idx3-ubyte", "emnist-mnist-train-labels-idx1-ubyte"),
    "mnist"),
                      3, "uu"),
    "Cifar10Dataset": (lambda f: (_files(f, data_batch_1_dot_bin=bytes(3073 * 2)),), 2, "uu"),
    "Cifar100Dataset": (lambda f: (_files(f, train_dot_bin=bytes(3074 * 2)),), 2, "uuu"),
    "USPSDataset": (lambda f: (_files(f, usps="3 " + " ".join(f"{k + 1}:-1.0" for k in range(256))), "train"), 1, "uu"),
    "SemeionDataset": (lambda f: (_files(f, semeion_dot_data="1.0 " * 256 + "0 0 1 0 0 0 0 0 0 0\n"),), 1, "uu"),
    "STL10Dataset": (lambda f: (_files(f, train_X_dot_bin=bytes(27648), train_y_dot_bin=b"\5"), "train"), 1, "ui"),
    "FakeImageDataset": (lambda f: (4, (5, 6, 3)), 4, "uu"),
    "ImageFolderDataset": (lambda f: (_folders(f),), 10, "ui"), "Caltech256Dataset": (lambda f: (_folders(f),), 5, "uu"),
    "SUN397Dataset": (lambda f: (_folders(f), _files(f, ClassName_dot_txt="/dog\n"))[:1], 3, "uu"),
    "OmniglotDataset": (lambda f: (_folders(f / "images_background" / "Greek"), (str(f),))[1], 10, "ui"),
    "RenderedSST2Dataset": (lambda f: (write(f / "train/positive/1.png", png()), (str(f), "train"))[1], 1, "uu"),
    "Food101Dataset": (lambda f: (write(f / "meta/train.txt", "cake/1\n"), write(f / "images/cake/1.jpg", _jpeg()),
                                  (str(f), "train"))[2], 1, "uU"),
    "Places365Dataset": (lambda f: (write(f / "places365_val.txt", "a.jpg 3\n"), write(f / "val_256/a.jpg", _jpeg()),
                                    (str(f), "val"))[2], 1, "uu"),
    "ManifestDataset": (lambda f: (write(f / "m.txt", json.dumps({"source": write(f / "x.png", png()), "usage": "train",
                                                                 "annotation": [{"name": "cat"}]})),), 1, "ui"),
    "CelebADataset": (lambda f: (_files(f, **{"list_attr_celeba_dot_txt": "1\na b\n1_dot_jpg 1 -1\n".replace("_dot_", "."),
                                              "1_dot_jpg": _jpeg()}),), 1, "uu"),
    "VOCDataset": (_voc, 1, "ufuuu"), "CocoDataset": (_coco, 1, "ufuu"),
    "FlickrDataset": (lambda f: (_files(f, a_dot_jpg=_jpeg()), write(f / "t.token", "a.jpg#0\tone\na.jpg#1\ttwo\n")), 1, "uU"),
    "SBUDataset": (lambda f: (_files(f, SBU_captioned_photo_dataset_urls_dot_txt="http://static.flickr.com/1/a.jpg\n",
    sbu_images__m_1_a_dot_jpg=_jpeg(),
                                     SBU_captioned_photo_dataset_captions_dot_txt="text\n"),), 1, "uU"),
    "DIV2KDataset": (lambda f: (_files(f, DIV2K_train_HR__1_dot_png=png(), DIV2K_train_LR_bicubic__X2__1x2_dot_png=png()),),
    1, "uu"),
    "KITTIDataset": (lambda f: (_files(f, data_object_image_2__training__image_2__1_dot_png=png(), **{
        "data_object_label_2__training__label_2__1_dot_txt": "Car 0.5 1 0.1 1 2 3 4 1 1 1 2 2 2 0.3\n"}),), 1, "uufufffff"),
    "TextFileDataset": (lambda f: (write(f / "a.txt", "one\n\ntwo é"),), 2, "U"),
    "CSVDataset": (lambda f: (write(f / "a.csv", 'x,y\n1,"a,b"\n'),), 1, "UU"),
    "AGNewsDataset": (_csv(3), 3, "UUU"), "AmazonReviewDataset": (_csv(3), 3, "UUU"), "DBpediaDataset": (_csv(3), 3, "UUU"),
    "SogouNewsDataset": (_csv(3), 3, "UUU"), "YahooAnswersDataset": (_csv(4), 3, "UUUU"), "YelpReviewDataset": (_csv(2), 3, "UU"),
    "WikiTextDataset": (lambda f: (_files(f, wiki_dot_train_dot_tokens=" = T = \n\n a \n"), "train"), 2, "U"),
    "PennTreebankDataset": (lambda f: (_files(f, ptb_dot_train_dot_txt=" a b \n c \n"), "train"), 2, "U"),
    "EnWik9Dataset": (lambda f: (_files(f, enwik9="a\nb\n"),), 2, "U"),
    "IMDBDataset": (lambda f: (_files(f, train__pos__0_dot_txt="good", train__neg__0_dot_txt="bad"), "train"), 2, "Ui"),
    "SST2Dataset": (lambda f: (_files(f, train_dot_tsv="sentence\tlabel\nfine \t1\n"),), 1, "UU"),
    "CoNLL2000Dataset": (lambda f: (_files(f, train_dot_txt="He PRP B\nran VBD I\n\nOk UH B\n"), "train"), 2, "UUU"),
    "UDPOSDataset": (lambda f: (_files(f, **{"en-ud-tag_dot_v2_dot_train_dot_txt": "He\tPRON\tPRP\n\n"}), "train"), 1, "UUU"),
    "SQuADDataset": (_squad, 2, "UUUu"),
    "CLUEDataset": (lambda f: (write(f / "a.json", '{"id": 7, "sentence1": "a", "sentence2": "b"}'), "AFQMC", "test"), 1, "uUU"),
    "Multi30kDataset": (lambda f: (_files(f, training__train_dot_en="a\nb\n", training__train_dot_de="c\nd\n"), "train"),
    2, "UU"),
    "IWSLT2016Dataset": (lambda f: (_tagged(f), "train"), 1, "UU"),
    "IWSLT2017Dataset": (lambda f: (_tagged(f, *["DeEnItNlRo"] * 2), "train"), 1, "UU"),
    "YesNoDataset": (lambda f: (wav(f / "0_1_0_1_0_1_0_1.wav"), (str(f),))[1], 1, "fii"),
    "GTZANDataset": (lambda f: (wav(f / "rock/rock.00071.wav"), wav(f / "rock/rock.00070.wav"), (str(f), "valid"))[2],
                     1, "fuU"),
    "SpeechCommandsDataset": (lambda f: (wav(f / "cat/ab_nohash_3.wav"), (str(f), "train"))[1], 1, "fiUUi"),
    "LJSpeechDataset": (lambda f: (wav(f / "wavs/LJ1.wav"), (_files(f, metadata_dot_csv="LJ1|Raw 1|Norm one\n"),))[1], 1, "fiUU"),
    "LibriTTSDataset": (lambda f: (wav(f / "dev-clean/1/2/1_2_3_4.wav"),
                                   write(f / "dev-clean/1/2/1_2.trans.tsv", "1_2_3_4\tA\ta\n"), (str(f),))[2], 1, "fuUUuuU"),
    "CMUArcticDataset": (lambda f: (wav(f / "cmu_us_aew_arctic/wav/arctic_a1.wav"), write(
        f / "cmu_us_aew_arctic/etc/txt.done.data", '( arctic_a1 "Text." )\n'), (str(f),))[2], 1, "fuUU"),
    "LFWDataset": (lambda f: (_lfw(f),), 3, "uu"), "CityscapesDataset": (_streets, 1, "uu"),
    "WIDERFaceDataset": (_faces, 2, "uiiiiiii"), "PhotoTourDataset": (_patches, 3, "u"), "TedliumDataset": (_talks, 2, "fiUUUU"),
    "LSUNDataset": (lambda f: (write(f / "tower_val/1.jpg", _jpeg()), write(f / "tower_train/1.jpg", _jpeg()), (str(f),))[2],
                    2, "uu"),
    "TFRecordDataset": (lambda f: (tfrecord(f / "a.tfrecord"),), 3, "fiu"),
}
MATLAB = {"SVHNDataset", "Flowers102Dataset", "Caltech101Dataset", "SBDataset"}       # read by SciPy
OTHERS = {"QMnistDataset", "RandomDataset"}


def test_every_source_of_the_table_has_a_sample_here():
    made = {name for name in ds.__all__ if isinstance(getattr(ds, name), type) and issubclass(getattr(ds, name), FileSource)}
    assert made == {*SOURCES, *MATLAB, *OTHERS}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_source_reads_what_its_format_says(name, tmp_path):
    arguments, count, kinds = SOURCES[name]
    dataset = getattr(ds, name)(*arguments(tmp_path), shuffle=False)
    found = list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(found) == count == dataset.get_dataset_size()
    assert [value.dtype.kind for value in found[0].values()] == list(kinds) and list(found[0]) == dataset.get_col_names()
    shards = [getattr(ds, name)(*arguments(tmp_path), shuffle=False, num_shards=2, shard_id=k) for k in range(2)]
    assert sum(shard.get_dataset_size() for shard in shards) >= count
    assert getattr(ds, name)(*arguments(tmp_path), num_samples=1).get_dataset_size() == 1
    if name not in ("FakeImageDataset",):
        with pytest.raises(ValueError, match="not"):
            getattr(ds, name)(*[str(tmp_path / "nowhere"), *arguments(tmp_path)[1:]])


def _words(dataset):
    return [str(row[-1]) for row in arrays(dataset)]


def test_files_of_text_come_in_the_order_of_mindspore(tmp_path):
    """By their names; Sogou and Yelp with train first (compared with MindSpore 2.10); one line of each file in turn."""
    def csv(name, width):
        line = '"1",' * (width - 1)
        place = _files(tmp_path / name, train_dot_csv=f'{line}"train"\n', test_dot_csv=f'{line}"test"\n')
        return getattr(ds, name)(place, shuffle=False)
    assert _words(csv("AGNewsDataset", 3)) == _words(csv("DBpediaDataset", 3)) == ["test", "train"]
    assert _words(csv("SogouNewsDataset", 3)) == _words(csv("YelpReviewDataset", 2)) == ["train", "test"]
    parts = {f"{place}.{language}": f"{word} {language}\n" for language in ("en", "de") for word, place in (
        ("train", "training/train"), ("valid", "validation/val"), ("test", "mmt16_task1_test/test"))}
    for place, text in parts.items():
        write(tmp_path / place, text)
    assert _words(ds.Multi30kDataset(str(tmp_path), shuffle=False)) == ["test de", "train de", "valid de"]


def test_a_class_without_a_folder_is_an_error(tmp_path):
    assert ds.ImageFolderDataset(_folders(tmp_path), class_indexing={"dog": 3}).get_dataset_size() == 6
    with pytest.raises(RuntimeError, match="cow doesn't exist"):
        ds.ImageFolderDataset(_folders(tmp_path), class_indexing={"dog": 3, "cow": 1})


def test_words_of_conll_may_stand_in_columns(tmp_path):
    write(tmp_path / "train.txt", "He PRP B-NP\nreckons   VBZ  B-VP\n\n")
    write(tmp_path / "test.txt", "\n")
    row, = ds.CoNLL2000Dataset(str(tmp_path), shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert [column.tolist() for column in row.values()] == [["He", "reckons"], ["PRP", "VBZ"], ["B-NP", "B-VP"]]


def test_names_of_files_are_a_column_only_after_rename(tmp_path):
    arguments = SOURCES["CocoDataset"][0](tmp_path)
    dataset = ds.CocoDataset(*arguments, extra_metadata=True, shuffle=False)
    assert dataset.get_col_names()[-1] == "_meta-filename"
    assert "_meta-filename" not in next(dataset.create_dict_iterator(num_epochs=1))
    width = len(next(dataset.create_tuple_iterator(num_epochs=1)))
    renamed = next(dataset.rename("_meta-filename", "file").create_dict_iterator(num_epochs=1, output_numpy=True))
    assert renamed["file"].item() == "1" and len(renamed) == width + 1, "without its ending, as in MindSpore"


def test_arguments_are_checked_before_files_are_read(tmp_path):
    for name in ("MnistDataset", "Food101Dataset", "LibriTTSDataset", "AGNewsDataset"):
        with pytest.raises(ValueError, match="num_parallel_workers exceeds"):
            getattr(ds, name)(str(tmp_path), num_parallel_workers=0)
        with pytest.raises((ValueError, RuntimeError)) as missing:
            rows(getattr(ds, name)(str(tmp_path)))
        assert isinstance(missing.value, ValueError) and isinstance(missing.value, RuntimeError), "both are caught in programs"


def test_an_error_above_a_source_of_text_names_the_file(tmp_path):
    write(tmp_path / "1.txt", "a\n")

    def fails(text):
        raise ValueError("no")
    with pytest.raises(RuntimeError, match="data file is: .*1.txt"):
        rows(ds.TextFileDataset(str(tmp_path / "1.txt"), shuffle=False).map(fails))


def test_labels_of_false_images_are_known_before(tmp_path):
    dataset = ds.FakeImageDataset(40, (2, 2, 3), 3, sampler=ds.PKSampler(2))
    assert sorted(int(row[1]) for row in arrays(dataset)) == [0, 0, 1, 1, 2, 2]
    for bad in (dict(num_images="3"), dict(image_size=("1", 2, 3)), dict(num_classes=1.5)):
        with pytest.raises(TypeError, match="is not of type"):
            ds.FakeImageDataset(**bad)


def test_matlab_files_are_read_by_scipy(tmp_path):
    io_ = pytest.importorskip("scipy.io")
    images = NUMBERS.integers(0, 256, (32, 32, 3, 2), np.uint8)
    io_.savemat(tmp_path / "train_32x32.mat", {"X": images, "y": np.array([[10], [3]])})
    assert [row[1] for row in rows(ds.SVHNDataset(str(tmp_path), "train", shuffle=False))] == [0, 3]
    io_.savemat(tmp_path / "imagelabels.mat", {"labels": np.array([[1, 5]])})
    io_.savemat(tmp_path / "setid.mat", {"trnid": [[2]], "valid": [[1]], "tstid": [[]]})
    write(tmp_path / "jpg/image_00002.jpg", _jpeg())
    assert [row[1] for row in rows(ds.Flowers102Dataset(str(tmp_path), usage="train"))] == [4]
    write(tmp_path / "101_ObjectCategories/ant/image_0001.jpg", _jpeg())
    (tmp_path / "Annotations/ant").mkdir(parents=True)
    io_.savemat(tmp_path / "Annotations/ant/annotation_0001.mat", {"obj_contour": np.ones((2, 3))})
    found = ds.Caltech101Dataset(str(tmp_path), "all")
    assert found.get_col_names() == ["image", "category", "annotation"] and rows(found)[0][2] == [[1, 1, 1], [1, 1, 1]]


def test_semantic_boundaries_are_masks_of_twenty_classes_or_one(tmp_path):
    io_, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    lines = np.empty((20, 1), object)
    for k in range(20):
        lines[k, 0] = sparse.csc_matrix(np.eye(3, k=k % 3, dtype=np.uint8))
    (tmp_path / "cls").mkdir()
    mask = np.arange(9, dtype=np.uint8).reshape(3, 3)
    io_.savemat(tmp_path / "cls/a.mat", {"GTcls": {"Boundaries": lines, "Segmentation": mask}})
    write(tmp_path / "img/a.jpg", _jpeg())
    write(tmp_path / "val.txt", "a\n")
    (_, boundaries), = arrays(ds.SBDataset(str(tmp_path), usage="val"))
    assert boundaries.shape == (20, 3, 3) and np.array_equal(boundaries[4], np.eye(3, k=1))
    assert rows(ds.SBDataset(str(tmp_path), "Segmentation", "val"))[0][1] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


# ---- details

def test_mnist_images_have_a_channel_and_may_be_compressed(tmp_path):
    _mnist(tmp_path)
    for path in tmp_path.iterdir():
        (tmp_path / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    dataset = ds.MnistDataset(str(tmp_path), "train", shuffle=False)
    assert dataset.output_shapes() == [[28, 28, 1], []] and [row[1] for row in rows(dataset)] == [3, 1, 2]
    with pytest.raises(ValueError, match="valid set"):
        ds.MnistDataset(str(tmp_path), "valid")
    balanced = ds.MnistDataset(str(tmp_path), sampler=ds.PKSampler(1))
    assert balanced.get_dataset_size() == 3


def test_cifar_images_are_channels_first_in_the_file(tmp_path):
    data = np.zeros(3073, np.uint8)
    data[0], data[1:1025] = 7, 5                             # red
    write(tmp_path / "test_batch.bin", data.tobytes())
    (image, label), = ds.Cifar10Dataset(str(tmp_path), "test").create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert label == 7 and (image[..., 0] == 5).all() and not image[..., 1:].any()
    write(tmp_path / "test_batch.bin", data.tobytes()[:-1])
    with pytest.raises(RuntimeError, match="binary version"):
        ds.Cifar10Dataset(str(tmp_path), "test")


def test_classes_of_folders_are_numbered_by_name_or_as_told(tmp_path):
    _folders(tmp_path)
    dataset = ds.ImageFolderDataset(str(tmp_path), shuffle=False, decode=True, extensions=[".png"])
    assert [row[1] for row in rows(dataset)] == [0, 0, 1, 1, 1] and dataset.get_class_indexing() == {"cat": 0, "dog": 1}
    assert dataset.num_classes() == 2 and dataset.output_shapes()[0] == [8, 9, 3]
    assert {row[1] for row in rows(ds.ImageFolderDataset(str(tmp_path), class_indexing={"dog": 4}))} == {4}
    with pytest.raises(RuntimeError, match="no data found"):
        rows(ds.ImageFolderDataset(str(tmp_path), extensions=[".gif"]))


def test_a_damaged_image_is_an_error_that_names_the_file_or_is_left_out(tmp_path, monkeypatch):
    _folders(tmp_path)
    write(tmp_path / "dog" / "1.png", b"\x89PNG nonsense")
    dataset = ds.ImageFolderDataset(str(tmp_path), decode=True, shuffle=False, extensions=[".png"])
    with pytest.raises(RuntimeError, match=r"damaged[\s\S]*dog/1.png"):
        rows(dataset)
    monkeypatch.setattr(ds.config.settings, "error_samples_mode", ds.ErrorSamplesMode.SKIP)
    with pytest.warns(UserWarning, match="dog/1.png"):
        assert len(rows(dataset)) == 4


def test_csv_columns_have_the_types_of_their_defaults(tmp_path):
    path = write(tmp_path / "a.csv", '1,2.5,abc\n,,"d ""e"""\n')
    dataset = ds.CSVDataset(path, column_defaults=[7, 0.5, ""], column_names=["a", "b", "c"], shuffle=False)
    assert rows(dataset) == [[1, 2.5, "abc"], [7, 0.5, 'd "e"']]
    assert [str(kind) for kind in dataset.output_types()][:2] == ["int32", "float32"]
    with pytest.raises(RuntimeError, match="line 1, type does not match"):
        rows(ds.CSVDataset(path, column_defaults=[7, 1, ""], column_names=["a", "b", "c"], shuffle=False))
    with pytest.raises(RuntimeError, match="3 fields for 2 columns"):
        rows(ds.CSVDataset(path, column_names=["a", "b"]))


def test_the_end_of_a_csv_file_that_cannot_be_parsed_is_one_bad_sample(tmp_path):
    path = write(tmp_path / "a.csv", '1,2\n3,4\n5,"6\n')
    dataset = ds.CSVDataset(path, column_defaults=[0, 0], column_names=["a", "b"], shuffle=False, num_samples=2)
    assert rows(dataset) == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="failed to parse csv file"):
        rows(ds.CSVDataset(path, column_defaults=[0, 0], column_names=["a", "b"], shuffle=False))


def test_text_is_shuffled_by_default_by_files_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(ds.config.settings, "seed", 3)
    for name in "abc":
        write(tmp_path / f"{name}.txt", "".join(f"{name}{k}\n" for k in range(10)))
    plain = [row[0] for row in rows(ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False))]
    assert plain[:4] == ["a0", "b0", "c0", "a1"] and len(plain) == 30, "one line of each file in turn"
    plain.sort()
    mixed = [row[0] for row in rows(ds.TextFileDataset(str(tmp_path / "*.txt")))]
    assert mixed != plain and sorted(mixed) == plain
    by_file = [row[0] for row in rows(ds.TextFileDataset(str(tmp_path / "*.txt"), None, 1, ds.Shuffle.FILES))]
    assert sorted(by_file) == plain and all(by_file[k][1:] == str(k % 10) for k in range(30))
    parts = [[row[0] for row in rows(ds.TextFileDataset(str(tmp_path / "*.txt"), None, 1, False, num_shards=4, shard_id=k))]
             for k in range(4)]
    assert sum(parts, []) == plain + plain[:2], "equal shards: the last one begins again"


@pytest.mark.parametrize("by_argument", [True, False])
def test_text_that_is_not_shuffled_has_mindspore_s_order_for_the_workers_that_are_asked_for(tmp_path, monkeypatch, by_argument):
    for name, count in (("a", 4), ("b", 3), ("c", 3)):
        write(tmp_path / f"{name}.txt", "".join(f"{name}{k + 1}\n" for k in range(count)))

    def read(workers, **options):
        if by_argument:
            options["num_parallel_workers"] = workers
        else:
            monkeypatch.setattr(ds.config.settings, "num_parallel_workers", 1)
            monkeypatch.setattr(ds.config.settings, "workers_asked", workers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")                  # more workers than cores
            return " ".join(row[0] for row in rows(ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False, **options)))
    assert read(1) == "a1 a2 a3 a4 b1 b2 b3 c1 c2 c3"        # what MindSpore 2.10 gives
    assert read(2) == "a1 b1 a2 b2 a3 b3 a4 c1 c2 c3"
    assert read(3) == read(None) == "a1 b1 c1 a2 b2 c2 a3 b3 c3 a4"
    assert [read(1, num_shards=2, shard_id=k) for k in (0, 1)] == ["a1 a2 a3 a4 b1", "b2 b3 c1 c2 c3"]
    assert [read(2, num_shards=2, shard_id=k) for k in (0, 1)] == ["a1 b1 a2 a3 a4", "b2 c1 b3 c2 c3"]
    assert read(1, num_samples=5) == "a1 a2 a3 a4 b1" and read(2, num_samples=5) == "a1 b1 a2 b2 a3"


def test_a_folder_in_a_class_of_images_is_refused(tmp_path):
    (tmp_path / "cat" / "young").mkdir(parents=True)
    with pytest.raises(RuntimeError, match="young, should be file, but got directory"):
        ds.ImageFolderDataset(str(tmp_path))


def test_a_question_without_an_answer_has_an_empty_one(tmp_path):
    found = rows(ds.SQuADDataset(*_squad(tmp_path), shuffle=False))
    assert found[0] == ["ctx one", "q?", ["one"], [4]] and found[1][2:] == [[""], [2 ** 32 - 1]]


# ---- TFRecord

def check_mutated_records(path, count, seed):
    """One to three bytes are changed, or the end is cut off: the file is refused, or gives its rows, of a cut one the first."""
    numbers, whole = np.random.default_rng(seed), rows(ds.TFRecordDataset(path, shuffle=False))
    with open(path, "rb") as stream:
        data = np.frombuffer(stream.read(), np.uint8)
    refused = 0
    for k in range(count):
        changed = data.copy()
        changed[numbers.integers(len(data), size=1 + k % 3)] ^= np.uint8(1 << numbers.integers(8))
        cut = data[:numbers.integers(len(data))] if k % 5 == 0 else changed
        with open(path, "wb") as stream:
            stream.write(cut.tobytes())
        try:
            found = rows(ds.TFRecordDataset(path, shuffle=False))
            assert found == whole[:len(found)] and (k % 5 == 0 or len(found) == len(whole))
        except (RuntimeError, ValueError):
            refused += 1
    assert refused > count // 2


def test_the_number_of_rows_in_a_schema_limits_the_rows(tmp_path):
    path, schema = tfrecord(tmp_path / "x", range(5)), ds.Schema()
    schema.add_column("i", "int64", [2])
    schema.num_rows = 2
    assert [row[0] for row in rows(ds.TFRecordDataset(path, schema, shuffle=False))] == [[0, -1], [1, -1]]
    assert len(rows(ds.TFRecordDataset(path, schema, num_samples=4))) == 4


def test_mutated_records_are_read_or_refused(tmp_path):
    check_mutated_records(tfrecord(tmp_path / "x"), 100, 0)


@pytest.mark.slow
def test_two_thousand_five_hundred_mutated_records_are_read_or_refused(tmp_path):
    check_mutated_records(tfrecord(tmp_path / "x"), 2500, 1)


def test_the_checksum_is_castagnoli_s():
    assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0 and crc32c(bytes(32)) == 0x8A9136AA
    for size in (511, 512, 5000, 16384, 100_003):
        data = NUMBERS.bytes(size)
        state = 0xFFFFFFFF
        for byte in data if size < 20000 else b"":
            state ^= byte
            for _ in range(8):
                state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
        if size < 20000:
            assert crc32c(data) == state ^ 0xFFFFFFFF
        assert crc32c(data) != crc32c(data[:-1] + bytes([data[-1] ^ 1]))


def test_records_have_the_columns_of_the_first_one_or_of_a_schema(tmp_path):
    path = tfrecord(tmp_path / "a.tfrecord")
    dataset = ds.TFRecordDataset(path, shuffle=False)
    assert dataset.get_col_names() == ["f", "i", "s"] and rows(dataset)[1] == [[1.5], [1, -1], [97, 98, 49]]
    schema = ds.Schema()
    schema.add_column("i", "int32", [2, 1]), schema.add_column("s", "string")
    assert rows(ds.TFRecordDataset(path, schema, shuffle=False))[0] == [[[0], [-1]], ["ab0"]]
    assert rows(ds.TFRecordDataset(path, write(tmp_path / "s.json", schema.to_json()), ["i"], shuffle=False))[0] == [[[0], [-1]]]
    with pytest.raises(RuntimeError, match="failed to find column name: zz"):
        rows(ds.TFRecordDataset(path, columns_list=["zz"]))
    schema.from_json({"columns": [{"name": "i", "type": "int64", "shape": [3]}]})
    with pytest.raises(RuntimeError, match="Column shape of i defined in schema does not match"):
        rows(ds.TFRecordDataset(path, schema))


def test_shards_of_records_are_files_or_equally_many_rows(tmp_path):
    paths = [tfrecord(tmp_path / "a", range(3)), tfrecord(tmp_path / "b", range(10, 12))]

    def shard(k, **options):
        dataset = ds.TFRecordDataset(paths, None, ["i"], shuffle=False, num_shards=2, shard_id=k, **options)
        return [row[0][0] for row in rows(dataset)]
    assert [shard(0), shard(1)] == [[0, 1, 2], [10, 11]]
    for workers, last in ((1, [10, 11, 0]), (2, [10, 0, 11])):                                   # what MindSpore 2.10 gives
        options = {"shard_equal_rows": True, "num_parallel_workers": workers}
        assert [shard(0, **options), shard(1, **options)] == [[0, 1, 2], last]


def test_compressed_records_are_read(tmp_path):
    raw = open(tfrecord(tmp_path / "a"), "rb").read()
    path = write(tmp_path / "a.gz", gzip.compress(raw))
    assert len(rows(ds.TFRecordDataset(path, compression_type="GZIP"))) == 3
    with pytest.raises(RuntimeError):
        ds.TFRecordDataset(path, compression_type="ZLIB")


def test_no_byte_of_a_record_file_can_change_unseen(tmp_path):
    original = open(tfrecord(tmp_path / "a"), "rb").read()
    expected = rows(ds.TFRecordDataset(str(tmp_path / "a"), shuffle=False))
    for place in range(len(original)):
        changed = bytearray(original)
        changed[place] ^= 1 << NUMBERS.integers(8)
        with pytest.raises(RuntimeError):
            rows(ds.TFRecordDataset(write(tmp_path / "b", bytes(changed)), shuffle=False))
    for size in range(1, len(original)):
        try:
            found = rows(ds.TFRecordDataset(write(tmp_path / "b", original[:size]), shuffle=False))
        except RuntimeError:
            continue
        assert found == expected[:len(found)] and size in (len(original) * k // 3 for k in (1, 2)), "a whole number of records"


@pytest.mark.parametrize("words, given", [
    ("sampler and shuffle cannot", {"sampler": ds.SequentialSampler(), "shuffle": False}),
    ("sampler and sharding cannot", {"sampler": ds.SequentialSampler(), "num_shards": 2, "shard_id": 0}),
    ("sampler and num_samples cannot", {"sampler": ds.SequentialSampler(), "num_samples": 1}),
    ("requires shard_id as well", {"num_shards": 2}), ("shard_id is specified but num_shards is not", {"shard_id": 0})])
def test_arguments_of_a_source_that_exclude_each_other_are_refused(tmp_path, words, given):
    with pytest.raises(RuntimeError, match=words):
        ds.MnistDataset(_mnist(tmp_path), **given)
    with pytest.raises(ValueError, match="shard_id is not within the required interval of .0, 1"):
        ds.MnistDataset(_mnist(tmp_path), num_shards=2, shard_id=2)


def test_an_error_in_a_map_names_the_file_of_the_sample(tmp_path):
    def broken(image):
        raise KeyError("no")
    with pytest.raises(RuntimeError, match=r"\[PyFunc\] failed. The corresponding data file is: .*cat.0.jpg. Error description"):
        rows(ds.ImageFolderDataset(_folders(tmp_path), shuffle=False, extensions=[".jpg"]).map(broken, ["image"]))
    with pytest.raises(RuntimeError, match="data file is: .*-images-idx3-ubyte. Error"):
        rows(ds.MnistDataset(_mnist(tmp_path / "m"), shuffle=False).map(broken, ["image"]))
    with pytest.raises(RuntimeError, match="data file is: .*a.txt. Error"):
        rows(ds.TextFileDataset(write(tmp_path / "a.txt", "one")).map(broken, ["text"]))


def test_faces_come_as_persons_or_as_pairs_of_one_person_or_two(tmp_path):
    directory = _lfw(tmp_path)
    assert [row[1] for row in rows(ds.LFWDataset(directory, shuffle=False))] == [0, 0, 1]
    pairs = ds.LFWDataset(directory, "pairs", "test", shuffle=False, decode=True)
    assert [row[2] for row in rows(pairs)] == [1, 0] and pairs.get_col_names() == ["image1", "image2", "label"]


def test_the_numbers_of_a_face_are_columns(tmp_path):
    image, box, *columns = rows(ds.WIDERFaceDataset(*_faces(tmp_path), shuffle=False))[0]
    assert box == [[1, 2, 3, 4], [5, 6, 7, 8]] and columns == [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]]


def test_streets_have_masks_or_polygons(tmp_path):
    directory, *more = _streets(tmp_path)
    assert rows(ds.CityscapesDataset(directory, "val", task="polygon"))[0][1] == '{"objects":[]}'
    with pytest.raises(RuntimeError, match="instanceIds.png does not exist"):
        ds.CityscapesDataset(directory, "val")
    with pytest.raises(ValueError, match="valid set of .'train', 'train_extra', 'val', 'all'"):
        ds.CityscapesDataset(directory, "test", "coarse")


def test_folders_of_rooms_that_are_read_are_numbered_by_name(tmp_path):
    for name in ("bridge_train", "tower_train", "tower_val", "other_train"):
        write(tmp_path / name / "1.jpg", _jpeg())
    directory = str(tmp_path)
    assert [row[1] for row in rows(ds.LSUNDataset(directory, shuffle=False))] == [0, 1, 2]
    assert [row[1] for row in rows(ds.LSUNDataset(directory, "train", ["tower"], shuffle=False))] == [0]
    with pytest.raises(TypeError, match="not 'cave'"):
        ds.LSUNDataset(directory, classes="cave")


def test_patches_stand_in_rows_of_sixteen_and_match_by_their_points(tmp_path):
    directory, name = _patches(tmp_path)
    patches = arrays(ds.PhotoTourDataset(directory, name, shuffle=False))
    assert [(p.shape, int(p.min()), int(p.max())) for p, in patches] == [((64, 64, 1), k, k) for k in range(3)]
    pairs = arrays(ds.PhotoTourDataset(directory, name, "test", shuffle=False))
    assert [(int(a[0, 0, 0]), int(b[0, 0, 0]), int(same)) for a, b, same in pairs] == [(0, 1, 1), (0, 17, 0)]


def test_a_talk_is_cut_where_its_lines_begin_and_end(tmp_path):
    first, second = arrays(ds.TedliumDataset(*_talks(tmp_path), shuffle=False))
    np.testing.assert_array_equal(first[0], np.arange(20, dtype=np.float32)[None] / 2 ** 15)
    np.testing.assert_array_equal(second[0], np.arange(50, 100, dtype=np.float32)[None] / 2 ** 15)
    assert [str(value) for value in second[2:]] == ["and night", "a", "ann", "<o>"] and int(second[1]) == 1000
    with pytest.raises(ValueError, match="usage is not within the valid set of .'all'"):
        ds.TedliumDataset(str(tmp_path), "release3", "train")


@pytest.mark.parametrize("source, argument", [
    (ds.CMUArcticDataset, "name"), (ds.IWSLT2016Dataset, "valid_set"), (ds.IWSLT2016Dataset, "test_set"),
    (ds.CityscapesDataset, "task"), (ds.DIV2KDataset, "downgrade"), (ds.EMnistDataset, "name")])
def test_a_word_that_a_source_does_not_know_is_refused_before_files_are_looked_for(source, argument, tmp_path):
    with pytest.raises(ValueError, match=f"Input {argument} is not within the valid set of"):
        source(str(tmp_path), **{argument: "zzz"})


@pytest.mark.parametrize("damage", [
    lambda d: d[:1100], lambda d: b"RIFF" + d[4:], lambda d: d.replace(b"bytes -i 2", b"bytes -i 1"),
    lambda d: d.replace(b"rate -i 1000", b"rate -i some"), lambda d: b""])
def test_a_damaged_talk_is_an_error(tmp_path, damage):
    arguments = _talks(tmp_path)
    path = tmp_path / "dev/sph/a.sph"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RuntimeError, match="damaged"):
        rows(ds.TedliumDataset(*arguments))


def test_an_image_of_a_manifest_may_have_several_classes(tmp_path):
    image, entries = write(tmp_path / "x.png", png()), [("train", ["dog"]), ("TRAIN", ["cat", "dog"]), ("eval", ["bee"]),
                                                        ("train", ["zebra", "cat", "ant"])]
    path = write(tmp_path / "m.txt", "\n".join(json.dumps({"source": image, "usage": usage, "annotation": [
        {"name": name} for name in names]}) for usage, names in entries))
    for words, classes, labels in ((None, {"ant": 0, "cat": 1, "dog": 2, "zebra": 3}, [2, [1, 2], [3, 1, 0]]),
                                   ({"cat": 3, "dog": 7}, {"cat": 3, "dog": 7}, [7, [3, 7], 3]), ({"ant": 1}, {"ant": 1}, [1])):
        dataset = ds.ManifestDataset(path, shuffle=False, class_indexing=words)
        assert dataset.get_class_indexing() == classes and dataset.num_classes() == len(classes)
        assert [label.tolist() for _, label in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)] == labels
