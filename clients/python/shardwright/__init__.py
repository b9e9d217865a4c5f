"""Plan the sharding of a JAX program with Shardwright, and run it as planned.

    import jax, shardwright
    step = jax.jit(train_step, donate_argnums=(0, 1))
    plan = shardwright.plan(step, params, opt_state, batch, mesh="data=4,model=2", memory="16GiB")
    print(plan.table())
    params, opt_state, loss = plan.fn(params, opt_state, batch)

The module that is searched is what jax.jit(step).lower(*args) prints, so only shapes and types of the arguments matter.
The search runs in the command line tool or, with `server=` or SHARDWRIGHT_SERVER, in a daemon, which remembers answers.
Standard library only; jax is imported when it is needed.
"""
from .errors import Error, NoAnswer, PlanWarning
from .executable import COMPILES_WITH, PlannedFunction
from .request import plan
from .strategy import Plan, load
from .version import __version__

__all__ = ["COMPILES_WITH", "Error", "NoAnswer", "Plan", "PlanWarning", "PlannedFunction", "__version__", "load", "plan"]
