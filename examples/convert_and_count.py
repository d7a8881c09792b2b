"""Read a published format, count the problems, find the field that reveals answers, and convert it.

python examples/convert_and_count.py
"""

import json
import warnings
from pathlib import Path

from winosmith import formats, metrics, practice

# A file in WinoGrande 1.1's format. Its ids end in the answer, like those in the released file.
with Path("winogrande-like.jsonl").open("w") as file:
    for problem in practice.read_handwritten():
        first, second = problem.options
        number = problem.answer + 1
        record = {"qID": f"{problem.twin_id}-{number}", "sentence": problem.sentence}
        record |= {"option1": first, "option2": second, "answer": str(number)}
        file.write(json.dumps(record) + "\n")

data = formats.read("winogrande-like.jsonl")  # the format is detected from the content
counted = metrics.compute_statistics(data)
print(f"{counted.problems} problems in {counted.twins} twins")
print(f"{counted.average_length:.1f} tokens on average, vocabulary {counted.vocabulary}")
for leak in counted.leaks:
    print(f"LEAK: {leak}")

formats.write(data.problems, "twins.csv", "csv")
again = formats.read("twins.csv")
print(f"as CSV and back: {'the same' if again.problems == data.problems else 'not the same'}")

written = practice.read_handwritten().problems
formats.write(written, "winogrande.jsonl", "winogrande")
with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    again = formats.read("winogrande.jsonl")
for note in notes:  # the format has no twins: they are detected by their texts
    print(f"NOTE: {note.message}")
lost = formats.find_losses(written, again.problems)
for line in lost.lines("problems"):
    print(f"as WinoGrande's JSON Lines and back: {line}")
