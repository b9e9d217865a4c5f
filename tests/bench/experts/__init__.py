"""Hand-written sharding strategies, as functions from a program's argument names and types to strategy documents."""
from experts.families import experts_of  # noqa: F401
from experts.program import Program  # noqa: F401
