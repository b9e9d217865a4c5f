"""What the package raises and warns with."""
import os
import sys
import warnings

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(Exception):
    """The search failed, or a plan cannot do what was asked. The message says what to do."""


class NoAnswer(Error):
    """Nobody answered in time: no daemon there, or the time ran out. plan(.., fallback=..) catches it."""


class PlanWarning(UserWarning):
    """The plan is not what was asked for: a fallback, something lost on the way to jax.jit, pins that cost."""


for _public in (Error, NoAnswer, PlanWarning):
    _public.__module__ = "shardwright"      # as people catch them, and as tracebacks name them


def warn(said: str) -> None:
    """A PlanWarning at the line outside of the package that asked."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
        frame, level = frame.f_back, level + 1
    warnings.warn(said, PlanWarning, stacklevel=level)
