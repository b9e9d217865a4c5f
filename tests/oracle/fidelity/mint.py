#!/usr/bin/env python3
"""Compile the rows of rows.py with XLA and keep what the comparison needs in figures.json.

    mint.py [--targets tpu,gpu,cpu] [--rows GLOB] [--again] [--seconds 900] [--keep DIR]

Rows that are there already are left alone, so that it can be stopped and started again; --again mints them anew. --keep DIR
also writes the scheduled text of every row. Needs what tests/golden/mint_hlo.py needs for its targets: jax, and libtpu or
jax[cuda12]; no accelerator. A compile takes seconds to minutes; one that takes longer than --seconds leaves no figures.

Of every row: bytes per device by XLA's memory analysis (outputs without the table of the result tuple), the estimated cycles
of a step (TPU), how many instructions XLA rematerialised, and its collectives as [kind, devices per group, executions per
step, how many such instructions, [[element type, bytes of the larger side], ..]], one pair for each member of a combined
instruction. Of a program that does not fit: what XLA says it needs. Windowed einsums are switched off on TPU: they replace one collective by a loop of permutes.
"""
import argparse
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "golden"))
import mint_hlo  # noqa: E402
import rows  # noqa: E402
import xla_text  # noqa: E402

FIGURES = os.path.join(HERE, "figures.json")
OPTIONS = {"tpu": {"xla_jf_spmd_threshold_for_windowed_einsum_mib": "1000000"}, "gpu": None, "cpu": None}
NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory|Ran out of memory")


def listed(collectives):
    """[kind, group, times, how many, parts, cycles that each can hide behind], equal ones together."""
    found = collections.defaultdict(list)
    for c in collectives:
        found[c.kind, c.group, c.times, tuple(c.parts)].append(c.behind)
    return [[*key[:3], len(behind), key[3], sorted(behind)] for key, behind in sorted(found.items(), key=str)]


def compile_row(row, keep):
    """-> the figures of one row. Only in a process of its own: a compiler keeps its settings."""
    mint_hlo.environment(row.target, row.topology)
    module = rows.module_of(row)
    devices = 1
    for size in re.findall(r"=(\d+)", row.mesh):
        devices *= int(size)
    try:
        executable, n_results = mint_hlo.compile_text(row.target, row.topology, module, OPTIONS[row.target])
    except Exception as error:
        if not NO_MEMORY.search(str(error)):
            raise
        return {"out_of_memory": " ".join(str(error).split())[:600]}
    hlo = executable.hlo_modules()[0].to_string()
    if keep:
        subprocess.run(["zstd", "-q", "-f", "-o", os.path.join(keep, rows.name_of(row) + ".hlo.zst")], input=hlo.encode(), check=True)
    stats = executable.get_compiled_memory_stats()
    # all compilers count the table of the result tuple as output; TPU's entries have four bytes, in whole rows of a tile
    table = 0 if n_results < 2 else 8 * n_results if row.target != "tpu" else -(-4 * n_results // 512) * 512
    return {"argument_bytes": stats.argument_size_in_bytes, "output_bytes": stats.output_size_in_bytes - table,
            "alias_bytes": stats.alias_size_in_bytes, "temporary_bytes": stats.temp_size_in_bytes,
            "estimated_cycles": xla_text.estimated_cycles(hlo), "rematerialised": len(set(re.findall(r"%([\w.-]+\.remat[\w.-]*) =", hlo))),
            "collectives": listed(xla_text.collectives(hlo, devices))}


def load():
    return json.load(open(FIGURES)) if os.path.exists(FIGURES) else {}


def dump(figures):
    lines = []
    for name, row in sorted(figures.items()):
        own = json.dumps({k: v for k, v in row.items() if k != "collectives"})[:-1]
        lists = ",\n   ".join(map(json.dumps, row.get("collectives", [])))
        lines.append(' "%s": %s%s}' % (name, own, ', "collectives": [\n   %s]' % lists if "collectives" in row else ""))
    with open(FIGURES + ".new", "w") as f:
        f.write("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(FIGURES + ".new", FIGURES)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="tpu,gpu,cpu")
    parser.add_argument("--rows", default="*")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--keep")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    o = parser.parse_args(argv)
    if o.one:
        print(json.dumps(compile_row(next(row for row in rows.ROWS if rows.name_of(row) == o.one), o.keep)))
        return
    for row in rows.ROWS:
        name = rows.name_of(row)
        if row.target not in o.targets.split(",") or not fnmatch.fnmatchcase(name, o.rows) or (name in load() and not o.again):
            continue
        start = time.monotonic()
        words = [sys.executable, os.path.abspath(__file__), "--one", name, *(("--keep", o.keep) if o.keep else ())]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=o.seconds)
        except subprocess.TimeoutExpired:
            print(name, "not compiled in %d s" % o.seconds, flush=True)
            continue
        seconds = round(time.monotonic() - start)
        if done.returncode:
            print(name, "failed after %d s:" % seconds, done.stderr.strip()[-600:], flush=True)
            continue
        dump({**load(), name: json.loads(done.stdout.splitlines()[-1])})
        print(name, "%d s" % seconds, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
