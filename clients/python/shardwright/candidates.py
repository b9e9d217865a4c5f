"""Programs that may be the answer: a strategy, its alternatives and the best baseline, each in both ways of applying it."""
import dataclasses
from collections.abc import Iterator
from typing import Any

from .errors import Error, warn
from .request import FALLBACKS, baseline_request
from .shardings import JSON
from .source import Source, alternatives_of, without_locations
from .tool import ask_tool, find_tool

WAYS = ("exact", "annotate")
LEAST_WITH_BASELINE = 3     # of fewer programs, none is kept for a baseline


@dataclasses.dataclass
class Candidate:
    """name      "this plan", "alternative 1", or a baseline's
    document  the strategy, with the cost that it has in the way it is applied
    module    StableHLO that carries it; None: not written yet
    options   XLA's, by name"""
    name: str
    document: JSON
    module: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def way(self) -> str:
        return str(self.document.get("apply", "annotate"))


def candidates(source: Source, document: JSON, module: str, count: int, options: dict[str, Any] | None = None) -> list[Candidate]:
    """At most count programs, no two of them equal: the strategy as it is, then the others, fitting and fast ones first by prediction.

    One of three or more is the best baseline that fits. With compiler options of the plan's own, each is there with and without them."""
    first = Candidate("this plan", document, module)
    others, baseline = (_others(source, first), _best_baseline(source, document)) if count > 1 else ([], [])
    made: list[Candidate] = []
    seen: set[tuple[str, str]] = set()
    for one in _in_order(first, others, baseline, count, made):
        try:
            text = one.module or source.applied(one.document, one.way)
        except Error as error:          # the program of one device cannot always be written
            warn("%s is not verified: %s" % (one.name, error))
            continue
        for said in ([options, {}] if options else [{}]):
            key = without_locations(text), repr(sorted(said.items()))
            if key not in seen and len(made) < count:
                seen.add(key)
                made.append(dataclasses.replace(one, module=text, options=said))
    return made


def _in_order(first: Candidate, others: list[Candidate], baseline: list[Candidate], count: int, made: list[Candidate]) -> Iterator[Candidate]:
    """made grows between two steps: the last place is kept for a baseline until there is one."""
    rest = sorted(others + baseline, key=_place)
    yield first
    for one in rest:
        if len(made) >= count:
            return
        kept = count >= LEAST_WITH_BASELINE and not any(m.name == b.name for m in made for b in baseline)
        if kept and len(made) == count - 1:
            yield from sorted(baseline, key=_place)
        yield one


def _place(one: Candidate) -> tuple[bool, int]:
    return not one.document["fits"], one.document["cost"]["runtime_ns"]


def _others(source: Source, first: Candidate) -> list[Candidate]:
    found = list(_ways(source, first.name, first.document, (WAYS[first.way == "exact"],)))
    for i, other in enumerate(alternatives_of(first.document), 1):
        found += _ways(source, "alternative %d" % i, other, WAYS)
    return found


def _ways(source: Source, name: str, document: JSON, ways: tuple[str, ...]) -> Iterator[Candidate]:
    """The strategy in these ways, with the cost that it has so."""
    for way in ways:
        if way == document.get("apply", "annotate"):
            yield Candidate(name, document)
            continue
        other = dict(document, apply=way)
        try:
            other["cost"] = source.cost(other)
        except Error as error:
            warn("%s is not verified: %s" % (name, error))
            continue
        other["fits"] = other["cost"]["peak_bytes"] <= other["memory_limit_bytes"]
        yield Candidate(name, other)


def _best_baseline(source: Source, document: JSON) -> list[Candidate]:
    """The fastest textbook plan that fits, in both ways; none where none fits."""
    fitting = [b for b in document["baselines"] if b["fits"] and b["name"] in FALLBACKS]
    if not fitting:
        return []
    name = min(fitting, key=lambda b: b["cost"]["runtime_ns"])["name"]
    asked = document.get("search", {})          # a baseline that does not keep what the user asked for is no answer
    wanted: JSON = {"mesh": document["mesh"], "memory": "%dB" % document["memory_limit_bytes"], "device": source.profile or document["device"],
                    "apply": document.get("apply"), "pins": asked.get("pins", []), "forbids": asked.get("forbids", []),
                    "groups": [group["glob"] for group in document.get("groups", [])], "open_results": asked.get("open_results"),
                    "trip_count": document.get("trip_count")}
    answer, _ = ask_tool(find_tool(source.tool), source.text, baseline_request(wanted, name), None, None)
    return list(_ways(source, name, answer, WAYS))
