"""The main suite as a whole: time, memory, audit, coverage of every factor, same bytes again, other seed, sortability.

    python scripts/check_main_suite.py FOLDER [--jobs 2] [--limit K]

Writes the suite below FOLDER four times (seed 0 twice, seed 1, internal scaling), each in a process of its own and with
nothing compiled before, and keeps the first. About 7 GB at a time; ten minutes on two cores.
"""

import argparse
import collections
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FACTORS = {"graph families": "graph_family", "mechanism tags": "mechanisms", "roots": "roots", "noises": "noises",
           "root dependencies": "root_dependency", "difficulties": "difficulty"}  # fmt: skip


def write(folder: Path, args: argparse.Namespace, *options: str) -> None:
    command = [sys.executable, "-c", "from arena.cli import main; main()", "generate", "--suite", "main",
               "--families", "synthetic", "--out", str(folder), "--jobs", str(args.jobs), *options]  # fmt: skip
    command += ["--limit", str(args.limit)] if args.limit else []
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        subprocess.run(command, check=True, env={**os.environ, "JAX_COMPILATION_CACHE_DIR": cache}, capture_output=True)
        wall = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"generate {' '.join(options) or '--seed 0'}: {wall:.0f} s, peak so far {peak:.2f} GiB", flush=True)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def manifests(folder: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.rglob("manifest.json"))]


def audit(folder: Path) -> None:
    command = [sys.executable, "-c", "from arena.cli import main; main()", "audit", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"audit: exit {done.returncode}; {(done.stdout.strip() or done.stderr.strip()).splitlines()[-1]}", flush=True)


def coverage(found: list[dict]) -> None:
    tables = sum(len(rows) for manifest in found for rows in manifest["rows"])
    print(f"{len(found)} configurations, {tables} tables")
    for title, factor in FACTORS.items():
        counts: collections.Counter[str] = collections.Counter()
        for manifest in found:
            levels = manifest["factors"][factor]
            counts.update([levels] if isinstance(levels, str) else levels)
        print(f"{len(counts)} {title}: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items())))
    for kind in ("mechanisms", "noises", "roots"):
        sizes = collections.defaultdict(list)
        for manifest in found:
            if manifest["factors"][kind]:
                sizes[manifest["factors"]["d"]].append(len(manifest["factors"][kind]))
        print(f"active {kind} by d: " + ", ".join(f"{d}: {min(n)}-{max(n)}" for d, n in sorted(sizes.items())))
    edges = sum(manifest["factors"]["n_edges"] for manifest in found)
    weak = sum(len(manifest["provenance"]["weak_edges"]) for manifest in found)
    rejected = [re.split(r"[:;]", fault)[0] for m in found for fault in m["provenance"]["rejected_candidates"]]
    print(f"{weak} of {edges} edges are weak; rejected candidates: {dict(collections.Counter(rejected))}", flush=True)


def sortability(title: str, found: list[dict]) -> None:
    for kind in ("var", "r2"):
        values = [replicate["obs"][kind] for manifest in found for replicate in manifest["sortability"]]
        low, middle, high = np.percentile(values, (25, 50, 75))
        quartiles = f"{low:.3f} {middle:.3f} {high:.3f}"
        print(f"{title} scaling, {kind}-sortability: mean {np.mean(values):.3f}, quartiles {quartiles}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    first, other = args.folder / "first", args.folder / "other"

    write(first, args)
    audit(first)
    found, of_first = manifests(first), digests(first)
    coverage(found)
    sortability("paper", found)

    write(other, args)
    print(f"same seed again: {len(of_first)} files, {'same bytes' if digests(other) == of_first else 'OTHER BYTES'}")
    shutil.rmtree(other)

    write(other, args, "--seed", "1")
    tables = [{digest for name, digest in of.items() if "/obs" in name and "mask" not in name}
              for of in (of_first, digests(other))]  # fmt: skip
    print(f"seed 1: {len(tables[0] & tables[1])} of {len(tables[0])} tables shared")
    shutil.rmtree(other)

    write(other, args, "--scaling", "internal")
    sortability("internal", manifests(other))
    shutil.rmtree(other)


if __name__ == "__main__":
    main()
