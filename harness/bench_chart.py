# SPDX-License-Identifier: GPL-2.0
"""The chart of bench.py: a pair of bars for each row, and a tick where its target is."""
from html import escape

LABELS, BARS, RIGHT = 390, 500, 110
TOP, PAIR, BAR = 64, 34, 12
COLORS = {"pristine": "#9aa5b1", "ours": "#2f6fb3"}
TICK = "#c0392b"


def words(x, y, what, anchor="start", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(what)}</text>'


def bar(y, width, color):
    return f'<rect x="{LABELS}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'


def traps(got):
    return "" if not got["traps"] else f", {got['traps']:g} trap" + ("s" if got["traps"] != 1 else "")


def legend():
    parts, x = [], LABELS
    for which, color in COLORS.items():
        parts += [f'<rect x="{x}" y="36" width="12" height="12" fill="{color}"/>', words(x + 18, 46, which)]
        x += 90
    parts += [f'<rect x="{x + 5}" y="34" width="3" height="16" fill="{TICK}"/>', words(x + 18, 46, "target of ours")]
    return parts


def pair(y, row, scale):
    parts = [words(LABELS - 8, y + BAR + 4, row["title"], "end")]
    for i, (which, color) in enumerate(COLORS.items()):
        at, got = y + i * BAR, row[which]
        if got:
            parts += [bar(at, got["insns"] * scale, color),
                      words(LABELS + got["insns"] * scale + 5, at + 10, f"{got['insns']:.0f}{traps(got)}", size=11)]
        else:
            parts.append(words(LABELS + 5, at + 10, "-", size=11))
    wanted = row.get("target", {}).get("insns")
    if wanted is not None:
        parts.append(f'<rect x="{LABELS + wanted * scale - 1.5:.1f}" y="{y - 3}" width="3" '
                     f'height="{2 * BAR + 6}" fill="{TICK}"><title>target {wanted}</title></rect>')
    return parts


def chart(title, rows):
    """An SVG document; a row is one of bench.py's."""
    most = max(row[which]["insns"] for row in rows for which in COLORS if row[which])
    width, height = LABELS + BARS + RIGHT, TOP + PAIR * len(rows) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#222">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>', words(LABELS, 22, title, size=16), *legend()]
    for i, row in enumerate(rows):
        parts += pair(TOP + i * PAIR, row, BARS / most)
    return "\n".join([*parts, "</svg>", ""])
