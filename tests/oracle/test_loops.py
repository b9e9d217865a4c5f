"""Trip counts that we read off a program against those that XLA notes in the compiled one (known_trip_count)."""
import json
import re

import pytest

from child import forked
from test_package import planner, start


# How often the innermost body runs, None where the program does not say it. Long enough that XLA does not unroll them.
TRIPS = {"fori": 40, "fori_from": 33, "scan": 41, "scan_reverse": 42, "map": 43, "at_most": 38, "by_three": 14, "down": 40, "computed": 40,
         "nested": 21 * 17, "carried": 21 * 17, "argument": None, "early": None, "dynamic": None}
BOUNDS = {"early": 40}


def loops():
    """name -> function of x [8] and n ()."""
    import jax
    import jax.numpy as jnp

    def body(_, x):
        return jnp.tanh(x) * 2

    def until(condition, start, step):
        return lambda x, n: jax.lax.while_loop(lambda s: condition(s[0], n), lambda s: (s[0] + step, body(0, s[1])), (jnp.int32(start), x))[1]

    def nested(x, n):
        return jax.lax.fori_loop(0, 21, lambda i, x: jax.lax.fori_loop(0, 17, body, x), x)

    def carried(x, n):
        """The inner loop's end is a number that the outer one carries along."""
        def outer(state):
            i, end, x = state
            return i + 1, end, jax.lax.while_loop(lambda s: s[0] < end, lambda s: (s[0] + 1, body(0, s[1])), (jnp.int32(0), x))[1]
        return jax.lax.while_loop(lambda s: s[0] < 21, outer, (jnp.int32(0), jnp.int32(17), x))[2]

    return {
        "fori": lambda x, n: jax.lax.fori_loop(0, 40, body, x),
        "fori_from": lambda x, n: jax.lax.fori_loop(7, 40, body, x),
        "scan": lambda x, n: jax.lax.scan(lambda c, i: (body(0, c) + i, None), x, jnp.arange(41.0))[0],
        "scan_reverse": lambda x, n: jax.lax.scan(lambda c, i: (body(0, c) + i, None), x, jnp.arange(42.0), reverse=True)[0],
        "map": lambda x, n: jax.lax.map(lambda i: jnp.tanh(x + i), jnp.arange(43.0)).sum(0),
        "at_most": until(lambda i, n: i <= 40, 3, 1),
        "by_three": until(lambda i, n: i < 40, 0, 3),
        "down": until(lambda i, n: i > 0, 40, -1),
        "computed": until(lambda i, n: i < jnp.maximum(jnp.int32(5) * jnp.int32(8), 3), 0, 1),
        "nested": nested,
        "carried": carried,
        "argument": until(lambda i, n: i < n, 0, 1),
        "early": lambda x, n: jax.lax.while_loop(lambda s: (s[0] < 40) & (s[1][0] < 1e9), lambda s: (s[0] + 1, body(0, s[1])), (jnp.int32(0), x))[1],
        "dynamic": lambda x, n: jax.lax.fori_loop(0, n, body, x),
    }


def minted(name):
    """StableHLO text, counts that XLA noted."""
    import jax
    import jax.numpy as jnp
    lowered = jax.jit(loops()[name]).lower(jax.ShapeDtypeStruct((8,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32))
    return lowered.as_text(debug_info=True), [int(n) for n in re.findall(r'known_trip_count":\{"n":"(\d+)"', lowered.compile().as_text())]


@pytest.mark.parametrize("name", TRIPS)
def test_trip_counts(tool, name):
    text, noted = forked(minted, name)
    product = 1
    for n in noted:
        product *= n
    assert product == (TRIPS[name] or 1), noted
    cost = json.loads(tool("simulate", tool.file(text), "--json", "--ops"))
    assert ("uncounted_loops" in cost) == (TRIPS[name] is None)
    assert max(o["executions"] for o in cost["ops"] if o["name"] == "stablehlo.tanh") == (TRIPS[name] or BOUNDS.get(name, 1))


def planned(path):
    start()
    import jax
    import jax.numpy as jnp

    def generate(w, x, n):
        return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.tanh(s[1] @ w)), (0, x))[1]

    args = jax.ShapeDtypeStruct((256, 256), jnp.float32), jax.ShapeDtypeStruct((64, 256), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
    ask = planner(path)
    plans = [ask(generate, *args, mesh="data=2", trip_count=n, evaluations=20, pins=['x:[["data"],[]]']) for n in (None, 50)]
    return [(plan.document.get("trip_count"), plan.cost["runtime_ns"], plan.cost["uncounted_loops"][0]["trips"]) for plan in plans]


def test_plan_takes_a_trip_count(tool):
    once, fifty = forked(planned, tool.path)
    assert once[::2] == (None, 1) and fifty[::2] == (50, 50)
    assert 20 * once[1] < fifty[1] <= 50 * once[1]
