"""Find and run the command line tool."""
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from typing import IO, Any

from .errors import Error, NoAnswer, warn
from .shardings import JSON
from .version import __version__

FLAGS = {"mesh": "--mesh", "device": "--device", "memory": "--memory", "objective": "--objective", "schedule": "--schedule",
         "evaluations": "--evaluations", "seconds": "--seconds", "seed": "--seed", "threads": "--threads", "apply": "--apply",
         "compiler_options": "--compiler-options", "alternatives": "--alternatives", "trip_count": "--trip-count",
         "uncertainty_ppm": "--uncertainty-ppm", "priors": "--priors"}
GRACE_SECONDS = 10


def find_tool(named: str | None = None) -> str:
    """Path of the tool: the one named, SHARDWRIGHT, the one in the wheel, the PATH. Error if there is none or it is another version."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "shardwright")
    wanted = named or os.environ.get("SHARDWRIGHT") or (inside if os.access(inside, os.X_OK) else "shardwright")
    path = shutil.which(wanted)
    if not path:
        raise Error("no tool %r: put shardwright on the PATH or name it in SHARDWRIGHT" % wanted)
    version = _version(path, os.stat(path).st_mtime_ns)
    if version != __version__:
        raise Error("the tool %s is version %s, this package is %s: build both from one checkout (make && pip install ./clients/python)"
                    % (path, version, __version__))
    return path


@functools.lru_cache
def _version(path: str, _changed: int) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Error("the tool %s does not run: %s" % (path, error)) from None
    found = re.match(r"shardwright (\S+)", done.stdout)
    if not found:
        said = (done.stderr or done.stdout).strip()[:300]
        raise Error("%s is not shardwright: --version says %r" % (path, said))
    return found[1]


class Folder:
    """A temporary folder with the files of one call."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="shardwright-")

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def path(self, name: str) -> str:
        return os.path.join(self._folder.name, name)

    def file(self, name: str, content: Any) -> str:
        path = self.path(name)
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return path


def _complaint(said: str) -> str:
    """What the tool says is wrong, for an exception that says itself that it is an error."""
    return said.strip().removeprefix("error: ")


def run_tool(tool: str, *words: str, codes: tuple[int, ...] = (0, 2), timeout: float | None = None) -> str:
    """Standard output of one call. Error with what it said otherwise."""
    try:
        done = subprocess.run([tool, *words], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise NoAnswer("%s %s: no answer within %s s" % (tool, words[0], timeout)) from None
    if done.returncode not in codes:
        raise Error(_complaint(done.stderr) or "%s: exit %d" % (tool, done.returncode))
    return done.stdout


def search_words(folder: Folder, wanted: JSON) -> list[str]:
    """The flags of `shardwright search` for what plan() was asked."""
    words: list[str] = []
    for key, flag in FLAGS.items():
        value = wanted.get(key)
        if value is None:
            continue
        if isinstance(value, dict):
            flag = "--device-file" if key == "device" else flag
            value = folder.file(key + ".json", value)
        words += [flag, str(value)]
    for key, flag in (("pins", "--pin"), ("forbids", "--forbid"), ("groups", "--group")):
        for value in wanted.get(key, ()):
            words += [flag, value]
    if wanted.get("open_results"):
        words.append("--open-results")
    return words


def _listen(stream: IO[str], said: list[str], show: Callable[[JSON], None] | None) -> None:
    for line in stream:
        if show and line.startswith('{"event"'):
            try:
                show(json.loads(line))
            except ValueError:
                said.append(line)
        else:
            said.append(line)


def ask_tool(tool: str, text: str, wanted: JSON, timeout: float | None, show: Callable[[JSON], None] | None) -> tuple[JSON, str]:
    """Search -> (strategy document, module that carries the plan); show gets the events. Once the time is over the best so far is the answer, with a
    warning; NoAnswer if there is none yet."""
    with Folder() as folder:
        out = folder.path("planned.mlir")
        words = [tool, "search", folder.file("module.mlir", text), "--json", "--emit-mlir", out]
        words += ["--progress-json"] if show else []
        said: list[str] = []
        with open(folder.path("answer.json"), "w+") as answer:
            process = subprocess.Popen([*words, *search_words(folder, wanted)], stdout=answer, stderr=subprocess.PIPE, text=True)
            assert process.stderr is not None
            listener = threading.Thread(target=_listen, args=(process.stderr, said, show), daemon=True)
            listener.start()
            stopped = False
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                stopped = True
                process.send_signal(signal.SIGTERM)         # the best so far is written
                try:
                    process.wait(GRACE_SECONDS)
                except subprocess.TimeoutExpired:
                    raise NoAnswer("no answer within %s s, and no plan yet when it was stopped" % timeout) from None
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                listener.join(GRACE_SECONDS)
                process.stderr.close()
            if stopped and process.returncode not in (0, 2, 130):
                raise NoAnswer("no answer within %s s, and no plan yet when it was stopped" % timeout)
            if process.returncode not in (0, 2, 130):
                raise Error(_complaint("".join(said)) or "%s: exit %d" % (tool, process.returncode))
            answer.seek(0)
            content = answer.read()
        if not content or not os.path.exists(out):
            raise NoAnswer("no answer within %s s" % timeout)
        for line in said:
            if line.startswith("warning: "):
                warn(line[len("warning: "):].strip())
        if stopped or process.returncode == 130:
            warn("the search was stopped after %s s: this is the best plan so far, not the one of the whole budget" % timeout)
        with open(out) as f:
            return json.loads(content), f.read()
