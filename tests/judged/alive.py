#!/usr/bin/env python3
"""Which buffers are alive where XLA's temporaries have their peak, of one compiled plan: what to look at when a row's temporaries are far off.

    alive.py CASE PLAN [--way annotate|exact] [--most 20] [--seconds 900] [--tools DIR]
    alive.py --dump DIR [--most 20]

CASE and PLAN as in figures.json ("sampled data=4,model=4 tpu-v5e" "batch(data+model)"; "search": the kept answer). The plan is compiled with XLA's dumps;
--dump: those of an earlier compile. Prints the heap's size, what a first fit in program order takes, and what is alive at the peak: the heap is larger where it is fragmented.
Then a line a buffer: MiB, shape, first and last position of its life, the instruction that writes it.
Buffers on the chip are left out (memory spaces other than 0), as temporaries have none of them. Compiling needs what mint.py needs.
"""
import argparse
import collections
import glob
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
Buffer = collections.namedtuple("Buffer", "name bytes offset shape first last")
RANGE = re.compile(r"^ +(\S+?)(\{[\d,]*\}):(\d+)-(\d+)$", re.M)
HEAP = re.compile(r"^allocation \d+: size (\d+), page \d+, preallocated-temp:$")  # those of other memory spaces name a colour
VALUE = re.compile(r"^ value: <\d+ (\S+?)(\{[\d,]*\})? @\d+> \(size=(\d+),offset=(\d+)\): (\S+)")


def lives_of(text):
    """(name, index) -> first and last position, of a live-range dump."""
    return {m.group(1, 2): (int(m[3]), int(m[4])) for m in RANGE.finditer(text)}


def heap_of(assignment, lives):
    """(bytes of the heap of temporaries in main memory, its buffers), of a buffer-assignment dump."""
    size, buffers, inside = 0, [], False
    for line in assignment.split("\n"):
        if line.startswith("allocation "):
            heap = HEAP.match(line)
            inside, size = bool(heap), size + (int(heap[1]) if heap else 0)
        elif inside and (value := VALUE.match(line)):
            key = value[1], value[2] or "{}"
            if key in lives:
                buffers.append(Buffer("".join(key), int(value[3]), int(value[4]), value[5], *lives[key]))
    return size, buffers


def at_peak(buffers):
    """The buffers where most bytes are alive, largest first; of those in one place the first."""
    bytes_at, places, at_best, most = 0, collections.defaultdict(dict), 0, 0
    events = collections.defaultdict(lambda: ([], []))
    for buffer in buffers:
        events[buffer.first][0].append(buffer)
        events[buffer.last + 1][1].append(buffer)

    def largest(place):
        return max(places[place].values(), default=0)

    for at in sorted(events):
        begun, ended = events[at]
        for of, step in ((ended, lambda b: places[b.offset].pop(b)), (begun, lambda b: places[b.offset].update({b: b.bytes}))):
            for buffer in of:
                bytes_at -= largest(buffer.offset)
                step(buffer)
                bytes_at += largest(buffer.offset)
        if bytes_at > most:
            most, at_best = bytes_at, at
    alive = {}
    for buffer in sorted(buffers, key=lambda b: -b.bytes):
        if buffer.first <= at_best <= buffer.last:
            alive.setdefault(buffer.offset, buffer)
    return list(alive.values())


def intervals_of(buffers):
    """(bytes, first, last) of each place: values that follow one another in it, as in a loop or an update in place, are one."""
    by_offset = collections.defaultdict(list)
    for buffer in sorted(buffers, key=lambda b: (b.first, b.last)):
        held = by_offset[buffer.offset]
        if held and buffer.first <= held[-1][2]:
            size, first, last = held[-1]
            held[-1] = max(size, buffer.bytes), first, max(last, buffer.last)
        else:
            held.append((buffer.bytes, buffer.first, buffer.last))
    return [held for places in by_offset.values() for held in places]


def first_fit(intervals):
    """Bytes of a heap in which (bytes, first, last) get the lowest place that is free all their life, in program order; of those that begin together the larger first."""
    placed, top = [], 0
    for size, first, last in sorted(intervals, key=lambda i: (i[1], -i[0])):
        at = 0
        for begin, end in sorted((begin, end) for begin, end, begun, ended in placed if begun <= last and first <= ended):
            if begin - at >= size:
                break
            at = max(at, end)
        placed.append((at, at + size, first, last))
        top = max(top, at + size)
    return top


def dumps_of(folder):
    """[(buffer-assignment dump, live-range dump)], one a module that was compiled; jax compiles small ones beside the plan's."""
    for path in sorted(glob.glob(os.path.join(folder, "*after_optimizations-buffer-assignment.txt"))):
        with open(path) as assignment, open(path.replace("buffer-assignment", "live-range")) as lives:
            yield assignment.read(), lives.read()


def compile_plan(options, folder):
    """Leaves XLA's dumps of the plan in the folder."""
    sys.path.insert(0, HERE)  # here, as dumps are read without a compiler and without the tool
    import cases
    import mint
    from experts import Program, experts_of
    case = next((c for c in cases.CASES if cases.name_of(c) == options.case), None)
    if not case:
        sys.exit("%s: no case of cases.py" % options.case)
    mesh = {axis: int(size) for axis, size in (a.split("=") for a in case.mesh.split(","))}
    if options.plan == "search":
        plans = {"search": mint.load_answers().get(" | ".join((options.case, "search", options.way)))}
    else:
        plans = dict(experts_of(Program(case.program, cases.TOOL, cases.corpus(case)), mesh))
    if not plans.get(options.plan):
        sys.exit("%s: no such plan of %s; there are %s" % (options.plan, options.case, ", ".join(plans)))
    document, module = os.path.join(folder, "plan.json"), os.path.join(folder, "plan.mlir")
    with open(document, "w") as f:
        json.dump({**plans[options.plan], "apply": options.way}, f)
    cases.run("apply", cases.corpus(case), "--strategy", document, "--apply", options.way, "-o", module)
    os.environ["SHARDWRIGHT_DUMP"] = folder
    figures, row = mint.compile_module(module, case, options)
    if not figures:
        sys.exit(row.get("error") or row["out_of_memory"])


def show(folder, most):
    heaps = [heap_of(assignment, lives_of(lives)) for assignment, lives in dumps_of(folder)]
    if not heaps:
        sys.exit("%s: no dump of a buffer assignment" % folder)
    heap, buffers = max(heaps, key=lambda found: found[0])
    alive = at_peak(buffers)
    fitted = first_fit(intervals_of(buffers))
    print("heap of %.1f MiB, by first fit %.1f; %.1f MiB in %d buffers alive at the peak" % (heap / 2**20, fitted / 2**20, sum(b.bytes for b in alive) / 2**20, len(alive)))
    for buffer in alive[:most]:
        print("%9.1f  %-52s %5d-%-5d  %s" % (buffer.bytes / 2**20, buffer.shape, buffer.first, buffer.last, buffer.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?")
    parser.add_argument("plan", nargs="?")
    parser.add_argument("--way", default="annotate", choices=("annotate", "exact"))
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--tools", default=os.path.join(HERE, "..", "..", "..", "shared", "tools"))
    parser.add_argument("--dump")
    options = parser.parse_args()
    if options.dump:
        return show(options.dump, options.most)
    if not options.plan:
        parser.error("a case and a plan, or --dump DIR")
    with tempfile.TemporaryDirectory() as folder:
        compile_plan(options, folder)
        return show(folder, options.most)


if __name__ == "__main__":
    main()
