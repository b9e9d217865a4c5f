"""What a search or a verification is doing, on standard error, where somebody looks at it."""
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .shardings import JSON
from .tables import duration, size


def _words(event: JSON) -> str:
    if event.get("event") == "incumbent":
        note = "" if event.get("fits") else " (does not fit yet)"
        return "%d evaluations: best %s, %s%s" % (event["evaluation"], duration(event["runtime_ns"]), size(event["peak_bytes"]), note)
    if event.get("event") == "progress":
        return "%d evaluations, %.1f s" % (event["evaluation"], event["seconds"])
    return str(event.get("text", event.get("event", "")))


class Progress:
    """Shows events. wanted: None shows them on a terminal, with rich or tqdm where one is installed; True always; False never;
    a function is called with each event, a dict. Use as a context."""

    def __init__(self, wanted: bool | Callable[[JSON], Any] | None):
        self.call = wanted if callable(wanted) else None
        self.on = bool(self.call) or wanted is True or (wanted is None and sys.stderr is not None and sys.stderr.isatty())
        self.status: Any = None
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        if self.on and not self.call:
            try:
                from rich.console import Console
                self.status = Console(stderr=True).status("shardwright")
                self.status.start()
            except ImportError:
                try:
                    from tqdm import tqdm
                    self.bar = tqdm(bar_format="{desc}", file=sys.stderr)
                except ImportError:
                    pass
        return self

    def __call__(self, event: JSON) -> None:
        if self.call:
            self.call(event)
        elif self.status:
            self.status.update("shardwright: " + _words(event))
        elif self.bar:
            self.bar.set_description_str("shardwright: " + _words(event))
        elif self.on and event.get("event") != "progress":
            print("shardwright: " + _words(event), file=sys.stderr)

    def line(self, text: str) -> None:
        """A line that stays. Shown even without a terminal: compiles take minutes."""
        if self.call:
            self.call({"event": "verify", "text": text})
        elif self.status:
            self.status.console.print(text, markup=False, highlight=False)
        elif self.bar:
            self.bar.write(text, file=sys.stderr)
        elif self.on:
            print(text, file=sys.stderr)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.status:
            self.status.stop()
        if self.bar:
            self.bar.close()
