"""What XLA's scheduled HLO text says about communication and work, read with regular expressions only.

This is the independent side of the comparison: it shares nothing with the HLO reader of the tool.

How the text is counted:
- an instruction counts as often as its computation runs: trip counts as the CPU and GPU compilers note them; TPU text has no
  note, its loops count from 0 to the constant of their condition. Loops of which neither is known count once;
- the asynchronous halves of a collective are one; TPU repeats a gather in every fusion that overlaps it, of which the one
  that starts it counts;
- a TPU fusion that calls all-reduce-scatter is a reduce-scatter of what goes into it (what is reduced in it may be padded);
- bytes are those of the larger side; a combined instruction has one part per operand. The tuple form of all-to-all is one
  part: its operands are pieces of one value;
- what lies between the two halves of an asynchronous collective is what XLA lets it hide behind.
"""
import collections
import re

WIDTH = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8,
         "c64": 8, "c128": 16, "f8e4m3fn": 1, "f8e5m2": 1, "s4": 1, "u4": 1}
KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
Instruction = collections.namedtuple("Instruction", "name shape op operands line")
# parts: [(element type, bytes of the larger side)]; group: devices per group, None of a permutation; written: bytes of the
# instruction itself, padding included; behind: TPU's estimated cycles between its halves, 0 of synchronous ones
Collective = collections.namedtuple("Collective", "kind parts group times written behind")


def parts_of(shape):
    """[(element type, bytes)] of the arrays in a shape."""
    out = []
    for dtype, dims in re.findall(r"\b([a-z]+\d*(?:e\dm\d\w*)?)\[([\d,]*)\]", shape):
        count = WIDTH[dtype]
        for d in filter(None, dims.split(",")):
            count *= int(d)
        out.append((dtype, count))
    return out


def parse(hlo):
    """-> ({computation: [Instruction]}, name of the entry)"""
    comps, entry, now = collections.OrderedDict(), None, None
    for line in hlo.splitlines():
        head = re.match(r"(ENTRY )?%([\w.-]+) \(.*\{$", line)
        if head:
            now = head[2]
            comps[now] = []
            entry = now if head[1] else entry
            continue
        found = re.match(r"\s+(?:ROOT )?%([\w.-]+) = (.*?) ([a-z][\w-]*)\((.*)", line)
        if found and now:
            inside = re.sub(r"/\*.*?\*/", "", found[4].split(")")[0])
            comps[now].append(Instruction(found[1], found[2], found[3], [o.strip().lstrip("%") for o in inside.split(",")], line))
    return comps, entry


def trips(comps, loop):
    noted = re.search(r'known_trip_count":\{"n":"(\d+)"', loop.line)
    if noted:
        return int(noted[1])
    condition = comps[re.search(r"condition=%([\w.-]+)", loop.line)[1]]
    bounds = [i.operands[0] for i in condition if i.op == "constant" and re.fullmatch(r"\d+", i.operands[0])]
    tests = [i for i in condition if i.op == "compare"]
    alone = len(tests) == 1 and "direction=LT" in tests[0].line and not any(i.op in ("and", "or", "fusion") for i in condition)
    return int(bounds[0]) if alone and len(bounds) == 1 else 1


def runs(comps, entry):
    """[(computation, times)] of what runs, fused computations left out."""
    out = []

    def walk(comp, times):
        out.append((comp, times))
        for i in comps[comp]:
            if i.op == "while":
                walk(re.search(r"body=%([\w.-]+)", i.line)[1], times * trips(comps, i))
            elif i.op == "call":
                walk(re.search(r"to_apply=%([\w.-]+)", i.line)[1], times)
            elif i.op == "conditional":
                branches = re.search(r"branch_computations=\{(.*?)\}", i.line)
                named = branches[1].split(",") if branches else re.findall(r"(?:true|false)_computation=(%[\w.-]+)", i.line)
                for branch in named:
                    walk(branch.strip().lstrip("%"), times)
    walk(entry, 1)
    return out


def group_size(line, devices):
    """Devices of a group, in the four ways that groups are written."""
    listed = re.search(r"replica_groups=\{(\{[\d,]+\})?", line)
    if listed:
        return len(listed[1].strip("{}").split(",")) if listed[1] else devices
    iota = re.search(r"replica_groups=\[(\d+),(\d+)\]<=", line)
    if iota:
        return int(iota[2])
    mesh = re.search(r"replica_groups=mesh\[(.*?)\](?:, device_ids=\S+)? \{(.*?)\}", line)
    sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
    size = 1
    for axis, part in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", mesh[2]):
        size *= int(part or sizes[axis])
    return size


def collectives(hlo, devices):
    """[Collective] in the order of the text."""
    comps, entry = parse(hlo)
    shapes = {(comp, i.name): i.shape for comp, found in comps.items() for i in found}

    def own(comp):
        for i in comps[comp]:
            sugar = re.fullmatch("(%s)(-start)?" % KINDS, i.op)
            if not sugar:
                continue
            parts = [part for o in i.operands for part in parts_of(shapes[comp, o])]
            if sugar[1] == "all-gather":
                # the result half of a start's pair
                halves = re.match(r"\((\(.*?\)|[^(),]*(?:\[[\d,]*\](?:\{[^}]*\})?)), (.*)\)$", i.shape) if sugar[2] else None
                parts = parts_of(halves[2] if halves else i.shape)
            if sugar[1] == "all-to-all":
                parts = [(parts[0][0], sum(size for _, size in parts))]
            channel = re.search(r"channel_id=(\d+)", i.line)
            group = None if sugar[1] == "collective-permute" else group_size(i.line, devices)
            yield Collective(sugar[1].replace("-", "_"), parts, group, 1, sum(size for _, size in parts), 0), channel and channel[1], i.name

    def marker(comp):
        joined = " ".join(i.line for i in comps[comp])
        return "start" if "AsyncCollectiveStart" in joined else "done" if "AsyncCollectiveDone" in joined else ""

    def scattered(comp, c):
        given = [part for i in comps[comp] if i.op == "parameter" for part in parts_of(i.shape)]
        return c._replace(kind="reduce_scatter", parts=[max(given, key=lambda part: part[1])])

    started = {channel for comp in comps if marker(comp) == "start" for _, channel, _ in own(comp)}
    out = []
    for comp, times in runs(comps, entry):
        spent, ends = 0, {}
        begun = {}  # name of a start or channel -> (index in out, cycles spent until then)
        of_comp = {name: (c, channel) for c, channel, name in own(comp)}
        for i in comps[comp]:
            spent += sum(map(int, re.findall(r'estimated_cycles":"(\d+)"', i.line)))
            if i.name in of_comp:
                begun[i.name] = len(out), spent
                out.append(of_comp[i.name][0]._replace(times=times))
            if i.op.endswith("-done") and i.operands[0] in begun:
                ends[i.operands[0]] = spent
            for inner in re.findall(r"calls=%([\w.-]+)", i.line) if i.op in ("fusion", "async-start") else ():
                for c, channel, _ in own(inner):
                    if i.op == "fusion" and marker(inner) == "done":
                        ends[channel] = spent
                    if i.op == "fusion" and (marker(inner) == "done" or (not marker(inner) and channel in started)):
                        continue
                    if marker(inner) == "start" or i.op == "async-start":
                        begun[channel if i.op == "fusion" else i.name] = len(out), spent
                    out.append((scattered(inner, c) if "all-reduce-scatter" in inner else c)._replace(times=times))
        for key, end in ends.items():
            if key in begun:
                index, start = begun[key]
                out[index] = out[index]._replace(behind=end - start)
    return out


def estimated_cycles(hlo):
    """What the TPU compiler estimates for one step, loops as often as they run."""
    comps, entry = parse(hlo)
    return sum(times * int(cycles) for comp, times in runs(comps, entry) for i in comps[comp]
               for cycles in re.findall(r'estimated_cycles":"(\d+)"', i.line))
