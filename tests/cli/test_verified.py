"""The table of verified answers: no answer is worse than a program that was compiled for it."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
JUDGED = os.path.join(HERE, "..", "judged")
OTHERS = {name: sys.modules.pop(name, None) for name in ("cases", "mint")}  # other folders have such files, too
sys.path.insert(0, os.path.join(HERE, "..", "..", "clients", "python"))
PATHS = list(sys.path)
sys.path.insert(0, JUDGED)
import verified  # noqa: E402
sys.path[:] = PATHS
for name, module in OTHERS.items():
    sys.modules.pop(name, None)
    if module:
        sys.modules[name] = module


def test_no_answer_is_worse_than_what_was_compiled():
    complete = {key: row for key, row in verified.load().items() if row["complete"]}
    assert len(complete) >= 9
    for key, row in complete.items():
        searched, answer, _ = verified.summary(row)
        compiled = [p for p in row["programs"] if not p["plan"].startswith("written: ")]
        fitting = [p["runtime_ns"] for p in compiled if p["fits"] and p["reason"] is None]
        assert answer == min(fitting) and (searched is None or answer <= searched), key
        assert compiled[0]["plan"] == "this plan" and len({p["module"] for p in compiled}) == len(compiled) > 1, key


def test_figures_of_the_same_module_are_taken(monkeypatch):
    """Those of figures.json where both clocks agree; a row of the table's own goes before it."""
    memory = {"argument_bytes": 8, "output_bytes": 4, "temp_bytes": 2, "alias_bytes": 1}
    row = {"memory": memory, "compile_s": 1.0, "xla": {"step": 100.0}}
    monkeypatch.setattr(verified.mint, "load", lambda: {
        "a": {**row, "module": "near", "simulated_ns": 100100}, "b": {**row, "module": "far", "simulated_ns": 103000},
        "c": {**row, "module": "own", "simulated_ns": 100000}, "d": {"module": "failed", "compile_s": 1.0, "error": "no"}})
    own = {"module": "own", "runtime_ns": 7}
    known = verified.known_rows({"case": {"programs": [own]}})
    assert set(known) == {"near", "own"} and known["own"] is own
    assert known["near"]["runtime_ns"] == 100100 and known["near"]["peak_bytes"] == 13
