"""Draw the margins of twins next to their mirror image, and print what the mirror filter removes.

python examples/mirror_margins.py --svg FOLDER [FILE]
"""

import argparse
from pathlib import Path

import numpy as np

from winosmith import debias, embed, formats, practice, report

parser = argparse.ArgumentParser(description="Draw margins next to their mirror image.")
parser.add_argument("--svg", type=Path, default=Path(), help="folder of the chart")
parser.add_argument("file", nargs="?", help="file of twins (default: practice twins)")
arguments = parser.parse_args()
pool = (
    formats.read(arguments.file)
    if arguments.file
    else practice.generate_corpus(1_000, strength=0.4).dataset
)
units = debias.make_twin_units(pool, embed.LightEmbedder().embed(pool))
found = debias.mirror(units.V, blocks=units.blocks, kinds=units.kinds, ids=units.ids, error=0.2)

is_removed = np.isin(np.arange(len(found.margins)), found.removed)
drawing = report.draw_margins(found.margins, is_removed, threshold=found.threshold)
(arguments.svg / "mirror-margins.svg").write_text(drawing.markup, "utf-8")
print(f"{len(found.margins):,} units: {(found.margins > 0).sum():,} agree,", end=" ")
print(f"{(found.margins < 0).sum():,} disagree, {found.ties:,} tie")
if found.threshold is not None and found.false_share is not None:
    print(f"from a margin of {found.threshold:.2f}, {len(found.removed):,} were removed,", end=" ")
    print(f"about {found.false_share:.1%} of them sound")
