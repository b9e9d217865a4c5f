"""Ask a daemon, shardwrightd, which remembers answers."""
import gzip
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from .errors import Error, NoAnswer, warn
from .shardings import JSON


class Refused(Error):
    """The daemon answered with an error; status: of HTTP."""

    def __init__(self, status: int, said: str):
        super().__init__(said)
        self.status = status


def request(server: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, timeout: float = 60) -> bytes:
    """The body of the answer. Refused with the text of an RFC 9457 problem on a failure, NoAnswer where nobody is."""
    headers = dict(headers or {})
    token = os.environ.get("SHARDWRIGHT_TOKEN")
    if token:
        headers["Authorization"] = "Bearer " + token
    url = urllib.parse.urljoin(server.rstrip("/") + "/", path.lstrip("/"))
    asked = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")
        try:
            problem = json.loads(said)
            said = ": ".join(problem[word] for word in ("title", "detail") if problem.get(word))
        except (ValueError, TypeError, AttributeError):
            pass
        raise Refused(error.code, "%s %s: %d %s" % (method, path, error.code, said[:2000])) from None
    except urllib.error.URLError as error:
        raise NoAnswer("no daemon at %s: %s" % (server, error.reason)) from None
    except (OSError, http.client.HTTPException) as error:            # a time limit or a connection that broke while reading
        raise NoAnswer("no answer of the daemon at %s: %s" % (server, error)) from None


def ask_daemon(server: str, text: str, wanted: JSON, timeout: float | None, show: Callable[[JSON], None]) -> JSON:
    """Search on a daemon -> {"document", "module", "verifications", "strategy": its id}. With wanted["verify"], the verified answer if a verifier
    gives it in time, else the plan so far with a warning."""
    deadline = None if timeout is None else time.monotonic() + timeout
    patience = 60 if timeout is None else max(1.0, min(60.0, timeout))
    answer = request(server, "POST", "/v1/modules", gzip.compress(text.encode(), 6, mtime=0),
                     {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, timeout=patience)
    body: dict[str, Any] = dict(wanted, module=json.loads(answer)["id"])
    answer = request(server, "POST", "/v1/searches", json.dumps(body).encode(), {"Content-Type": "application/json"}, timeout=patience)
    search = json.loads(answer)
    path, until = "/v1/searches/" + urllib.parse.quote(search["id"], safe=":"), "&until=verified" if wanted.get("verify") else ""
    while (state := _under_way(search, bool(until))):
        left = 30 if deadline is None else min(30, int(deadline - time.monotonic()))
        if left <= 0:
            if search["state"] == "succeeded":
                break
            raise NoAnswer("no answer within %s s; search %s goes on" % (timeout, search["id"]))
        show({"event": state})
        search = json.loads(request(server, "GET", "%s?wait=%ds%s" % (path, left, until), timeout=left + 30))
    if search["state"] != "succeeded" or not search.get("strategy"):
        raise Error("search %s %s: %s" % (search.get("id"), search["state"], search.get("error") or search.get("detail") or "no strategy"))
    document, module = strategy_of(server, search["strategy"])
    rows: list[JSON] = []
    if until:
        job = search["verification"] or {}
        if job.get("state") == "done":
            rows = json.loads(request(server, "GET", path + "/verifications"))["verifications"]
        else:
            why = job.get("error") or "its verification is %s" % job.get("state")
            warn("the plan of search %s is not verified: %s" % (search["id"], why))
    return {"document": document, "module": module, "verifications": rows, "strategy": search["strategy"]}


def _under_way(search: JSON, verified: bool) -> str | None:
    """What is waited for, as a state; None: nothing."""
    if search["state"] in ("queued", "running"):
        return str(search["state"])
    job = search.get("verification") if verified else None
    return "verifying" if job and job["state"] in ("queued", "running") else None


def strategy_of(server: str, strategy: str) -> tuple[JSON, str]:
    """(strategy document, module that carries the plan)."""
    path = "/v1/strategies/" + urllib.parse.quote(strategy, safe=":")
    return json.loads(request(server, "GET", path)), request(server, "GET", path + ".mlir", timeout=600).decode()
