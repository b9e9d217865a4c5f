#!/usr/bin/env python3
"""Seconds that XLA takes for our answers and for the best hand-written plans, compiled one after the other.

    compile_seconds.py [--cases GLOB] [--times 2] [--seconds 900] [--tools DIR]

mint.py writes the seconds of the day on which a row was compiled, beside whatever else ran. Of every case with an answer that took over so
many times (--times) the best hand-written plan's, both are compiled again here, and figures.json gets these seconds, and that they are of a
compile alone. A row whose module is written in another way by now is left alone. Nothing else should run. Needs what mint.py needs.
"""
import fnmatch
import json
import os
import re
import tempfile

import bank
import cases
import mint
from answers import best_written


def module_of(case, key, folder, answers):
    """The file of the module of a row, None where it is another one by now."""
    _, plan, way = key.split(" | ")
    path = os.path.join(folder, "plan.json")
    if plan == "search":
        if key not in answers:
            return None
        with open(path, "w") as f:
            json.dump(answers[key], f)
    else:
        (_, path, _), = cases.hand_written(case, folder, 1, [plan])
    module = os.path.join(folder, re.sub(r"\W+", "_", key) + ".mlir")
    cases.run("apply", cases.corpus(case), "--strategy", path, "--apply", "annotate" if way == "same" else way, "-o", module)
    return module


def compiled(case, key, figures, answers, options):
    """Compiles a row's module again and keeps the seconds; whether it did."""
    with tempfile.TemporaryDirectory() as folder:
        module = module_of(case, key, folder, answers)
        if not module or bank.digest_of(module) != figures[key]["module"]:
            print("%s: written in another way by now" % key, flush=True)
            return False
        _, row = mint.compile_module(module, case, options)
    print("%-80s %6.1f s, was %6.1f" % (key, row["compile_s"], figures[key]["compile_s"]), flush=True)
    figures[key].update(compile_s=row["compile_s"], alone=True)
    mint.save(figures)
    return True


def main():
    parser = mint.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--cases", default="*", help="of those whose name this matches, such as 'moe *'")
    parser.add_argument("--times", type=float, default=2)
    options = parser.parse_args()
    figures, answers = mint.load(), mint.load_answers()
    for case in cases.CASES:
        name = cases.name_of(case)
        best = best_written(figures, name)
        slow = [key for key in ("%s | search | %s" % (name, way) for way in ("exact", "annotate", "same"))
                if best and key in figures and figures[key]["compile_s"] > options.times * figures[best]["compile_s"]]
        if slow and fnmatch.fnmatch(name, options.cases) and any([compiled(case, key, figures, answers, options) for key in slow]):
            compiled(case, best, figures, answers, options)


if __name__ == "__main__":
    main()
