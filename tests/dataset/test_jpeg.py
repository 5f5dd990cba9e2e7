"""Parts of JPEGs by kernels: the bits of libjpeg-turbo; what is not usual, or not sound, is left to a library."""
import io

import numpy as np
import pytest
from PIL import Image

from mindlite.dataset import vision
from mindlite.dataset.vision import formats, jpeg


def file_of(pixels, mode="RGB", **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, "JPEG", **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"subsampling": 1}, {"quality": 3}, {"quality": 100},
                                     {"optimize": True}, {"progressive": True}, {"restart_marker_blocks": 2}], ids=str)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_part_of_a_jpeg_has_the_pixels_that_pillow_gives_the_whole(options, mode):
    usual = mode == "RGB" and not {"progressive", "restart_marker_blocks"} & set(options)
    for (height, width), smooth in (((75, 41), 1), ((24, 24), 9), ((40, 200), 4), ((23, 90), 1)):
        numbers = np.random.default_rng(height)
        small = Image.fromarray(numbers.integers(0, 256, (height // smooth, width // smooth, 3), np.uint8))
        pixels = np.asarray(small.resize((width, height)))
        data = file_of(pixels, mode, **options)
        whole = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        layout = jpeg.layout_of(data)
        assert (layout is not None) == (usual and height > 23)
        for _ in range(12):
            top, left = int(numbers.integers(height)), int(numbers.integers(width))
            part = top, left, int(numbers.integers(1, height - top + 1)), int(numbers.integers(1, width - left + 1))
            wanted = whole[top:top + part[2], left:left + part[3]]
            assert np.array_equal(formats.part_of_pixels(data, "part", lambda h, w: part), wanted)
            if layout:
                assert np.array_equal(jpeg.part(data, layout, *part), wanted)
        assert np.array_equal(vision.Decode()(data), whole)


def test_a_jpeg_whose_numbers_may_not_fit_16_bits_is_left_to_a_library():
    data = file_of(np.random.default_rng(2).integers(0, 256, (32, 32, 3), np.uint8), quality=50).copy()
    begin = data.tobytes().index(b"\xff\xdb") + 5
    data[begin:begin + 64] = 255                             # every divisor is the largest one
    layout = jpeg.layout_of(data)
    assert layout is not None and jpeg.part(data, layout, 0, 0, 32, 32) is None
    assert np.array_equal(vision.Decode()(data), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


@pytest.mark.parametrize("change", ["an end is missing", "more behind the end", "its scan ends early", "another table",
                                    "no table", "too many codes", "restarts", "12 bits", "own colours"])
def test_a_jpeg_of_another_kind_or_damaged_is_left_to_a_library(change):
    data = file_of(np.random.default_rng(2).integers(0, 256, (32, 32, 3), np.uint8)).tobytes()
    frame, codes, scan, divisors = (data.index(bytes([255, marker])) for marker in (0xc0, 0xc4, 0xda, 0xdb))
    changed = {"an end is missing": data[:-2], "more behind the end": data + b"\0", "its scan ends early": data[:-20] + data[-2:],
               "another table": data[:scan + 6] + b"\x33" + data[scan + 7:],
               "no table": data[:divisors + 4] + b"\x03" + data[divisors + 5:],
               "too many codes": data[:codes + 5] + b"\x03" + data[codes + 6:],
               "restarts": data[:scan] + b"\xff\xdd\0\4\0\1" + data[scan:],
               "12 bits": data[:frame + 4] + b"\x0c" + data[frame + 5:],
               "own colours": data.replace(b"JFIF", b"JFIX").replace(b"\x03\x01\x22\0\x02\x11", b"\x03R\x22\0G\x11")}[change]
    assert changed != data
    data = np.frombuffer(changed, np.uint8)
    layout = jpeg.layout_of(data)
    assert layout is None or jpeg.part(data, layout, 0, 0, 32, 32) is None
