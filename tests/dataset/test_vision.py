"""Operations on images: every one runs on arrays and PIL images; results are checked against Pillow, NumPy and by hand."""
import io
import os
import warnings

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import mindlite.dataset as ds
from mindlite.dataset import draws, transforms, vision
from mindlite.dataset.operation import Operation
from mindlite.dataset.rows import MapDataset
from mindlite.dataset.vision import formats, hsv, kernels, resizing, smoothing

ROWS, COLUMNS = np.mgrid[0:37, 0:53]
IMAGE = np.stack([(ROWS * 5 + COLUMNS * 2) % 256, (COLUMNS * 4 + ROWS) % 256, (ROWS * COLUMNS // 8) % 256], -1).astype(np.uint8)
PIL = Image.fromarray(IMAGE)
BOXES = np.array([[1, 2, 10, 12, 7], [20, 5, 8, 8, 9]], np.float32)
SAMPLES = {                              # name: arguments of a call that every image must stand
    "AdjustBrightness": (1.5,), "AdjustContrast": (1.5,), "AdjustGamma": (0.5,), "AdjustHue": (0.2,), "AdjustSaturation": (0.5,),
    "AdjustSharpness": (2.0,), "Affine": (15.0, (0.1, 0.1), 1.1, (1.0, 1.0)), "AutoAugment": (), "AutoContrast": (),
    "CenterCrop": (20,),
    "ConvertColor": (vision.ConvertMode.COLOR_RGB2BGR,), "Crop": ((3, 4), 10), "CutOut": (5,), "Equalize": (),
    "GaussianBlur": (3,), "HorizontalFlip": (), "HWC2CHW": (), "Invert": (), "Normalize": ([1., 2., 3.], [1., 2., 3.]),
    "NormalizePad": ([1., 2., 3.], [1., 2., 3.]), "Pad": (2,), "PadToSize": (60,), "Posterize": (3,), "RandAugment": (),
    "Perspective": ([(0, 0), (52, 0), (52, 36), (0, 36)], [(2, 3), (50, 1), (49, 30), (1, 35)]), "RandomAdjustSharpness": (2.0,),
    "RandomAffine": (15,), "RandomAutoContrast": (), "RandomColor": (), "RandomColorAdjust": (0.5, 0.5, 0.5, 0.1),
    "RandomCrop": (20,),
    "RandomEqualize": (), "RandomHorizontalFlip": (), "RandomInvert": (), "RandomLighting": (), "RandomPerspective": (),
    "RandomPosterize": ((1, 8),), "RandomResize": (20,), "RandomResizedCrop": (20,), "RandomRotation": (90,),
    "RandomSharpness": (),
    "RandomSolarize": (), "RandomVerticalFlip": (), "Rescale": (0.1, 1.0), "Resize": (20,),
    "ResizedCrop": (2, 3, 20, 25, (11, 12)),
    "RgbToHsv": (True,), "HsvToRgb": (True,), "Rotate": (30,), "SlicePatches": (2, 3), "Solarize": (100,), "ToTensor": (),
    "TrivialAugmentWide": (), "UniformAugment": ([vision.Invert(), vision.Equalize()],), "VerticalFlip": (), "ToPIL": (),
    "Erase": (3, 4, 5, 6), "RandomSelectSubpolicy": ([[(vision.Invert(), 0.5)]],),
}
PIL_ONLY = {"FiveCrop": (10,), "TenCrop": (10,), "Grayscale": (), "RandomGrayscale": (), "ToNumpy": ()}
ARRAY_ONLY = {"Normalize", "Erase", "RandomErasing", "LinearTransformation", "ToType"}
WITH_BOXES = {"BoundingBoxAugment": (vision.Invert(), 1.0), "RandomCropWithBBox": (20,), "RandomHorizontalFlipWithBBox": (1.0,),
              "RandomResizedCropWithBBox": (20,), "RandomResizeWithBBox": (20,), "RandomVerticalFlipWithBBox": (1.0,),
              "ResizeWithBBox": (20,)}
OTHERS = {"Decode", "RandomCropDecodeResize", "CutMixBatch", "MixUp", "MixUpBatch",
          "LinearTransformation", "RandomErasing", "ToType"}


def jpeg(image=IMAGE, quality=90):
    return vision.encode_jpeg(image, quality)


@pytest.fixture(autouse=True)
def _seeded():
    before = ds.config.settings.seed
    ds.config.set_seed(3)
    yield
    ds.config.settings.seed = before
    draws.seed_eager(None)


def test_every_operation_has_a_sample_here():
    operations = {name for name in vision.__all__ if isinstance(getattr(vision, name), type)
                  and issubclass(getattr(vision, name), Operation)}
    assert operations == {*SAMPLES, *PIL_ONLY, *WITH_BOXES, *OTHERS}


@pytest.mark.parametrize("name", sorted({**SAMPLES, **PIL_ONLY}))
def test_an_operation_takes_arrays_and_pil_images_and_leaves_them_as_they_were(name):
    operation = getattr(vision, name)(*{**SAMPLES, **PIL_ONLY}[name])
    before, results = IMAGE.copy(), []
    if name not in PIL_ONLY:
        results.append(operation(IMAGE))
    if name not in ARRAY_ONLY:
        results.append(operation(PIL))
    assert (IMAGE == before).all() and (np.asarray(PIL) == before).all()
    for result in results:
        for part in result if isinstance(result, tuple) else (result,):
            assert np.asarray(part).dtype.kind in "uf" and np.asarray(part).size
    assert name in repr(operation)


@pytest.mark.parametrize("name", sorted(name for name in SAMPLES if getattr(vision, name).random))
def test_a_random_operation_draws_by_place_and_nothing_else(name):
    operation = getattr(vision, name)(*SAMPLES[name])

    def at(sample):
        draws.begin(1, 2, 0, sample)
        try:
            return np.asarray(operation(IMAGE))
        finally:
            draws.end()
    found = [at(k) for k in range(12)]
    assert all(np.array_equal(a, at(k)) for k, a in enumerate(found))
    assert any(not np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("name", sorted(WITH_BOXES))
def test_boxes_stay_inside_and_keep_what_else_they_have(name):
    image, boxes = getattr(vision, name)(*WITH_BOXES[name])(IMAGE, BOXES)
    assert boxes.dtype == BOXES.dtype and boxes.shape[1] == 5 and {*boxes[:, 4]} <= {7, 9, 0}
    assert (boxes[:, 0] + boxes[:, 2] <= image.shape[1] + 1e-3).all()
    assert (boxes[:, 1] + boxes[:, 3] <= image.shape[0] + 1e-3).all()
    for bad in (np.array([[1, 2, 10]]), np.array([[1, 2, 100, 3]]), np.array([[-1, 2, 3, 3]])):
        with pytest.raises(RuntimeError):
            getattr(vision, name)(*WITH_BOXES[name])(IMAGE, bad)


def test_flipping_moves_boxes_with_the_image():
    image, boxes = vision.RandomHorizontalFlipWithBBox(1.0)(IMAGE, BOXES)
    assert (image == IMAGE[:, ::-1]).all() and boxes[0].tolist() == [42, 2, 10, 12, 7]
    image, boxes = vision.RandomVerticalFlipWithBBox(1.0)(IMAGE, BOXES)
    assert (image == IMAGE[::-1]).all() and boxes[0].tolist() == [1, 23, 10, 12, 7]


# ---- values

def test_pil_images_are_resized_by_pillow_and_arrays_without_a_filter():
    assert (np.asarray(vision.Resize((20, 30))(PIL)) == np.asarray(PIL.resize((30, 20), Image.Resampling.BILINEAR))).all()
    assert vision.Resize(20)(IMAGE).shape == (20, 28, 3), "an int is the shorter side"
    assert (vision.Resize((74, 106), vision.Inter.NEAREST)(IMAGE) == IMAGE.repeat(2, 0).repeat(2, 1)).all()
    halved = IMAGE[:36, :52].reshape(18, 2, 26, 2, 3).mean((1, 3))
    assert abs(vision.Resize((18, 26))(IMAGE[:36, :52]) - halved).max() <= 0.5


@pytest.mark.parametrize("how", [vision.Inter.LINEAR, vision.Inter.CUBIC, vision.Inter.AREA])
@pytest.mark.parametrize("size", [(20, 28), (60, 90), (37, 20)])
def test_interpolations_give_back_planes(how, size):
    """A plane sampled anywhere inside lies on the plane; here a ramp in float32."""
    ramp = (ROWS * 2.0 + COLUMNS).astype(np.float32)
    found = vision.Resize(size, how)(ramp)
    y = (np.arange(size[0]) + 0.5) * 37 / size[0] - 0.5
    x = (np.arange(size[1]) + 0.5) * 53 / size[1] - 0.5
    expected = 2 * y[:, None] + x
    inner = np.s_[5:-5, 5:-5]
    allowed = {vision.Inter.LINEAR: 1e-2, vision.Inter.CUBIC: 0.2, vision.Inter.AREA: 1.6}      # cubic: a = -0.75
    assert abs(found - expected)[inner].max() < allowed[how]


def test_bytes_and_floats_are_interpolated_alike():
    for size in ((20, 28), (60, 90)):
        exact = vision.Resize(size)(IMAGE.astype(np.float32))
        assert abs(vision.Resize(size)(IMAGE) - exact).max() <= 1


def test_normalising_and_tensors():
    mean, std = [120., 110., 100.], [50., 60., 70.]
    expected = (IMAGE - np.array(mean)) / std
    assert np.allclose(vision.Normalize(mean, std)(IMAGE), expected, atol=1e-6)
    planes = vision.Normalize(mean, std, is_hwc=False)(IMAGE.transpose(2, 0, 1))
    assert np.allclose(planes, expected.transpose(2, 0, 1), atol=1e-6)
    padded = vision.NormalizePad(mean, std, "float16")(IMAGE)
    assert padded.shape == (37, 53, 4) and padded.dtype == np.float16 and not padded[..., 3].any()
    assert np.allclose(vision.ToTensor()(PIL), IMAGE.transpose(2, 0, 1) / 255)
    assert vision.ToTensor()(IMAGE[:, :, 0]).shape == (1, 37, 53)
    assert np.allclose(vision.Rescale(1 / 255, -1.)(IMAGE), IMAGE / 255 - 1, atol=1e-6)
    assert (vision.HWC2CHW()(IMAGE) == IMAGE.transpose(2, 0, 1)).all()
    matrix, vector = np.random.default_rng(0).normal(size=(12, 12)), np.arange(12.)
    small = IMAGE[:2, :2].transpose(2, 0, 1).astype(np.float64)
    assert np.allclose(vision.LinearTransformation(matrix, vector)(small).ravel(), (small.ravel() - vector) @ matrix)


def test_colours_of_pil_images_are_pillow_s_and_arrays_follow_the_same_formulas():
    for name, enhance in (("Brightness", ImageEnhance.Brightness), ("Contrast", ImageEnhance.Contrast),
                          ("Saturation", ImageEnhance.Color), ("Sharpness", ImageEnhance.Sharpness)):
        for factor in (0.0, 0.5, 1.0, 1.7):
            expected = np.asarray(enhance(PIL).enhance(factor)).astype(int)
            operation = getattr(vision, "Adjust" + name)(factor)
            assert abs(np.asarray(operation(PIL)) - expected).max() <= 1
            assert abs(operation(IMAGE) - expected).max() <= 1, (name, factor)


def test_histograms_and_bits():
    assert (np.asarray(vision.Equalize()(PIL)) == np.asarray(ImageOps.equalize(PIL))).all()
    assert (vision.Invert()(IMAGE) == 255 - IMAGE).all() and (vision.Posterize(3)(IMAGE) == IMAGE // 32 * 32).all()
    assert (vision.Solarize(100)(IMAGE) == np.asarray(ImageOps.solarize(PIL, 100))).all()
    assert (vision.Solarize((10, 100))(IMAGE) == np.where((IMAGE >= 10) & (IMAGE <= 100), 255 - IMAGE, IMAGE)).all()
    assert abs(vision.AutoContrast(10)(IMAGE) - np.asarray(ImageOps.autocontrast(PIL, 10)).astype(int)).max() <= 1
    flat = vision.Equalize()(IMAGE)[..., 0]
    assert abs(np.quantile(flat, [0.25, 0.5, 0.75]) - [64, 128, 191]).max() < 12


def test_hue_saturation_value_and_back():
    unit = IMAGE / 255
    assert np.allclose(vision.HsvToRgb(True)(vision.RgbToHsv(True)(unit)), unit)
    for bad in (unit, unit[0], [1, 2]):
        with pytest.raises(TypeError):
            vision.RgbToHsv()(bad)


VIDEO = {"AdjustGamma", "CenterCrop", "HorizontalFlip", "Normalize", "RandomCrop", "RandomHorizontalFlip", "RandomResize",
         "RandomResizedCrop", "Resize", "Rotate", "VerticalFlip"}          # those of MindSpore; Rescale and ToType take any shape
ANY_SHAPE = {"Rescale", "ToType", "ToNumpy", "RgbToHsv", "HsvToRgb", "ToPIL", "RandomSelectSubpolicy", "UniformAugment"}


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - ANY_SHAPE))
def test_frames_are_treated_alike_or_refused(name):
    """[.., height, width, channels] is never taken for an image whose height is the number of frames."""
    operation, frames = getattr(vision, name)(*SAMPLES[name]), np.stack([IMAGE, IMAGE[::-1]])
    if name not in VIDEO:
        with pytest.raises(RuntimeError):
            operation(frames)
        return
    for batch in (frames, frames[None]):
        draws.begin(1, 2, 0, 3)
        found = operation(batch)
        draws.begin(1, 2, 0, 3)
        first = operation(IMAGE)
        draws.end()
        assert found.shape == batch.shape[:-3] + first.shape
        assert np.array_equal(found.reshape(-1, *first.shape)[0], first)


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - ANY_SHAPE - {"ToPIL"}))
def test_an_image_without_pixels_is_an_error(name):
    with pytest.raises(RuntimeError, match="no pixels"):
        getattr(vision, name)(*SAMPLES[name])(np.zeros((0, 5, 3), np.uint8))


@pytest.mark.parametrize("name", ["AutoContrast", "Equalize", "Posterize", "AdjustHue"])
def test_operations_on_bytes_refuse_other_numbers(name):
    with pytest.raises(RuntimeError, match="uint8"):
        getattr(vision, name)(*SAMPLES[name])(IMAGE.astype(np.int32))


def test_grey_images_are_brightened_and_have_no_hue():
    assert (vision.AdjustBrightness(0.5)(IMAGE[..., 0]) == vision.AdjustBrightness(0.5)(IMAGE)[..., 0]).all()
    grey = PIL.convert("L")
    assert vision.AdjustHue(0.2)(grey).mode == "L"


def test_a_centre_far_larger_than_the_image_is_refused():
    assert vision.CenterCrop(70)(IMAGE[:10, :10]).shape == (70, 70, 3)
    with pytest.raises(RuntimeError, match="3 times of the original image size"):
        vision.CenterCrop(72)(IMAGE[:10, :10])


def test_crops_flips_and_padding():
    assert (vision.CenterCrop(20)(IMAGE) == IMAGE[8:28, 16:36]).all() and vision.CenterCrop(60)(IMAGE).shape == (60, 60, 3)
    assert (vision.Crop((3, 4), (10, 11))(IMAGE) == IMAGE[3:13, 4:15]).all()
    with pytest.raises(RuntimeError, match="exceeds image height"):
        vision.Crop((30, 4), (10, 11))(IMAGE)
    assert (vision.Pad((1, 2, 3, 4))(IMAGE) == np.pad(IMAGE, ((2, 4), (1, 3), (0, 0)))).all()
    assert (vision.Pad(2, padding_mode=vision.Border.REFLECT)(IMAGE) == np.pad(IMAGE, ((2, 2), (2, 2), (0, 0)), "reflect")).all()
    assert (vision.Pad(1, fill_value=(1, 2, 3))(IMAGE)[0, 0] == [1, 2, 3]).all()
    assert vision.PadToSize((50, 60))(IMAGE).shape == (50, 60, 3)
    parts = vision.SlicePatches(2, 3)(IMAGE)
    assert len(parts) == 6 and parts[0].shape == (19, 18, 3) and (parts[1] == IMAGE[:19, 18:36]).all()
    erased = vision.Erase(3, 4, 5, 6, (7, 8, 9))(IMAGE)
    assert (erased[3:8, 4:10] == [7, 8, 9]).all() and (erased != IMAGE).any(-1).sum() == 30
    crop = vision.RandomCrop(20, pad_if_needed=True)(IMAGE[:10])
    assert crop.shape == (20, 20, 3)
    with pytest.raises(RuntimeError, match="Crop size"):
        vision.RandomCrop(60)(IMAGE)


def test_an_array_that_is_turned_about_another_point_gets_the_size_of_the_turned_image():
    image = np.arange(24, dtype=np.uint8).reshape(4, 6)                      # the numbers are MindSpore 2.10's
    assert vision.Rotate(90, expand=True, center=(0, 0))(image).tolist() == [[7, 13, 19, 0], [6, 12, 18, 0]] + 4 * [[0] * 4]
    assert vision.Rotate(45, expand=True, center=(2, 1))(image).tolist() == [
        [0, 0, 0, 4, 5, 0, 0], [0, 0, 3, 3, 10, 17, 0], [0, 1, 2, 9, 15, 16, 23], [0, 1, 7, 14, 15, 21, 0],
        [0, 6, 13, 13, 20, 0, 0], [0, 0, 12, 19, 0, 0, 0], [0] * 7]


def test_what_is_outside_of_an_image_with_alpha_is_transparent():
    image = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)
    assert vision.Rotate(30, fill_value=7)(image)[0, 0].tolist() == [7, 7, 7, 0]
    assert vision.Rotate(30, fill_value=(5, 6, 7))(image)[0, 0].tolist() == [5, 6, 7, 0]
    assert vision.Affine(90.0, [0.0, 0.0], 1.0, 0.0, fill_value=(5, 6, 7))(image)[0, 0].tolist() == [5, 6, 7, 0]


def test_areas_are_averaged_where_both_sizes_shrink_and_mixed_where_one_grows():
    rows = np.repeat(np.arange(10, dtype=np.float32)[None] ** 2, 2, 0)
    for image, axis in (rows, 0), (rows.T.copy(), 1):
        def resized(height, width, image=image, axis=axis):
            size = (height, width) if axis == 0 else (width, height)
            return vision.Resize(size, vision.Inter.AREA)(image).take(0, axis).tolist()
        assert resized(1, 2) == resized(2, 2) == [6.0, 51.0]
        assert np.allclose(resized(5, 2), [0.8, 33.8])                       # OpenCV's, as MindSpore 2.10 gives them
        assert resized(5, 2, image.astype(np.uint8)) == [1, 34]


def test_cubic_resizing_by_pillow_takes_bytes_alone():
    with pytest.raises(RuntimeError, match="PILCUBIC is for images of uint8, got float32"):
        vision.Resize((3, 3), vision.Inter.PILCUBIC)(IMAGE.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_hue_saturation_and_value_keep_the_dtype_of_floats(dtype):
    image = (IMAGE / 255).astype(dtype)
    for convert in vision.RgbToHsv(True), vision.HsvToRgb(True):
        assert convert(image).dtype == dtype and convert(IMAGE).dtype == np.float64


def test_colours_get_an_alpha_of_the_dtype_s_opaque_and_keep_their_own():
    convert = vision.ConvertColor(vision.ConvertMode.COLOR_BGR2RGBA)
    for dtype, opaque in (np.uint8, 255), (np.uint16, 65535), (np.float32, 1.0), (np.float64, 1.0):
        assert convert(np.array([[[1, 2, 3]]], dtype)).tolist() == [[[3, 2, 1, opaque]]]
        assert convert(np.array([[[1, 2, 3, 4]]], dtype)).tolist() == [[[3, 2, 1, 4]]]
    turned = vision.ConvertColor(vision.ConvertMode.COLOR_RGBA2BGRA)(np.array([[[1, 2, 3]]], np.uint8))
    assert turned.tolist() == [[[3, 2, 1, 255]]]
    for mode in vision.ConvertMode.COLOR_GRAY2RGB, vision.ConvertMode.COLOR_GRAY2RGBA:
        with pytest.raises(RuntimeError, match="number of channels of the image, 3, does not fit"):
            vision.ConvertColor(mode)(IMAGE)


def test_grey_of_whole_numbers_is_rounded():
    image = np.array([[[20, 134, 9], [142, 164, 33]]], np.uint16)
    assert vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)(image).tolist() == [[86, 142]]


def test_contrast_is_about_the_mean_which_is_rounded_for_bytes_alone():
    image = np.array([[[90] * 3], [[91] * 3]], np.uint8)
    assert (vision.AdjustContrast(0.0)(image) == 90).all()                   # halves to even, as OpenCV rounds
    assert np.allclose(vision.AdjustContrast(0.0)(image.astype(np.float32) - 0.25), 90.25)


def test_maps_of_the_plane_are_pillow_s():
    expected = np.asarray(PIL.rotate(30, Image.Resampling.NEAREST))
    assert (vision.Rotate(30)(IMAGE) != expected).mean() < 0.02
    assert (vision.Rotate(90, expand=True)(IMAGE) == np.rot90(IMAGE)).all()
    assert vision.Rotate(30, expand=True)(IMAGE).shape == (59, 64, 3)
    corners = [(0, 0), (52, 0), (52, 36), (0, 36)]
    assert abs(vision.Perspective(corners, corners)(IMAGE) - IMAGE.astype(int)).max() <= 1
    moved = vision.Affine(0.0, (2 / 53, 0.0), 1.0, 0.0)(IMAGE)
    assert (moved[:, 2:] == IMAGE[:, :-2]).all() and not moved[:, :2].any()


def test_cutout_and_erasing_touch_what_they_say():
    assert ((vision.CutOut(5)(IMAGE) == IMAGE).all(-1).sum()) >= 37 * 53 - 25
    planes = IMAGE.transpose(2, 0, 1).astype(np.float32)
    changed = (vision.RandomErasing(1.0, value="random")(planes) != planes).any(0).mean()
    assert 0.01 < changed < 0.4 and (vision.RandomErasing(0.0)(planes) == planes).all()


def test_the_middle_is_cut_where_no_random_part_fits():
    image = np.broadcast_to(np.arange(13)[:, None, None], (13, 6, 3)).astype(np.uint8)
    crop = vision.RandomResizedCrop((2, 6), (2.0, 2.0), (3.0, 3.0))                     # halves go up, or to even
    assert crop(image)[:, 0, 0].tolist() == [6, 7] and np.asarray(crop(Image.fromarray(image)))[:, 0, 0].tolist() == [6, 7]
    image = image[:11]
    assert crop(image)[:, 0, 0].tolist() == [5, 6] and np.asarray(crop(Image.fromarray(image)))[:, 0, 0].tolist() == [4, 5]


def test_each_box_is_changed_with_the_probability_ratio():
    image, boxes = np.zeros((9, 40, 3), np.uint8), np.array([[4 * k, 0, 4, 9] for k in range(10)], np.float32)
    turned = [vision.BoundingBoxAugment(vision.Invert(), 0.3)(image, boxes)[0][0, ::4, 0] > 0 for _ in range(40)]
    assert 80 < np.sum(turned) < 165 and len({int(one.sum()) for one in turned}) > 2
    assert vision.BoundingBoxAugment(vision.Invert(), 1.0)(image, boxes)[0].all()


def test_mixes_of_a_batch_keep_the_sum_of_labels():
    images, labels = np.stack([IMAGE, 255 - IMAGE, IMAGE // 2]), np.eye(3, dtype=np.float32)
    for operation in (vision.MixUpBatch(0.5), vision.CutMixBatch(vision.ImageBatchFormat.NHWC), vision.MixUp(3, 0.5)):
        mixed, soft = operation(images, labels)
        assert mixed.shape == images.shape and np.allclose(soft.sum(1), 1)
    assert vision.MixUpBatch(0.5)(images, labels)[0].dtype == np.uint8
    assert vision.MixUpBatch(0.5)(images.astype(np.float32), labels)[0].dtype == np.float32
    pairs = ds.NumpySlicesDataset((images, labels), ["x", "y"]).batch(3).map(vision.MixUpBatch(0.5), ["x", "y"])
    assert next(iter(pairs))[0].shape == (3, 37, 53, 3)
    with pytest.raises(RuntimeError):
        vision.MixUpBatch()(IMAGE, labels)


# ---- bytes and files

def test_decoding_is_pillow_s_and_damaged_images_are_errors():
    assert (vision.Decode()(jpeg()) == np.asarray(Image.open(io.BytesIO(jpeg().tobytes())))).all()
    assert (vision.Decode()(vision.encode_png(IMAGE)) == IMAGE).all() and vision.Decode(to_pil=True)(jpeg()).size == (53, 37)
    assert vision.RandomCropDecodeResize((16, 20))(jpeg()).shape == (16, 20, 3)
    for damaged in (jpeg()[:300], np.zeros(10, np.uint8), np.zeros(0, np.uint8)):
        with pytest.raises(RuntimeError, match="damaged or of an unknown format"):
            vision.Decode()(damaged)
    for wrong in (IMAGE, "text"):
        with pytest.raises((RuntimeError, TypeError)):
            vision.Decode()(wrong)


@pytest.mark.parametrize("options", [{}, {"quality": 20}, {"subsampling": 0}, {"subsampling": 1}, {"progressive": True},
                                     {"optimize": True}, {"restart_marker_blocks": 2}], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_the_pixels_of_a_jpeg_are_pillow_s_whichever_library_reads_it(options, mode):
    pytest.importorskip("simplejpeg")
    for height, width in ((1, 1), (16, 16), (37, 53), (7, 200)):
        stream, numbers = io.BytesIO(), np.random.default_rng(height)
        pixels = numbers.integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).resize((width, height)).convert(mode).save(stream, "JPEG", **options)
        data = np.frombuffer(stream.getvalue(), np.uint8)
        assert (vision.Decode()(data) == np.asarray(Image.open(stream).convert("RGB"))).all()


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"subsampling": 1}, {"progressive": True}, {"optimize": True},
                                     {"restart_marker_blocks": 2}], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_part_of_a_jpeg_has_the_pixels_of_the_whole_and_the_rows_below_it_are_not_decoded(options, mode, monkeypatch):
    simplejpeg, rows = pytest.importorskip("simplejpeg"), []

    class Watched:
        decode_jpeg_header = simplejpeg.decode_jpeg_header

        @staticmethod
        def decode_jpeg(data, buffer=None):
            rows.append(75 if buffer is None else len(buffer))
            return simplejpeg.decode_jpeg(data, buffer=buffer)
    stream, numbers = io.BytesIO(), np.random.default_rng(5)
    Image.fromarray(numbers.integers(0, 256, (75, 41, 3), np.uint8)).convert(mode).save(stream, "JPEG", **options)
    data = np.frombuffer(stream.getvalue(), np.uint8)
    whole = np.asarray(Image.open(stream).convert("RGB"))
    monkeypatch.setattr(formats, "simplejpeg", Watched)
    for top, bottom in ((0, 1), (0, 2), (3, 16), (15, 17), (30, 31), (31, 64), (60, 72), (60, 73), (0, 75)):
        found = formats.part_of_pixels(data, "part", lambda height, width: (top, 5, bottom - top, width - 9))
        assert np.array_equal(found, whole[top:bottom, 5:37])
        assert rows.pop() == (75 if "progressive" in options else min(75, bottom + 2)) and not rows


def test_decoding_and_a_random_part_in_one_map_are_both_one_after_the_other():
    both = [vision.Decode(), vision.RandomResizedCrop((16, 20))]
    images = [jpeg(), vision.encode_png(IMAGE), jpeg(IMAGE[:20])]
    (step,) = MapDataset(ds.GeneratorDataset(images, ["image"]), both, "image", None, None, False, None).steps
    for image in images:
        draws.begin(1, 2, 3, 4)
        wanted = both[1](both[0](image))
        draws.begin(1, 2, 3, 4)
        assert step[1] is not both[0] and np.array_equal(step[1](image), wanted)
    with pytest.raises(RuntimeError, match=r"\[Decode\] failed"):
        list(ds.GeneratorDataset([jpeg()[:99]], ["image"]).map(both, "image").create_tuple_iterator(num_epochs=1))


def mutated_images(count, seed):
    """Encoded images with three bytes changed, every fifth cut short."""
    numbers, original = np.random.default_rng(seed), [jpeg(IMAGE[:16, :16]), vision.encode_png(IMAGE[:16, :16]), jpeg(IMAGE)]
    for k in range(count):
        data = original[k % 3].copy()
        data[numbers.integers(len(data), size=3)] = numbers.integers(256, size=3)
        yield data[:numbers.integers(len(data))] if k % 5 == 0 else data


def decoded(data, decode=vision.Decode()):
    """The pixels, or what the error says."""
    try:
        return decode(data)
    except RuntimeError as error:
        assert "damaged" in str(error)
        return str(error)


def upper_part(data):
    """Decoded as by an operation on a part of an image."""
    return formats.part_of_pixels(data, "Decode", lambda height, width: (0, 0, -(-height // 2), width))


def check_mutated_images(count, seed, monkeypatch, decode=vision.Decode()):
    """Each decodes or is refused, and it does not matter whether simplejpeg is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [decoded(data, decode) for data in mutated_images(count, seed)]
        monkeypatch.setattr(formats, "simplejpeg", None)
        for one, data in zip(found, mutated_images(count, seed)):
            plain = decoded(data, decode)
            assert type(one) is type(plain) and np.array_equal(one, plain)
            assert isinstance(one, str) or (one.ndim == 3 and one.shape[2] == 3 and one.dtype == np.uint8)
    assert count // 10 < sum(isinstance(one, str) for one in found) < count


@pytest.mark.parametrize("decode", [vision.Decode(), upper_part], ids=["whole", "part"])
def test_mutated_images_decode_or_are_refused(monkeypatch, decode):
    check_mutated_images(100, 0, monkeypatch, decode)


@pytest.mark.slow
@pytest.mark.parametrize("decode", [vision.Decode(), upper_part], ids=["whole", "part"])
def test_six_thousand_mutated_images_decode_or_are_refused(monkeypatch, decode):
    check_mutated_images(6000, 1, monkeypatch, decode)


def test_bad_samples_are_left_out_and_counted_and_the_rows_that_stay_are_right(monkeypatch):
    images = list(mutated_images(100, 2))
    monkeypatch.setattr(ds.config.settings, "error_samples_mode", ds.ErrorSamplesMode.SKIP)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [one for one in map(decoded, images) if not isinstance(one, str)]
        for workers in (1, 2):
            rows = ds.GeneratorDataset(images, ["image"], shuffle=False, num_parallel_workers=workers)
            iterator = rows.map(vision.Decode(), "image").create_tuple_iterator(num_epochs=1, output_numpy=True)
            found = [image for image, in iterator]
            assert iterator.skipped == 100 - len(wanted) > 10
            assert len(found) == len(wanted) and all(np.array_equal(a, b) for a, b in zip(found, wanted))


def test_loops_over_pixels_give_the_bits_of_numpy():
    numbers = np.random.default_rng(3)
    for _ in range(60):
        (h, w, height, width), channels = numbers.integers(1, 50, 4).tolist(), int(numbers.choice([1, 3]))
        image = numbers.integers(0, 256, (h + 3, w + 5, channels), np.uint8)[1:1 + h, 2:2 + w]
        mean, std = numbers.random((2, channels)) * [[200], [90]] + 1
        assert kernels.byte_image(image)
        weights = [resizing._weights(have, want, vision.Inter.LINEAR, False) for have, want in ((h, height), (w, width))]
        assert (kernels.linear_bytes(image, height, width) == resizing._linear_bytes(image, *weights)).all()
        assert (kernels.mirrored(image) == image[:, ::-1]).all()
        plain = (image.astype(np.float32) - mean.astype(np.float32)) / std.astype(np.float32)
        assert kernels.normalised(image, mean, std, False).tobytes() == plain.tobytes()
        assert kernels.normalised(image, mean, std, True).tobytes() == plain.transpose(2, 0, 1).tobytes()
        assert w == 1 or kernels.byte_image(image[:, ::-1], True) and not kernels.byte_image(image[:, ::-1])
        assert kernels.normalised(image[:, ::-1], mean, std, True).tobytes() == plain[:, ::-1].transpose(2, 0, 1).tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16])
@pytest.mark.parametrize("channels", [1, 3])
def test_nearest_pixels_and_blurs_of_floats_are_those_of_numpy(dtype, channels):
    numbers = np.random.default_rng(6)
    for h, w, height, width in ((1, 1, 3, 2), (7, 9, 20, 4), (30, 41, 11, 50), (30, 41, 30, 40)):
        image = numbers.integers(0, 256, (h + 2, w + 2, channels)).astype(dtype)[1:1 + h, 1:1 + w]
        rows, columns = (np.arange(want) * have // want for have, want in ((h, height), (w, width)))
        assert np.array_equal(vision.Resize((height, width), vision.Inter.NEAREST)(image), image[rows][:, columns])
    if dtype == np.float32:
        for h, w in ((3, 2), (12, 10), (33, 57)):
            image = numbers.random((h, w + 2, channels), np.float32)[:, 1:-1] * 255
            for size in (3, (5, 3), 7):
                plain = vision.GaussianBlur(size, 1.5)(image.astype(np.float64))
                np.testing.assert_allclose(vision.GaussianBlur(size, 1.5)(image), plain, rtol=1e-5)


@pytest.mark.parametrize("image", [IMAGE, IMAGE[:, ::2], IMAGE.astype(np.float32), IMAGE[..., :1]],
                         ids=["bytes", "apart", "floats", "grey"])
def test_normalising_and_moving_the_channels_in_one_map_is_doing_both_one_after_the_other(image):
    channels = image.shape[2]
    both = [vision.Normalize([3.0, 100.0, 7.0][:channels], [2.0, 5.0, 9.0][:channels]), vision.HWC2CHW()]
    rows = ds.NumpySlicesDataset([image], ["image"], shuffle=False).map(both, "image")
    (found,), = rows.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert found.tobytes() == np.ascontiguousarray(both[1](both[0](image))).tobytes()
    with pytest.raises(RuntimeError, match=r"\[Normalize\] failed"):
        list(ds.NumpySlicesDataset([[1, 2]], ["image"]).map(both, "image").create_tuple_iterator(num_epochs=1))


def test_files_are_written_and_read(tmp_path):
    path = str(tmp_path / "x.png")
    vision.write_png(path, IMAGE)
    assert (vision.read_image(path) == IMAGE).all()
    assert vision.read_image(path, vision.ImageReadMode.GRAYSCALE).shape == (37, 53, 1)
    assert (vision.read_file(path) == vision.encode_png(IMAGE)).all()
    vision.write_jpeg(str(tmp_path / "x.jpg"), IMAGE, 95)
    assert abs(vision.read_image(str(tmp_path / "x.jpg")) - IMAGE.astype(int)).mean() < 20
    vision.write_file(str(tmp_path / "raw"), np.arange(5, dtype=np.uint8))
    assert (tmp_path / "raw").read_bytes() == bytes(range(5))
    with pytest.raises(RuntimeError):
        vision.read_file(str(tmp_path / "missing"))
    assert vision.get_image_size(PIL) == [37, 53] and vision.get_image_num_channels(IMAGE) == 3


@pytest.mark.parametrize("call, error", [
    (lambda: vision.Resize(0), ValueError), (lambda: vision.Resize("a"), TypeError), (lambda: vision.Resize(3, 3), TypeError),
    (lambda: vision.Resize(10)(np.zeros(3)), RuntimeError), (lambda: vision.Resize(10)("x"), TypeError),
    (lambda: vision.Resize(), TypeError), (lambda: vision.RandomHorizontalFlip(2.0), ValueError), (lambda: vision.HWC2CHW()(3),
    TypeError),
    (lambda: vision.Normalize([1., 2.], [1.]), ValueError), (lambda: vision.Normalize([300.], [1.]), ValueError),
    (lambda: vision.Normalize([1., 2.], [1., 2.])(IMAGE), RuntimeError), (lambda: vision.Posterize(9), ValueError),
    (lambda: vision.Posterize(8.0), TypeError), (lambda: vision.Grayscale()(IMAGE), TypeError),
    (lambda: vision.FiveCrop(10)(IMAGE), TypeError),
    (lambda: vision.RandomRotation(-1), ValueError), (lambda: vision.RandAugment(magnitude=31), ValueError),
    (lambda: vision.AdjustContrast(-1.0), ValueError), (lambda: vision.GaussianBlur(2), ValueError), (lambda: vision.Pad("1"),
    TypeError),
    (lambda: vision.RandomSelectSubpolicy([[(1, 2)]]), TypeError), (lambda: vision.read_video("x"), ValueError),
    (lambda: vision.AutoAugment(fill_value=(10, 10)), TypeError), (lambda: vision.Pad(1, fill_value=300), ValueError),
    (lambda: vision.ToTensor()(IMAGE.astype(np.int64)), RuntimeError),
    (lambda: vision.ToTensor()(IMAGE.astype(str)), RuntimeError),
    (lambda: vision.RandomPosterize((1, 2, 3)), TypeError), (lambda: vision.RandomAffine(10, scale=(1, 2, 3)), TypeError),
    (lambda: vision.RandomRotation([10]), TypeError), (lambda: vision.RandomRotation(10, center=3), ValueError),
    (lambda: vision.RandomColorAdjust(hue=0.6), ValueError), (lambda: vision.RandomColorAdjust(hue=[0.1]), TypeError),
    (lambda: vision.RandomColorAdjust(0.5)(IMAGE[..., :1]), RuntimeError), (lambda: vision.GaussianBlur([3, 3, 3]), TypeError),
    (lambda: vision.RandomColorAdjust(0.5)(IMAGE.astype(np.float64)), RuntimeError),
    (lambda: vision.RandomColor(3), TypeError), (lambda: vision.RandomColor([1]), ValueError),
    (lambda: vision.Grayscale(2), ValueError), (lambda: vision.NormalizePad([1.0], [1.0], "int8"), ValueError),
    (lambda: vision.LinearTransformation(np.ones((2, 3)), np.ones(2)), ValueError), (lambda: vision.Pad([1]), ValueError),
    (lambda: vision.LinearTransformation(np.ones((2, 2)), np.ones(3)), ValueError), (lambda: vision.PadToSize([9]), ValueError),
    (lambda: vision.PadToSize(9, [1]), ValueError), (lambda: vision.RandomErasing(value=(1, 2)), ValueError),
    (lambda: vision.get_image_num_channels(3), TypeError),
])
def test_operations_refuse_bad_arguments(call, error):
    with pytest.raises(error):
        call()


# ---- transforms of any arrays

def test_transforms_of_arrays():
    t = transforms
    assert t.TypeCast(np.float16)(IMAGE).dtype == np.float16 and t.TypeCast("".__class__)(np.array([1])).tolist() == ["1"]
    assert t.OneHot(4)(np.array([2, 0])).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert np.allclose(t.OneHot(5, 0.1)(np.array(2)), [.02, .02, .92, .02, .02])
    assert t.PadEnd([4], -1)(np.array([2, 3])).tolist() == [2, 3, -1, -1] and t.PadEnd([1])(np.array([2, 3])).tolist() == [2]
    assert t.PadEnd([3], "x")(np.array(["a", "bc"])).tolist() == ["a", "bc", "x"]
    assert t.Concatenate(0, np.array([9]), np.array([8]))(np.array([1, 2])).tolist() == [9, 1, 2, 8]
    assert t.Fill(3)(np.array([1, 2.])).tolist() == [3, 3] and t.Fill("x")(np.array(["1", "2"])).tolist() == ["x", "x"]
    assert t.Concatenate(0, np.array([9]))(np.array([1]), np.array([2, 3])).tolist() == [9, 1, 2, 3], "several columns"
    assert t.OneHot(3)(np.array([2])).tolist() == [0, 0, 1]
    assert t.OneHot(3)(np.array([[2], [0]])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert t.Mask(t.Relational.GT, 2.7, bool)(np.array([2, 3])).tolist() == [False, True], "2.7 is 2 beside ints"
    assert t.Mask(t.Relational.GE, 2, np.int32)(np.array([1, 2])).tolist() == [0, 1]
    assert t.Slice([0, 2])(np.array([1, 2, 3])).tolist() == [1, 3] and t.Slice(0, ...)(np.eye(2)).tolist() == [[1, 0]]
    assert t.Slice(True, -1)(np.array([[1, 2], [3, 4]])).tolist() == [[2], [4]]
    assert [v.tolist() for v in t.Unique()(np.array([[3, 1], [3, 2]]))] == [[3, 1, 2], [0, 1, 0, 2], [2, 1, 1]]
    assert t.PadEnd([4, 4])(np.array(7)).tolist() == 7
    assert [v.tolist() for v in t.Duplicate()(np.array([1]))] == [[1], [1]]
    assert t.Compose([lambda a, b: (a + b, a), lambda a, b: a * b])(2, 3) == 10
    picked = {t.RandomChoice([lambda x: 1, lambda x: 2])(0) for _ in range(30)}
    assert picked == {1, 2} and {t.RandomApply([lambda x: 1])(0) for _ in range(30)} == {0, 1}
    assert {t.RandomOrder([lambda x: x + 1, lambda x: x * 3])(1) for _ in range(30)} == {4, 6}


@pytest.mark.parametrize("call, error", [
    (lambda: transforms.OneHot(0), ValueError), (lambda: transforms.OneHot(2)(np.array([2])), RuntimeError),
    (lambda: transforms.Compose(3), TypeError), (lambda: transforms.Compose([]), ValueError),
    (lambda: transforms.Compose([3]), ValueError), (lambda: transforms.PadEnd([1, 2])(np.array([1])), RuntimeError),
    (lambda: transforms.TypeCast("nothing"), TypeError), (lambda: transforms.Slice(5)(np.array([1])), RuntimeError),
    (lambda: transforms.Fill(-1)(np.array([1], np.uint8)), RuntimeError),
    (lambda: transforms.Fill(1e9)(np.array([1], np.float16)), RuntimeError),
    (lambda: transforms.Unique()(np.array([1])), RuntimeError),
    (lambda: transforms.Concatenate(3), ValueError),
    (lambda: transforms.Concatenate(0, [1]), TypeError), (lambda: transforms.RandomApply([3]), TypeError),
    (lambda: transforms.Mask(transforms.Relational.EQ, "a")(np.array([1])), RuntimeError),
    (lambda: transforms.PadEnd(["2"]), TypeError), (lambda: transforms.PadEnd(3), TypeError),
    (lambda: transforms.Slice([True]), TypeError), (lambda: transforms.Slice([1.5]), TypeError),
    (lambda: transforms.Slice([]), RuntimeError), (lambda: transforms.Slice(False), RuntimeError),
    (lambda: transforms.Slice(slice(1, 4, 0)), RuntimeError), (lambda: transforms.Slice([0, -2])(np.array([1])), RuntimeError),
    (lambda: transforms.Slice(0, 0)(np.array([1])), RuntimeError),
])
def test_transforms_refuse_bad_arguments_and_data(call, error):
    with pytest.raises(error):
        call()


def test_the_middle_of_an_array_begins_at_the_floor_of_half_the_rest_and_of_a_pil_image_at_the_rounded_one():
    columns = np.tile(np.arange(22, dtype=np.uint8), (22, 1))
    for size, array_begins, pil_begins in [(15, 3, 4), (16, 3, 3), (17, 2, 2), (19, 1, 2)]:       # MindSpore 2.10's
        assert vision.CenterCrop(size)(columns)[0, 0] == array_begins
        assert np.asarray(vision.CenterCrop(size)(Image.fromarray(columns)))[0, 0] == pil_begins


@pytest.mark.parametrize("make, why", [
    (lambda size: vision.ResizedCrop(0, 0, 4, 4, size), "Argument size with value 3.5"),
    (vision.CenterCrop, "Argument size with value 3.5"),
    (vision.RandomCrop, "Argument size with value 3.5"), (vision.Resize, "Size should be a single integer"),
    (vision.RandomResize, "Size should be a single integer")])
def test_crops_and_resizing_refuse_a_size_in_mindspores_words(make, why):
    with pytest.raises(TypeError, match=why):
        make(3.5)


# ---- what MindSpore 2.10 makes of one array

CORNERS, INSIDE = [[0, 0], [6, 0], [6, 4], [0, 4]], [[1, 0], [6, 1], [5, 4], [0, 3]]
MINDSPORE = [
    (lambda: vision.Rotate(30, vision.Inter.BILINEAR),
     [[0, 24, 90, 150, 187, 222, 96], [21, 67, 102, 139, 175, 210, 220], [19, 55, 91, 127, 163, 199, 160],
     [10, 44, 79, 116, 152, 187, 123], [7, 32, 67, 104, 108, 48, 0]]),
    (lambda: vision.Rotate(30, vision.Inter.BILINEAR, True),
     [[0, 0, 0, 0, 28, 140, 84, 0, 0], [0, 0, 3, 69, 163, 199, 201, 0, 0], [0, 18, 70, 115, 152, 187, 223, 121, 0],
     [0, 32, 67, 104, 140, 175, 212, 185, 8], [2, 21, 56, 92, 129, 164, 200, 96, 1], [0, 13, 44, 80, 117, 152, 98, 7, 0],
     [0, 7, 33, 69, 67, 21, 0, 0, 0], [0, 0, 16, 15, 0, 0, 0, 0, 0]]),
    (lambda: vision.Rotate(-20, vision.Inter.BILINEAR, False, (1, 2), 9),
     [[7, 13, 38, 40, 19, 9, 9], [11, 33, 65, 97, 129, 115, 74], [21, 53, 85, 117, 149, 181, 213],
     [41, 73, 105, 137, 169, 201, 225], [49, 93, 125, 157, 189, 221, 153]]),
    (lambda: vision.Rotate(30),
     [[0, 0, 111, 148, 193, 230, 0], [37, 74, 119, 156, 164, 201, 246], [8, 45, 90, 127, 172, 209, 3],
     [8, 53, 90, 135, 135, 180, 217], [0, 24, 61, 106, 143, 0, 0]]),
    (lambda: vision.Affine(10, (0.1, 0), 1.2, 5, vision.Inter.BILINEAR),
     [[4, 20, 49, 78, 107, 135, 164], [11, 34, 64, 92, 121, 150, 179], [20, 49, 78, 107, 136, 165, 192],
     [35, 64, 93, 122, 151, 179, 207], [39, 76, 107, 136, 165, 193, 200]]),
    (lambda: vision.Perspective(CORNERS, INSIDE),
     [[0, 0, 31, 42, 31, 0, 0], [3, 24, 64, 103, 143, 182, 222], [14, 48, 87, 127, 167, 206, 145],
     [32, 72, 111, 151, 191, 230, 61], [0, 0, 32, 85, 159, 3, 0]]),
    (lambda: vision.GaussianBlur((3, 5)),
     [[22, 41, 78, 115, 152, 189, 209], [26, 45, 82, 119, 156, 193, 213], [34, 53, 90, 127, 164, 200, 217],
     [41, 61, 98, 135, 172, 195, 198], [45, 65, 102, 139, 176, 183, 166]]),
    (lambda: vision.AdjustGamma(1.5),
     [[0, 14, 40, 73, 113, 158, 207], [1, 18, 46, 81, 122, 168, 219], [4, 24, 53, 89, 132, 179, 230],
     [7, 29, 60, 98, 141, 189, 242], [11, 36, 68, 107, 151, 200, 0]]),
]


@pytest.mark.parametrize("operation, expected", MINDSPORE)
def test_arrays_are_mapped_as_mindspore_maps_them(operation, expected):
    image = (np.arange(35).reshape(5, 7) * 37 % 251).astype(np.uint8)[..., None]
    found = operation()(image)[..., 0].astype(int)
    off = 1 if isinstance(operation(), vision.GaussianBlur) else 0
    assert found.shape == np.shape(expected) and abs(found - expected).max() <= off


def test_pil_images_are_rotated_by_pillow_and_fill_values_fit_the_channels():
    pil = Image.fromarray(IMAGE)
    found = vision.RandomRotation((30, 30), vision.Inter.BILINEAR, True, fill_value=(1, 2, 3))(pil)
    assert np.array_equal(found, pil.rotate(30, Image.Resampling.BILINEAR, True, fillcolor=(1, 2, 3)))
    grey = vision.Rotate(45, fill_value=(7, 8, 9))(IMAGE[..., :1])
    assert grey.shape == IMAGE[..., :1].shape and grey[0, 0, 0] == 7
    assert vision.Rotate(45, fill_value=(7, 8, 9))(IMAGE.astype(np.float32))[0, 0].tolist() == [7, 8, 9]
    assert vision.Normalize([1.0], [2.0])(IMAGE[..., 0]).shape == IMAGE.shape[:2]
    with pytest.raises(RuntimeError, match="box size is too large"):
        vision.CutOut(100)(IMAGE)
    with pytest.raises(RuntimeError, match="GetImageNumChannels: .* at least two"):
        vision.get_image_num_channels(np.ones(3))
    with pytest.raises(RuntimeError, match="AdjustGamma: Expecting"):
        vision.AdjustGamma(2.0)(IMAGE.astype(np.int32))


COLOURS = [                              # what MindSpore 2.10 gives
    (lambda: vision.AdjustHue(0.2),
     [[[52, 0, 74], [163, 111, 185], [214, 222, 8], [134, 82, 156]],
      [[16, 230, 97], [105, 53, 127], [216, 164, 238], [76, 24, 98]]]),
    (lambda: vision.AdjustHue(-0.35),
     [[[44, 74, 0], [155, 185, 111], [8, 58, 222], [126, 156, 82]],
      [[230, 16, 207], [96, 127, 53], [208, 238, 164], [67, 98, 24]]]),
    (lambda: vision.AdjustBrightness(0.3),
     [[[0, 11, 22], [33, 44, 56], [67, 2, 14], [25, 36, 47]],
      [[58, 69, 5], [16, 27, 38], [49, 60, 71], [7, 18, 29]]]),
    (lambda: vision.AdjustContrast(1.7),
     [[[0, 0, 48], [111, 174, 237], [255, 0, 0], [62, 125, 188]],
      [[250, 255, 0], [12, 75, 138], [201, 255, 255], [0, 26, 89]]]),
    (lambda: vision.AdjustSaturation(0.3),
     [[[21, 32, 43], [132, 143, 154], [120, 56, 67], [103, 114, 125]],
      [[194, 206, 141], [74, 85, 96], [185, 196, 207], [45, 56, 67]]]),
    (lambda: vision.AdjustSaturation(1.7),
     [[[0, 42, 105], [90, 153, 216], [255, 0, 23], [61, 124, 187]],
      [[192, 254, 0], [32, 95, 158], [143, 206, 255], [3, 66, 129]]]),
]


@pytest.mark.parametrize("operation, expected", COLOURS)
def test_colours_of_arrays_are_mindspore_s(operation, expected):
    image = (np.arange(24).reshape(2, 4, 3) * 37 % 251).astype(np.uint8)
    found = operation()(image).astype(int)
    assert abs(found - expected).max() <= (1 if isinstance(operation(), vision.AdjustHue) else 0)


def test_random_sharpness_of_pil_is_pillow_s_and_random_equalize_is_opencv_s():
    pil = Image.fromarray(IMAGE)
    assert np.array_equal(vision.RandomSharpness((1.6, 1.6))(pil), ImageEnhance.Sharpness(pil).enhance(1.6))
    assert np.array_equal(vision.RandomEqualize(1.0)(pil), vision.Equalize()(IMAGE))
    assert np.array_equal(vision.RandomColorAdjust()(pil), pil.convert("HSV").convert("RGB"))


def test_a_png_with_transparency_is_read_without_it(tmp_path):
    path = str(tmp_path / "a.png")
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(3, 4, 4)).save(path)
    shapes = [vision.read_image(path, mode).shape for mode in (vision.ImageReadMode.UNCHANGED, vision.ImageReadMode.GRAYSCALE)]
    assert shapes == [(3, 4, 3), (3, 4, 1)]


def test_a_policy_may_make_several_columns_on_its_way():
    policy = [[(transforms.Duplicate(), 1), (transforms.Concatenate(), 1)]]
    assert vision.RandomSelectSubpolicy(policy)(np.array([1, 2])).tolist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="only 1D concatenation"):
        transforms.Concatenate(2)
    with pytest.raises(ValueError, match="can only prepend 1D"):
        transforms.Concatenate(0, np.zeros((2, 2)))


def test_operations_run_on_the_cpu_and_say_so():
    resize = vision.Resize((4, 6))
    assert resize.device("CPU") is resize and vision.Decode().device()(vision.encode_png(IMAGE)).shape == IMAGE.shape
    with pytest.raises(TypeError, match="device_target with value 1"):
        resize.device(1)
    with pytest.raises(ValueError, match="valid set"):
        resize.device("GPU")
    with pytest.raises(ValueError, match="Resize: operations on data run on the CPU"):
        resize.device("Ascend")


@pytest.mark.parametrize("make, image, kind", [
    (lambda: vision.Resize((4, 6), vision.Inter.ANTIALIAS), IMAGE, TypeError),
    (lambda: vision.Resize((4, 6), vision.Inter.PILCUBIC), IMAGE[..., 0], RuntimeError),
    (lambda: vision.Resize((4, 6), vision.Inter.AREA), Image.fromarray(IMAGE), TypeError),
    (lambda: vision.RandomResizedCrop((4, 6), interpolation=vision.Inter.PILCUBIC), Image.fromarray(IMAGE), TypeError),
    (lambda: vision.Rotate(30, vision.Inter.PILCUBIC), IMAGE, RuntimeError),
    (lambda: vision.RandomAffine(15, resample=vision.Inter.ANTIALIAS), IMAGE, ValueError),
    (lambda: vision.RandomAffine(15, resample=vision.Inter.AREA), Image.fromarray(IMAGE), TypeError),
    (lambda: vision.Perspective([[0, 0], [9, 0], [9, 9], [0, 9]], [[1, 1], [8, 2], [8, 8], [0, 9]], vision.Inter.ANTIALIAS),
     IMAGE, TypeError),
])
def test_an_interpolation_that_mindspore_does_not_know_for_an_image_is_refused(make, image, kind):
    with pytest.raises(kind, match="Unsupported interpolation"):
        make()(image)


def test_text_is_no_image():
    with pytest.raises(RuntimeError, match="unsupported data type"):
        vision.RandomVerticalFlip(0.1)(IMAGE.astype(str))


def operations_of_bytes(numbers):
    """Operations with arguments drawn at random."""
    how = [vision.Inter.NEAREST, vision.Inter.LINEAR, vision.Inter.CUBIC][numbers.integers(3)]
    fill, ends = tuple(numbers.integers(0, 256, 3).tolist()), [[0, 0], [19, 0], [19, 19], [0, 19]]
    moved = (np.array(ends) + numbers.integers(-6, 7, (4, 2))).tolist()
    odd_sizes = [int(2 * numbers.integers(0, 4) + 1) for _ in range(2)]
    return [vision.AdjustHue(numbers.uniform(-0.5, 0.5)), vision.AdjustBrightness(numbers.uniform(0, 3)),
            vision.AdjustContrast(numbers.uniform(0, 3)), vision.AdjustSaturation(numbers.uniform(0, 3)),
            vision.AdjustSharpness(numbers.uniform(0, 3)), vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY),
            vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGRA),
            vision.GaussianBlur(odd_sizes, numbers.uniform(0.3, 3)), vision.GaussianBlur(odd_sizes),
            vision.Rotate(numbers.uniform(0, 360), how, bool(numbers.integers(2)), fill_value=fill),
            vision.Affine(numbers.uniform(-90, 90), [0.2, -0.1], numbers.uniform(0.5, 2), [10.0, 5.0], how, fill),
            vision.Perspective(ends, moved, how), vision.Equalize(), vision.AutoContrast(numbers.uniform(0, 30), [3, 200]),
            vision.Solarize(sorted(numbers.uniform(0, 255, 2).tolist())),
            *[vision.Resize(numbers.integers(1, 50, 2).tolist(), kind) for kind in (vision.Inter.AREA, vision.Inter.CUBIC)]]


def operations_of_floats(numbers):
    """Those of them that take float32, and others."""
    left = vision.AdjustHue, vision.Equalize, vision.AutoContrast, vision.Solarize, vision.Resize
    orders = vision.ConvertMode.COLOR_RGB2BGRA, vision.ConvertMode.COLOR_RGB2BGR
    return [*(one for one in operations_of_bytes(numbers) if not isinstance(one, left)), *map(vision.ConvertColor, orders),
            vision.HorizontalFlip(), vision.Rotate(77, vision.Inter.LINEAR, True), vision.AdjustSharpness(0.0)]


def test_colours_blurs_and_maps_of_floats_have_the_bits_of_numpy(monkeypatch):
    numbers = np.random.default_rng(10)
    for k in range(8):
        height, width = numbers.integers(1, 40, 2).tolist()
        image = numbers.normal(50, 90, (height + 2, width + 3, 3)).astype(np.float32)[1:1 + height, 2:2 + width]
        image = np.full_like(image, -0.0) if k == 3 else image
        for operation in operations_of_floats(numbers):
            given = [image] + [np.ascontiguousarray(image[..., :1])] * isinstance(operation, (vision.Rotate, vision.GaussianBlur))
            found = list(map(operation, given))
            with monkeypatch.context() as without:
                if isinstance(operation, vision.GaussianBlur):       # the text of float32 is another loop, the one over weights
                    without.setattr(kernels, "blurred", lambda image, across, down: kernels.resampled(
                        image, smoothing.neighbours(len(image), down), smoothing.neighbours(image.shape[1], across)))
                else:
                    without.setattr(kernels, "float_image", lambda image: False)
                wanted = list(map(operation, given))
            for a, b in zip(found, wanted, strict=True):
                assert a.dtype == b.dtype == np.float32 and a.tobytes() == b.tobytes(), (operation, image.shape)


@pytest.mark.parametrize("how", [vision.Inter.LINEAR, vision.Inter.CUBIC])
@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.float64])
def test_a_pixel_that_comes_from_outside_is_the_fill_value(how, kind):
    """The sum of the weights is 1, but not that of the rounded products. MindSpore gives the value, too."""
    image, fill = np.zeros((20, 20, 3), kind), (77, 201, 13)
    for degrees in range(20, 70, 7):
        turned = vision.Rotate(degrees, how, fill_value=fill)(image)
        assert (turned[[0, 0, -1, -1], [0, -1, 0, -1]] == fill).all()


def test_gamma_noise_and_a_channel_of_zeros_have_the_bits_of_numpy(monkeypatch):
    image = np.random.default_rng(11).integers(0, 256, (13, 17, 3), np.uint8)
    for operation, given in ((vision.AdjustGamma(0.7, 1.2), image), (vision.RandomLighting(0.3), image),
                             (vision.RandomLighting(0.3), image.astype(np.float32)),
                             (vision.NormalizePad([1.0, 2, 3], [4.0, 5, 6], "float16"), image)):
        found = []
        for kind in (given.dtype, np.float64 if given.dtype == np.float32 else np.uint8):
            draws.seed_eager(4)
            found.append(operation(given.astype(kind)))
            monkeypatch.setattr(kernels, "byte_image", lambda *given: False)
        monkeypatch.undo()
        assert found[0].tobytes() == found[1].astype(found[0].dtype).tobytes(), operation


def test_colours_blurs_and_maps_of_bytes_have_the_bits_of_numpy(monkeypatch):
    numbers = np.random.default_rng(9)
    for _ in range(12):
        height, width = numbers.integers(1, 40, 2).tolist()
        image = numbers.integers(0, 256, (height + 2, width + 3, 3), np.uint8)[1:1 + height, 2:2 + width]
        for operation in operations_of_bytes(numbers):
            given = [image] + [np.ascontiguousarray(image[..., :1])] * isinstance(operation, (vision.Rotate, vision.Resize))
            found = list(map(operation, given))
            with monkeypatch.context() as without:
                without.setattr(kernels, "byte_image", lambda *given: False)
                wanted = list(map(operation, given))
            for a, b in zip(found, wanted, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all(), (operation, image.shape)
        for how in (vision.Inter.LINEAR, vision.Inter.CUBIC, vision.Inter.AREA):
            resize, part = vision.Resize(numbers.integers(1, 50, 2).tolist(), how), image.astype(np.float32)[1:]
            found = resize(part) if part.size else None
            monkeypatch.setattr(kernels, "float_image", lambda image: False)
            assert found is None or found.tobytes() == resize(part).tobytes()
            monkeypatch.undo()
    every = np.stack(np.meshgrid(np.arange(0, 256, 5), np.arange(0, 256, 3), np.arange(256), indexing="ij"), -1).astype(np.uint8)
    hue, saturation, value = hsv.to_hsv(every)
    for shift in (0, 77):
        turned = kernels.turned(every.reshape(-1, 256, 3), shift)
        assert (turned.reshape(every.shape) == hsv.from_hsv((hue + shift) % 256, saturation, value)).all()


def test_bytes_are_blurred_by_opencv_s_whole_numbers():
    image = (np.arange(30) * 37 % 256).reshape(5, 6).astype(np.uint8)
    wanted = [[114, 84, 57, 77, 114, 133], [122, 98, 71, 76, 105, 124], [143, 129, 102, 83, 88, 99], [164, 160, 133, 87, 69, 75],
              [172, 174, 147, 90, 63, 65]]                   # MindSpore's
    blur = vision.GaussianBlur((3, 5), (0.8, 1.7))
    assert blur(image).tolist() == blur(image[..., None])[..., 0].tolist() == wanted


@pytest.mark.parametrize("operation", [vision.Pad(1, (20, 30, 40)), vision.PadToSize(4, fill_value=(20, 30, 40)),
                                       vision.RandomCrop(4, 1, fill_value=(20, 30, 40))])
def test_a_border_of_one_channel_has_the_first_of_three_values(operation):
    assert operation(np.full((2, 2, 1), 9, np.uint8))[0, 0].tolist() == [20]
    assert operation(np.full((2, 2, 3), 9, np.uint8))[0, 0].tolist() == [20, 30, 40]
    assert operation(np.full((2, 2), 9, np.uint8))[0, 0] == 20
