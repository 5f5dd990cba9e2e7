"""Forecasts of training on 8 to 4,096 devices beside published figures, as a table and as a picture. All of it is simulated.

    python bench/simulated.py [--picture docs/simulated.svg] [--all]        --all: the largest models too, some minutes

Published: Narayanan et al. 2021, table 1 (A100; micro-batches and interleaving are those of Megatron-LM's examples/sc21); 175B:
Megatron-LM's README; OneFlow's DLPerf reports of 2020 (ResNet-50, float32, 128 images a device) and 2021 (GPT, 16 layers of width
1536), V100.
"""
import argparse
import pathlib
from xml.sax.saxutils import escape

from mindlite.parallel.cluster import DGX1, SELENE
from mindlite.parallel.forecast import Transformer, data_parallel, gpt, resnet50_buckets

# layers, width, heads, tensor, stages, devices, batch, micro-batch, pieces of a stage; TFLOP/s of a device
MEGATRON = (("1.7B", 24, 2304, 24, 1, 1, 32, 512, 16, 1, 137), ("3.6B", 30, 3072, 32, 2, 1, 64, 512, 16, 1, 138),
            ("7.5B", 36, 4096, 32, 4, 1, 128, 512, 16, 1, 142), ("18.4B", 40, 6144, 48, 8, 1, 256, 1024, 8, 1, 135),
            ("39.1B", 48, 8192, 64, 8, 2, 512, 1536, 4, 1, 138), ("76.1B", 60, 10240, 80, 8, 4, 1024, 1792, 2, 3, 140),
            ("175B", 96, 12288, 96, 8, 16, 1024, 1536, 1, 1, 138), ("145.6B", 80, 12288, 96, 8, 8, 1536, 2304, 2, 2, 148),
            ("310.1B", 96, 16384, 128, 8, 16, 1920, 2160, 1, 2, 155), ("529.6B", 105, 20480, 128, 8, 35, 2520, 2520, 1, 3, 163),
            ("1008B", 128, 25600, 160, 8, 64, 3072, 3072, 1, 1, 163))
LARGE = 2000                                     # devices of a row that --all runs
ONE_IMAGE_RATE = 384.85                          # images a second of one V100
ONEFLOW = ((8, 2969.45), (16, 5906.55), (32, 11711.18))
ONE_GPT = 0.40616                                # seconds of two examples on one V100
ONEFLOW_GPT = ((8, 0.417952), (16, 0.489674), (32, 0.518642))
SMALL_GPT = [4 * 12 * 1536 ** 2] * 16 + [4 * (51200 + 2048) * 1536]     # bytes of gradients: layers, then the words
COUNTS = (8, 64, 512, 1024, 2048, 4096)


def megatron(whole):
    """[(name, devices, simulated TFLOP/s, published)]"""
    return [(name, devices, gpt(Transformer(*sizes), SELENE, devices, tensor, stages, *batch).rate / 1e12, published)
            for name, *sizes, tensor, stages, devices, a, b, c, published in MEGATRON if whole or devices < LARGE
            for batch in [(a, b, c)]]


def oneflow():
    """[(name, devices, simulated, published)], images a second of ResNet-50 and examples a second of GPT."""
    found = [("ResNet-50", n, data_parallel("", DGX1, n, 128, 128 / ONE_IMAGE_RATE, resnet50_buckets()).rows, published)
             for n, published in ONEFLOW]
    return found + [("GPT, data parallel", n, data_parallel("", DGX1, n, 2, ONE_GPT, SMALL_GPT).rows, 2 * n / published)
                    for n, published in ONEFLOW_GPT]


def scaling():
    """{name: [(devices, share of the speed of as many times the fewest)]}"""
    images = [(n, data_parallel("", DGX1, n, 128, 128 / ONE_IMAGE_RATE, resnet50_buckets()).rows / n / ONE_IMAGE_RATE)
              for n in COUNTS if n <= 512]
    model = Transformer(96, 12288, 96)
    words = [(n, gpt(model, SELENE, n, 8, 8, 1536).rate) for n in COUNTS if n >= 64]
    return {"ResNet-50, V100": images, "GPT-3 175B, batch 1536, A100": [(n, rate / words[0][1]) for n, rate in words]}


def picture(rows, curves):
    """The SVG: bars of simulated and published speed of a device; below them how speed scales."""
    left, width, height, lines = 90, 520, 22, []
    for number, (name, devices, simulated, published) in enumerate(rows):
        y = 40 + number * height
        lines += [f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{escape(name)}, {devices}</text>',
                  f'<rect x="{left}" y="{y + 2}" width="{simulated * 2.5:.0f}" height="8" fill="#8a8a8a"/>',
                  f'<rect x="{left}" y="{y + 11}" width="{published * 2.5:.0f}" height="8" fill="#4a8f5a"/>',
                  f'<text x="{left + 2.5 * max(simulated, published) + 5:.0f}" y="{y + 14}">{simulated:.0f} simulated, '
                  f'{published:.0f} published</text>']
    top = 80 + len(rows) * height
    place = {count: left + 90 * k for k, count in enumerate(COUNTS)}
    lines += [f'<text x="{left}" y="{top - 14}">share of linear scaling, simulated</text>']
    for mark in (0.5, 1.0):
        y = top + 150 - 140 * mark
        lines += [f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="#dddddd"/>',
                  f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{mark:.0%}</text>']
    lines += [f'<text x="{x}" y="{top + 168}" text-anchor="middle">{count}</text>' for count, x in place.items()]
    for colour, (name, points) in zip(("#c2573f", "#4a6f9f"), curves.items()):
        spots = [(place[count], top + 150 - 140 * share) for count, share in points]
        lines.append(f'<polyline points="{" ".join(f"{x},{y:.1f}" for x, y in spots)}" fill="none" stroke="{colour}"/>')
        lines.append(f'<text x="{spots[-1][0] - 30}" y="{spots[-1][1] + 16:.1f}" fill="{colour}">{escape(name)}</text>')
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{top + 190}" font-family="sans-serif" '
            'font-size="11">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{left}" y="16">Simulated, not measured. GPT on A100: TFLOP/s of a device; model, devices</text>')
    return "\n".join([*head, *lines, "</svg>"]) + "\n"


def main():
    """Print the tables, write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    rows = megatron(args.all)
    print("simulated, not measured\n" + "\n".join(
        f"{name:20} {devices:5} devices  {simulated:10.1f} simulated  {published:10.1f} published  "
        f"{simulated / published - 1:+.1%}"
        for name, devices, simulated, published in (*rows, *oneflow())))
    curves = scaling()
    for name, points in curves.items():
        print(name, ", ".join(f"{count}: {share:.1%}" for count, share in points))
    if args.picture:
        args.picture.write_text(picture(rows, curves))


if __name__ == "__main__":
    main()
