#!/usr/bin/env python3
"""Masks of polygons as pycocotools draws and packs them: coco_masks.json. Run with numpy and pycocotools 2.0.11."""
import json
from pathlib import Path

import numpy
from pycocotools import mask

random = numpy.random.default_rng(17)


def runs_of(picture):
    """Lengths of runs of 0 and 1 in turns, column by column, beginning with 0."""
    flat = picture.flatten(order="F")
    runs, value = [], 0
    at = 0
    while at < flat.size:
        end = at
        while end < flat.size and flat[end] == value:
            end += 1
        runs.append(end - at)
        at, value = end, 1 - value
    return runs


def case(height, width, polygons):
    packed = mask.merge(mask.frPyObjects(polygons, height, width))
    picture = mask.decode(packed)
    return {"height": height, "width": width, "polygons": polygons, "runs": runs_of(picture),
            "packed": packed["counts"].decode()}


cases = [
    case(10, 12, [[2, 2, 8, 2, 8, 6, 2, 6]]),
    case(10, 12, [[0, 0, 12, 0, 12, 10, 0, 10]]),
    case(9, 9, [[4.5, 0.5, 8.5, 4.5, 4.5, 8.5, 0.5, 4.5]]),
    case(16, 16, [[1, 1, 5, 1, 5, 5, 1, 5], [9.3, 9.7, 14.2, 10.1, 11.9, 15.6]]),
    case(7, 5, [[-0.5, -0.5, 5.5, 3, -0.5, 7.5]]),
]
for _ in range(12):
    height, width = (int(n) for n in random.integers(5, 60, 2))
    corners = int(random.integers(3, 9))
    points = random.uniform(0, 1, (corners, 2)) * [width, height]
    cases.append(case(height, width, [[round(float(n), 2) for n in points.flatten()]]))
Path(__file__).with_suffix(".json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")
