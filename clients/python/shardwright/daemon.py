"""Ask a daemon, shardwrightd, which remembers answers."""
import gzip
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from .errors import Error, NoAnswer
from .shardings import JSON


def _request(server: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, timeout: float = 60) -> bytes:
    """The body of the answer. Error with the text of an RFC 9457 problem on a failure, NoAnswer where nobody is."""
    headers = dict(headers or {})
    token = os.environ.get("SHARDWRIGHT_TOKEN")
    if token:
        headers["Authorization"] = "Bearer " + token
    url = urllib.parse.urljoin(server.rstrip("/") + "/", path.lstrip("/"))
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")
        try:
            problem = json.loads(said)
            said = ": ".join(problem[word] for word in ("title", "detail") if problem.get(word))
        except (ValueError, TypeError, AttributeError):
            pass
        raise Error("%s %s: %d %s" % (method, path, error.code, said[:2000])) from None
    except urllib.error.URLError as error:
        raise NoAnswer("no daemon at %s: %s" % (server, error.reason)) from None
    except OSError as error:            # a time limit or a connection that broke while reading
        raise NoAnswer("no answer of the daemon at %s: %s" % (server, error)) from None


def ask_daemon(server: str, text: str, wanted: JSON, timeout: float | None, show: Callable[[JSON], None]) -> tuple[JSON, str]:
    """Search on a daemon -> (strategy document, module that carries the plan)."""
    deadline = None if timeout is None else time.monotonic() + timeout
    patience = 60 if timeout is None else max(1.0, min(60.0, timeout))
    answer = _request(server, "POST", "/v1/modules", gzip.compress(text.encode(), 6, mtime=0),
                      {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, timeout=patience)
    body: dict[str, Any] = dict(wanted, module=json.loads(answer)["id"])
    answer = _request(server, "POST", "/v1/searches", json.dumps(body).encode(), {"Content-Type": "application/json"}, timeout=patience)
    search = json.loads(answer)
    while search["state"] in ("queued", "running"):
        left = 30 if deadline is None else min(30, int(deadline - time.monotonic()))
        if left <= 0:
            raise NoAnswer("no answer within %s s; search %s goes on" % (timeout, search["id"]))
        show({"event": search["state"]})
        answer = _request(server, "GET", "/v1/searches/%s?wait=%ds" % (urllib.parse.quote(search["id"], safe=":"), left), timeout=left + 30)
        search = json.loads(answer)
    if search["state"] != "succeeded" or not search.get("strategy"):
        raise Error("search %s %s: %s" % (search.get("id"), search["state"], search.get("error") or search.get("detail") or "no strategy"))
    path = "/v1/strategies/" + urllib.parse.quote(search["strategy"], safe=":")
    return json.loads(_request(server, "GET", path)), _request(server, "GET", path + ".mlir").decode()
