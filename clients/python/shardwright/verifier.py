"""Compile what the searches of a daemon planned: python -m shardwright.verifier --server URL

Takes searches that were asked with {"verify": K}, one after the other, on any machine with jax (and libtpu, for plans for TPU). Each is
taken by lease: while it is compiled, heartbeats tell the daemon that this process lives. A verifier that dies loses its lease, and the
search is another one's; a daemon that dies is waited for. SHARDWRIGHT_TOKEN: an access token with the scope admin, where the daemon has tokens.
"""
import argparse
import gzip
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from .candidates import candidates
from .daemon import Refused, request, strategy_of
from .errors import Error, NoAnswer
from .progress import Progress
from .shardings import JSON
from .source import Source
from .verification import answered, best_of, compiled

T = TypeVar("T")
PAUSES = (0.5, 1, 2, 5, 10, 30)     # between tries to reach a daemon that does not answer
BEATS_PER_LEASE = 4
LOOK_SECONDS = 0.25
MOST_ERROR = 4000


class Stopped(Exception):
    """SIGTERM or SIGINT."""


class Verifier:
    def __init__(self, options: argparse.Namespace):
        self.options, self.stop = options, threading.Event()
        self.name = options.name or "%s:%d" % (socket.gethostname(), os.getpid())

    def say(self, text: str) -> None:
        print("verifier: " + text, file=sys.stderr, flush=True)

    def post(self, path: str, body: JSON, compress: bool = False) -> JSON | None:
        """The answer, None where it is empty; tried again until the daemon is there. Refused as the daemon says."""
        content, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        if compress:
            content, headers["Content-Encoding"] = gzip.compress(content, 6, mtime=0), "gzip"
        answer = self.patiently(lambda: request(self.options.server, "POST", path, content, headers))
        return dict(json.loads(answer)) if answer else None

    def patiently(self, ask: Callable[[], T]) -> T:
        """What the daemon says, tried again until it is there. Refused as it says."""
        tries = 0
        while True:
            try:
                return ask()
            except NoAnswer as error:
                self.say("%s; trying again" % error)
            except Refused as error:
                if error.status < 500 and error.status != 429:
                    raise
                self.say("%s; trying again" % error)
            if self.stop.wait(PAUSES[min(tries, len(PAUSES) - 1)]):
                raise Stopped
            tries += 1

    def run(self) -> None:
        while not self.stop.is_set():
            task = self.post("/v1/verifications/claim", {"verifier": self.name, "lease_seconds": self.options.lease,
                                                         **({"devices": self.options.device} if self.options.device else {})})
            if task:
                self.verify(task)
            elif self.options.once:
                return
            else:
                self.stop.wait(self.options.poll)

    def verify(self, task: JSON) -> None:
        """Of one search, from its lease to the daemon's receipt."""
        self.say("search %s, strategy %s, attempt %d" % (task["search"], task["strategy"], task["attempt"]))
        path, over, lost = "/v1/verifications/" + urllib.parse.quote(task["search"]), threading.Event(), threading.Event()
        heart = threading.Thread(target=self.beat, args=(path, task["attempt"], over, lost), daemon=True)
        heart.start()
        try:
            result = self.compile(task, lost)
        finally:
            over.set()
            heart.join()
        if self.stop.is_set():
            self.let_go(path, task["attempt"])
        elif not lost.is_set():
            self.answer(path, dict(result, attempt=task["attempt"]))

    def compile(self, task: JSON, lost: threading.Event) -> JSON:
        try:
            path = "/v1/modules/%s.mlir" % urllib.parse.quote(task["module"], safe=":")
            text = self.patiently(lambda: request(self.options.server, "GET", path, timeout=600)).decode()
            document, module = self.patiently(lambda: strategy_of(self.options.server, task["strategy"]))
            source = Source(text, self.options.tool, task["device_profile"])
            found = candidates(source, document, module, task["plans"], document.get("compiler_options"))
            with Progress(True) as show:
                rows = compiled(source, found, seconds=self.options.seconds, processes=self.options.processes, target=self.options.target,
                                show=show, stop=lost)
        except Error as error:
            return {"error": str(error)[:MOST_ERROR] or "no words"}
        at = best_of(rows)
        result: JSON = {"verifications": rows}
        if at is not None and answered(found[at]) is not document:
            result["document"] = json.dumps(answered(found[at]))
        return result

    def beat(self, path: str, attempt: int, over: threading.Event, lost: threading.Event) -> None:
        """lost is set when the search is another one's, or when this process is to end."""
        next_beat = time.monotonic()
        while not over.wait(LOOK_SECONDS):
            if self.stop.is_set():
                lost.set()
                return
            if time.monotonic() < next_beat:
                continue
            next_beat = time.monotonic() + self.options.lease / BEATS_PER_LEASE
            try:
                request(self.options.server, "POST", path + "/heartbeat",
                        json.dumps({"attempt": attempt, "lease_seconds": self.options.lease}).encode(), {"Content-Type": "application/json"})
            except NoAnswer:
                continue        # a daemon that comes back takes the result of an attempt that nobody else has begun
            except Refused as error:
                if error.status in (404, 409):
                    self.say(str(error))
                    lost.set()
                    return

    def let_go(self, path: str, attempt: int) -> None:
        """Another verifier need not wait for the end of the lease."""
        try:
            request(self.options.server, "POST", path + "/heartbeat", json.dumps({"attempt": attempt, "lease_seconds": 1}).encode(),
                    {"Content-Type": "application/json"}, timeout=5)
        except Error:
            pass

    def answer(self, path: str, result: JSON) -> None:
        try:
            said = self.post(path + "/result", result, compress=True) or {}
            self.say(("failed: " + result["error"]) if "error" in result else "answered: strategy %s" % said.get("strategy"))
        except Refused as error:
            self.say(str(error))
            if error.status in (400, 413) and "document" in result:     # over the limits: the search keeps its own answer
                rows = [{key: value for key, value in row.items() if key != "chosen"} for row in result["verifications"]]
                self.answer(path, {"attempt": result["attempt"], "verifications": rows})
            elif error.status in (400, 413) and "error" not in result:
                self.answer(path, {"attempt": result["attempt"], "error": "the result was refused: %s" % str(error)[:MOST_ERROR - 100]})


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m shardwright.verifier", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=os.environ.get("SHARDWRIGHT_SERVER"), help="URL of the daemon; default: SHARDWRIGHT_SERVER")
    parser.add_argument("--device", action="append", help="take plans for this device profile only; may be repeated")
    parser.add_argument("--target", choices=("tpu", "gpu", "cpu"), help="compiler; default: the device's own where it is installed")
    parser.add_argument("--seconds", type=float, default=1800, help="time limit of each compile (1800)")
    parser.add_argument("--processes", type=int, help="compiles at a time (half of the cores)")
    parser.add_argument("--lease", type=float, default=60, help="seconds without a heartbeat after which a search is free again (60)")
    parser.add_argument("--poll", type=float, default=2, help="seconds between two looks at an empty queue (2)")
    parser.add_argument("--once", action="store_true", help="end when the queue is empty")
    parser.add_argument("--name", help="shown in the queue; default: host and process id")
    parser.add_argument("--tool", help="path of shardwright; default: SHARDWRIGHT, the one in the wheel, the PATH")
    options = parser.parse_args(argv)
    if not options.server:
        parser.error("--server URL or SHARDWRIGHT_SERVER is needed")
    return options


def main(argv: list[str]) -> int:
    verifier = Verifier(_options(argv))

    def end(_number: int, _frame: FrameType | None) -> None:
        verifier.stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        verifier.run()
    except Stopped:
        pass
    except Error as error:
        print("shardwright.verifier: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
