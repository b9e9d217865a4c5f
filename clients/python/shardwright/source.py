"""What plans are written and costed from: a program, and the tool and device they are planned with."""
import dataclasses
import json
import re

from .shardings import JSON
from .tool import Folder, find_tool, run_tool


@dataclasses.dataclass(frozen=True)
class Source:
    """text     StableHLO, what the tool reads
    tool     its path; None: as find_tool finds it
    profile  of the device, where it is one of the user's own"""
    text: str
    tool: str | None = None
    profile: JSON | None = None

    def device_words(self, folder: Folder) -> list[str]:
        return ["--device-file", folder.file("device.json", self.profile)] if self.profile else []

    def _run(self, verb: str, document: JSON, *words: str, out: str | None = None) -> str:
        with Folder() as folder:
            line = [verb, folder.file("module.mlir", self.text), "--strategy", folder.file("plan.json", document), *words]
            line += ["-o", folder.path(out)] if out else self.device_words(folder)
            said = run_tool(find_tool(self.tool), *line, codes=(0,) if out else (0, 2))
            if not out:
                return said
            with open(folder.path(out)) as f:
                return f.read()

    def applied(self, document: JSON, way: str) -> str:
        """The module that carries a strategy; Error where the program of one device cannot be written."""
        return self._run("apply", document, "--apply", way, out="applied.mlir")

    def cost(self, document: JSON) -> JSON:
        """The cost object of a strategy, applied as its document says."""
        return dict(json.loads(self._run("evaluate", document, "--json")))

    def explained(self, document: JSON) -> str:
        return self._run("explain", document)


def without_locations(text: str) -> str:
    return re.sub(r"^#loc.*\n| loc\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\([^()]*\))*\)", "", text, flags=re.MULTILINE)


def alternatives_of(document: JSON) -> list[JSON]:
    """The other plans of a search as strategy documents of their own: each says only what is different."""
    common = {key: value for key, value in document.items() if key not in ("alternatives", "decisions", "actions", "simpler")}
    return [{**common, **other} for other in document.get("alternatives", ())]
