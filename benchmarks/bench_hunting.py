"""Time the building and searching of a text index.

The same sentences are searched for the same phrases (those of knowledge hunting) in three ways, one
after the other in one run:

- winosmith: `solve.FullTextIndex`, SQLite's FTS5 in one file;
- tantivy: its index on disk, English stems, the same phrases (if it is installed);
- scan: a regular expression for each phrase over all sentences in memory, as in a few lines of
  Python, with a tenth of the searches.

Each returns the 20 best (the scan, the first) sentences. The hits are compared with those of
winosmith: the fraction of searches for which both or neither find a sentence.

    python benchmarks/bench_hunting.py --collection texts/ --data dev.jsonl
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import statistics
import sysconfig
import tempfile
import time
from pathlib import Path

from winosmith import formats, practice, solve
from winosmith.solve._full_text import list_texts, read_passages
from winosmith.solve._hunting import stem

LIMIT = 20


class Recorder:
    """A retriever that finds nothing and records the queries."""

    def __init__(self):
        self.asked = []

    def search(self, phrases, limit):
        """Record the phrases."""
        self.asked.append(tuple(phrases))
        return []


def write_docstrings(folder):
    """Write the docstrings of Python's standard library to a file, as freely available English."""
    with (folder / "stdlib.txt").open("w", encoding="utf-8") as file:
        for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*/*.py")):
            try:
                tree = ast.parse(path.read_text("utf-8", "replace"))
            except (SyntaxError, ValueError):
                continue
            kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
            found = (ast.get_docstring(n) for n in ast.walk(tree) if isinstance(n, kinds))
            file.writelines(f"{text}\n\n" for text in found if text)
    return folder


def index_with_tantivy(sentences, folder):
    """Return a function that searches a new tantivy index."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer()
    for sentence in sentences:
        writer.add_document(tantivy.Document(text=sentence))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(phrases):
        asked = " AND ".join('"' + re.sub(r"\W+", " ", p).strip() + '"' for p in phrases)
        hits = searcher.search(index.parse_query(asked, ["text"]), LIMIT).hits
        return [searcher.doc(address)["text"][0] for _, address in hits]

    return search


def scan_sentences(sentences):
    """Return a function that scans the sentences."""

    def search(phrases):
        wanted = [
            re.compile(r"\W+".join(rf"\b{re.escape(stem(w))}\w*" for w in p.split()), re.IGNORECASE)
            for p in phrases
        ]
        found = []
        for sentence in sentences:
            if all(pattern.search(sentence) for pattern in wanted):
                found.append(sentence)
                if len(found) == LIMIT:
                    break
        return found

    return search


def time_call(function):
    """Return the duration of a call in seconds, and its result."""
    start = time.perf_counter()
    given = function()
    return time.perf_counter() - start, given


def get_folder_size(folder):
    """Return the size of a folder in megabytes."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collection", help="texts (default: Python's docstrings)")
    parser.add_argument("--data", help="file of problems (default: the practice corpus)")
    parser.add_argument("--searches", type=int, default=1000)
    options = parser.parse_args()
    data = formats.read(options.data) if options.data else practice.generate_corpus(200).dataset
    recorder = Recorder()
    solve.KnowledgeHunting(recorder).score(data)
    step = max(1, len(recorder.asked) // options.searches)
    asked = recorder.asked[::step][: options.searches]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        (scratch / "texts").mkdir()
        collection = options.collection or write_docstrings(scratch / "texts")
        files = list_texts(collection)
        seconds, sentences = time_call(lambda: [s for path in files for s in read_passages(path)])
        megabytes = sum(len(sentence.encode()) for sentence in sentences) / 1e6
        print(
            f"{len(sentences):,} sentences, {megabytes:.1f} MB; cutting them takes {seconds:.1f} s"
        )
        print(f"{len(asked):,} searches for the problems of {data.name!r}")
        index_folder, rival_folder = scratch / "index", scratch / "rival"
        rival_folder.mkdir()
        ways = {"winosmith": lambda: solve.FullTextIndex.open(collection, index_folder)}
        if importlib.util.find_spec("tantivy"):
            ways["tantivy"] = lambda: index_with_tantivy(
                (s for path in files for s in read_passages(path)), rival_folder
            )
        ways["scan"] = lambda: scan_sentences(sentences)
        print(f"{'':12}{'build s':>9}{'MB':>8}{'median ms':>11}{'p95 ms':>9}{'same hits':>11}")
        expected = {}
        for name, build in ways.items():
            built, way = time_call(build)
            search = (lambda p, way=way: way.search(p, LIMIT)) if name == "winosmith" else way
            asks = asked[::10] if name == "scan" else asked
            search(asks[0])
            times, hits = [], {}
            for phrases in asks:
                seconds, found = time_call(lambda p=phrases, search=search: search(p))
                times.append(seconds * 1000)
                hits[phrases] = bool(found)
            expected = expected or hits
            same = sum(hits[p] == expected[p] for p in hits) / len(hits)
            stored = {
                "winosmith": get_folder_size(index_folder),
                "tantivy": get_folder_size(rival_folder),
            }.get(name, 0)
            p95 = statistics.quantiles(times, n=20)[-1]
            print(
                f"{name:12}{built:9.1f}{stored:8.1f}{statistics.median(times):11.3f}{p95:9.3f}"
                f"{same:11.1%}"
            )


if __name__ == "__main__":
    main()
