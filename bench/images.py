"""Operations on one image beside MindSpore's, each in a process of its own: 224 x 224 x 3 bytes, and the same in float32.

    python bench/images.py [--rows TEXT ...] [--rounds 9] [--peers DIR] [--above 1.5]

A sample is some calls of the operation on the image. Microseconds of a call: least of the rounds, frameworks in turn. The cells
of an operation that one of them refuses say so.
"""
import argparse
import importlib
import io
import time

import numpy as np
from PIL import Image

from beside_torch import PEERS, Both, serve

SIDE, SECONDS = 224, 0.004               # of an image, and that a sample takes at least
CALLS = {                                # {row, which begins with the name of the operation: its arguments}
    "AdjustBrightness": "1.5", "AdjustContrast": "1.5", "AdjustGamma": "0.5", "AdjustHue": "0.2", "AdjustSaturation": "0.5",
    "AdjustSharpness": "2.0", "Affine": "15.0, (0.1, 0.1), 1.1, (1.0, 1.0)", "AutoAugment": "", "AutoContrast": "",
    "CenterCrop": "200", "ConvertColor": "v.ConvertMode.COLOR_RGB2BGR", "Crop": "(3, 4), 190", "CutOut": "50", "Decode": "",
    "Equalize": "", "Erase": "3, 4, 50, 60", "GaussianBlur": "5", "HorizontalFlip": "", "HWC2CHW": "", "Invert": "",
    "Normalize": "[1., 2., 3.], [1., 2., 3.]", "NormalizePad": "[1., 2., 3.], [1., 2., 3.]", "Pad": "20", "PadToSize": "260",
    "Perspective": "[(0, 0), (223, 0), (223, 223), (0, 223)], [(9, 9), (200, 5), (210, 200), (4, 222)]", "Posterize": "3",
    "RandAugment": "", "RandomAdjustSharpness": "2.0, 1.0", "RandomAffine": "15", "RandomAutoContrast": "prob=1.0",
    "RandomColor": "", "RandomColorAdjust": "0.5, 0.5, 0.5, 0.1", "RandomCrop": "200", "RandomCropDecodeResize": "224",
    "RandomEqualize": "1.0", "RandomHorizontalFlip": "1.0", "RandomInvert": "1.0", "RandomLighting": "",
    "RandomPerspective": "0.5, 1.0", "RandomPosterize": "(1, 8)", "RandomResize": "180", "RandomResizedCrop": "200",
    "RandomRotation": "90", "RandomSharpness": "", "RandomSolarize": "", "RandomVerticalFlip": "1.0", "Rescale": "0.1, 1.0",
    "Resize": "180", "Resize cubic": "180, v.Inter.CUBIC", "Resize area": "180, v.Inter.AREA",
    "Resize nearest": "180, v.Inter.NEAREST", "Resize up": "300", "ResizedCrop": "2, 3, 180, 190, (200, 210)", "RgbToHsv": "",
    "HsvToRgb": "", "Rotate": "30", "Rotate linear": "30, v.Inter.LINEAR", "SlicePatches": "2, 3", "Solarize": "(100, 200)",
    "ToTensor": "", "TrivialAugmentWide": "", "UniformAugment": "[v.Invert(), v.Equalize()]", "VerticalFlip": "",
    "RandomErasing": "1.0", "GaussianBlur 11": "11", "Resize PIL": "180", "RandomGrayscale PIL": "1.0", "FiveCrop PIL": "200",
}


def image_of(kind, name):
    """What the operation of a row is called with."""
    numbers = np.random.default_rng(5)
    small = numbers.integers(0, 256, (28, 28, 3), np.uint8)
    image = small.repeat(8, 0).repeat(8, 1)
    image = np.clip(image + numbers.normal(0, 6, image.shape), 0, 255).astype(np.uint8)
    if name.startswith(("Decode", "RandomCropDecode")):
        stream = io.BytesIO()
        Image.fromarray(image).save(stream, "JPEG", quality=90)
        return np.frombuffer(stream.getvalue(), np.uint8)
    if name.endswith("PIL"):
        return Image.fromarray(image)
    if name in ("RgbToHsv", "HsvToRgb"):
        image = (image / 255).transpose(2, 0, 1)
    return image.astype(np.float32) if kind == "float" else image


def answers(package):
    """What a serving process answers: {"row", "kind"} -> microseconds of a call, None where it is refused."""
    v = importlib.import_module(f"{package}.dataset.vision")
    made = {}

    def begun(name, kind):
        operation = eval(f"v.{name.split()[0]}({CALLS[name]})", {"v": v})
        image = image_of(kind, name)
        operation(image)
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            operation(image)
            count += 1
        return operation, image, count

    def answer(asked):
        key = asked["row"], asked["kind"]
        if key not in made:
            try:
                made[key] = begun(*key)
            except Exception:                        # the row says that it is refused
                made[key] = None
        if made[key] is None:
            return None
        operation, image, count = made[key]
        start = time.perf_counter()
        try:
            for _ in range(count):
                operation(image)
        except Exception:                            # of a random one that has drawn what floats have not
            return None
        return 1e6 * (time.perf_counter() - start) / count
    return answer


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", default=[], help="only rows with one of these texts in their name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", default=PEERS)
    parser.add_argument("--above", type=float, default=0.0, help="only rows that take more than so many times MindSpore's time")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(answers(options.serve))
        return
    print("| operation | mindlite, MindSpore (us): bytes | ratio | float32 | ratio |")
    print("|---" * 5 + "|")
    with Both(__file__, options.peers, names=("mindlite", "mindspore")) as workers:
        for name in CALLS:
            if options.rows and not any(text in name for text in options.rows):
                continue
            cells, worst = [], 0.0
            for kind in ("bytes", "float"):
                taken = {"mindlite": [], "mindspore": []}
                for _ in range(options.rounds):
                    for one in taken:
                        taken[one].append(workers.ask(one, row=name, kind=kind))
                if any(None in samples for samples in taken.values()):
                    cells += ["", " ".join(one for one in taken if None in taken[one]) + " refuses"]
                    continue
                ours, theirs = (min(samples) for samples in taken.values())
                worst = max(worst, ours / theirs)
                cells += [f"{ours:.0f}, {theirs:.0f}", f"{ours / theirs:.2f}"]
            if worst >= options.above:
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
