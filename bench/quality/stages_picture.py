#!/usr/bin/env python3
"""Draws what stages.py found: stages_picture.py OUTPUT.svg LINES.json…
One group of bars for each dataset and replay, one bar for each kind of model: what is right of the classes of earlier
stages and, above it, of those of the last one, each as a share of all test rows."""
import json
import pathlib
import sys
from xml.sax.saxutils import escape

NAMES = {"experts": "mixture of experts", "total": "dense, equal in all", "active": "dense, equal for a row",
         "no growth": "no growth", "no merging": "no merging"}
OLD, NEW, TEXT, LINE = "#1d4ed8", "#93c5fd", "#334155", "#cbd5e1"
BAR, GAP, ROOM, HIGH, TOP, LEFT = 40, 12, 52, 220, 46, 96


def summaries(files):
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            found = json.loads(line)
            if "seed" not in found:
                yield found


def text(x, y, words, anchor="middle", size=11, turn=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{TEXT}"{turn}>{escape(words)}</text>'


def drawn(found):
    groups = {}
    for each in found:
        name = each["data"].split(":")[-1].split("/")
        data = "Fashion-MNIST" if "fashion-mnist" in name else name[-1]
        groups.setdefault((data, f'{each["replay"]} rows replayed' if each["replay"] else "nothing replayed"), []).append(each)
    wide = LEFT + sum(len(bars) * (BAR + GAP) + ROOM for bars in groups.values())
    parts = [text(LEFT, 16, "Right of all test rows after the second stage, %", "start", 12)]
    for at, (colour, words) in enumerate([(OLD, "old classes"), (NEW, "new classes")]):
        parts.append(f'<rect x="{LEFT + 110 * at}" y="24" width="10" height="10" fill="{colour}"/>')
        parts.append(text(LEFT + 110 * at + 15, 33, words, "start"))
    for share in range(0, 101, 25):
        y = TOP + HIGH * (1 - share / 100)
        parts.append(f'<line x1="{LEFT}" x2="{wide - 10}" y1="{y}" y2="{y}" stroke="{LINE}"/>' + text(LEFT - 6, y + 4, str(share), "end"))
    x = LEFT + GAP
    for title, bars in groups.items():
        begin = x
        for each in bars:
            old, new = each["old"][0] / 2, each["new"][0] / 2
            scale = HIGH / 100
            parts.append(f'<rect x="{x}" y="{TOP + HIGH - old * scale:.1f}" width="{BAR}" height="{old * scale:.1f}" fill="{OLD}"/>')
            parts.append(f'<rect x="{x}" y="{TOP + HIGH - (old + new) * scale:.1f}" width="{BAR}" height="{new * scale:.1f}" fill="{NEW}"/>')
            parts.append(text(x + BAR / 2, TOP + HIGH - (old + new) * scale - 4, f'{each["all"][0]:.0f}'))
            middle = x + BAR / 2 + 4
            parts.append(text(middle, TOP + HIGH + 8, NAMES[each["kind"]], "end", 11, f' transform="rotate(-40 {middle:.1f} {TOP + HIGH + 8})"'))
            x += BAR + GAP
        for line, words in enumerate(title):
            parts.append(text((begin + x - GAP) / 2, TOP + HIGH + 108 + 15 * line, words))
        x += ROOM
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{TOP + HIGH + 136}" font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    pathlib.Path(sys.argv[1]).write_text(drawn(list(summaries(sys.argv[2:]))))
