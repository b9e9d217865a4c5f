"""One version for the package and the tool that it runs."""

__version__ = "0.1.0"
