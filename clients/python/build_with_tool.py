"""Puts the built command line tool into the wheel, which then is for this platform only. Without one the wheel is pure Python.

SHARDWRIGHT_WHEEL_TOOL names the tool; default: build/shardwright of the repository that this folder lies in."""
import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        tool = os.environ.get("SHARDWRIGHT_WHEEL_TOOL") or os.path.join(self.root, "..", "..", "build", "shardwright")
        if not os.access(tool, os.X_OK):
            self.app.display_warning("no built tool at %s: the wheel takes it from the PATH" % tool)
            return
        build_data["force_include"][os.path.abspath(tool)] = "shardwright/bin/shardwright"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
