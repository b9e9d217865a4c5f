"""What the package raises and warns with."""


class Error(Exception):
    """The search failed, or a plan cannot do what was asked. The message says what to do."""


class NoAnswer(Error):
    """Nobody answered in time: no daemon there, or the time ran out. plan(.., fallback=..) catches it."""


class PlanWarning(UserWarning):
    """The plan is not what was asked for: a fallback, something lost on the way to jax.jit, pins that cost."""


for _public in (Error, NoAnswer, PlanWarning):
    _public.__module__ = "shardwright"      # as people catch them, and as tracebacks name them
