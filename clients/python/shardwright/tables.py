"""A strategy document as text."""
import re
from typing import Any

from .shardings import JSON, sharding_text


def duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return "%.4g %s" % (ns / size, unit)
    return "%d ns" % ns


def size(count: float) -> str:
    for unit, bytes_of in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= bytes_of:
            return "%.2f %s" % (count / bytes_of, unit)
    return "%d B" % count


def price(name: str, step: float, peak: float, note: str = "") -> str:
    return ("%-24s %12s %12s  %s" % (name, duration(step), size(peak), note)).rstrip()


def document_table(document: JSON) -> str:
    """One line per argument group with equal shapes and shardings, then cost and baselines."""
    rows: dict[tuple[str, ...], int] = {}
    for a in document["arguments"]:
        name = re.sub(r"\[\d+\]", "[*]", a["name"])
        key = (name, a["type"], sharding_text(a["sharding"], a.get("priority")), a["role"])
        rows[key] = rows.get(key, 0) + 1
    lines: list[tuple[str, ...]] = [("argument", "type", "sharding", "role", "count")]
    lines += [(*key, str(count)) for key, count in rows.items()]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    out = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    out += ["", "%-24s %12s %12s" % ("", "step", "peak")]

    def row(name: str, cost: JSON, fits: bool) -> str:
        return price(name, cost["runtime_ns"], cost["peak_bytes"], "" if fits else "does not fit")

    out.append(row("this plan", document["cost"], document["fits"]))
    out += [row(b["name"], b["cost"], b["fits"]) for b in document["baselines"]]
    out.append("")
    moved: dict[str, Any] = document["cost"]["collectives"]
    out += ["%-24s %8d per step %12s" % (kind, c["dynamic_count"], size(c["bytes"])) for kind, c in sorted(moved.items()) if c["count"]]
    out += ["%s not understood, treated as replicated: %d times, first at %s" % (u["op"], u["count"], u["location"])
            for u in document["unsupported"]]
    return "\n".join(out).rstrip() + "\n"
