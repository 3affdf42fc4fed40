"""Copies of lists of candidates with links from one kind of table only, for `benchmarks/reranking/mart_tables.py`.

    python -m dragoman_lab.benchmarks.reranking.mart_relinked --links dictionary --tables runs/permissive/tables \\
        --lists runs/mart/hybrid-test/lists runs/mart/hybrid-tune/lists
    python -m dragoman_lab.benchmarks.reranking.mart_relinked --links learned --tables runs/learned/tables \\
        --lists runs/mart/hybrid-test/lists runs/mart/hybrid-tune/lists

Writes a copy of each folder with the suffix `-dictionary`, linked by the files `en-xx.dictionary.tsv` in the folder of
tables, or `-learned`, by the files `en-xx.tsv`. Lists of one language need no table. Lists of languages without such a
file are skipped; existing lists are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman_lab.evaluation.local_service import local_service
from dragoman_lab.evaluation.serving import TableFile
from dragoman_lab.ranking.lists import lists_in, read_lists, relink

FILES = {"dictionary": "en-{}.dictionary.tsv", "learned": "en-{}.tsv"}


def main() -> None:
    """Write the missing lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", choices=FILES, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--lists", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    missing: dict[str, list[tuple[Path, Path]]] = {}
    for folder in arguments.lists:
        for path in lists_in(folder):
            output = Path(f"{folder}-{arguments.links}") / path.relative_to(folder)
            lists = read_lists(path)
            if output.exists():
                continue
            if lists.source == lists.target:
                relink(path, None, output)
                continue
            (language,) = {lists.source, lists.target} - {"en"}
            missing.setdefault(language, []).append((path, output))
    for language, pairs in missing.items():
        table = TableFile(arguments.tables / FILES[arguments.links].format(language), "en", language)
        if table.path.exists():
            with local_service([table]) as service:
                for path, output in pairs:
                    lists = read_lists(path)
                    view = service.view(lists.source, lists.target)
                    relink(path, view.analysed if view is not None else None, output)


if __name__ == "__main__":
    main()
