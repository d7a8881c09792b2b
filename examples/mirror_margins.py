"""Draw the margins of twins beside their mirror image, and say what the mirror filter makes of it.

python examples/mirror_margins.py --svg FOLDER [FILE]
"""

import argparse
from pathlib import Path

import numpy as np

from winosmith import debias, embed, formats, practice, report

parser = argparse.ArgumentParser(description="Draw margins beside their mirror image.")
parser.add_argument("--svg", type=Path, default=Path(), help="the folder for the drawing")
parser.add_argument("file", nargs="?", help="twins; practice twins when left out")
asked = parser.parse_args()
pool = (
    formats.read(asked.file)
    if asked.file
    else practice.generate_corpus(1_000, strength=0.4).dataset
)
units = debias.make_twin_units(pool, embed.LightEmbedder().embed(pool))
found = debias.mirror(units.V, blocks=units.blocks, kinds=units.kinds, ids=units.ids, error=0.2)

gone = np.isin(np.arange(len(found.margins)), found.removed)
drawing = report.draw_margins(found.margins, gone, threshold=found.threshold)
(asked.svg / "mirror-margins.svg").write_text(drawing.markup, "utf-8")
print(f"{len(found.margins):,} units: {(found.margins > 0).sum():,} agree,", end=" ")
print(f"{(found.margins < 0).sum():,} disagree, {found.ties:,} tie")
if found.threshold is not None and found.false_share is not None:
    print(f"from a margin of {found.threshold:.2f} on {len(found.removed):,} went,", end=" ")
    print(f"about {found.false_share:.1%} of them sound")
