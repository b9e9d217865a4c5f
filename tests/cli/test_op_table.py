"""An op is a row of ir/ops.def: what else lists ops is known here, with the reason."""
import glob
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Switches over ops that are no columns: each asks for what these few ops mean together with their attributes or operands, or is a
# mapping between two of them, and every other op takes the default.
SPECIAL = {
    "lower/emit_ops.c": "contractions whose padding has to be masked, and ops whose attributes say whether shards are enough",
    "lower/emit_moves.c": "ops whose windows or positions reach into other parts: what is exchanged",
    "lower/partition_op.c": "how indices and windows choose the shardings that Shardy makes compatible",
    "lower/given.c": "which collective a stablehlo collective is",
    "lower/halo.c": "where a window's attributes stand in ops with windows",
    "lower/nest.c": "what may stand between a loop's value and the sum that leaves the loop",
    "lower/optimize_share.c": "ops that a sum over devices moves through, as XLA's rewrites do",
    "lower/optimize_sums.c": "the same for partial sums",
    "ir/attrs.c": "names of attributes of collectives",
    "propagate/passes_constants.c": "what Shardy copies with a constant",
    "propagate/passes_shardings.c": "ops whose text has a sharding beside the value's",
    "propagate/program.c": "ops that only hand a value on",
    "propagate/program_loops.c": "arithmetic of loop counters",
    "propagate/rules_gather.c": "reductions that a scatter can take over devices",
    "sbp/regions.c": "control flow, one function each",
    "simulator/memo.c": "classes of ops that share a cost memo",
    "simulator/turned.c": "ops that connect values which lie alike, and those that want rows with the last dim in the lanes",
}


def test_switches_over_ops_are_named():
    files = [name for form in ("*/*.[ch]", "*/*/*.[ch]") for name in glob.glob(form, root_dir=ROOT)]
    found = set()
    for name in files:
        if name.startswith(("tests/", "build/")):
            continue
        with open(os.path.join(ROOT, name)) as f:
            if re.search(r"\bcase OP_\w+|\[OP_(?!COUNT\])\w+\] *=", f.read()):
                found.add(name)
    assert len(files) > 200 and found == set(SPECIAL), "a switch over ops is either a column of ir/ops.def or named here: " + ", ".join(found ^ set(SPECIAL))
