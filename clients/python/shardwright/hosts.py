"""Jobs of several processes: one asks, all take its answer, and a difference is an error in each.

The processes meet in the key-value store of jax.distributed; no device takes part."""
import base64
import gzip
import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from .errors import Error
from .shardings import JSON

CHUNK = 1 << 20
PATIENCE_MS = 24 * 3600 * 1000      # process 0 searches meanwhile
MEET_MS = 10 * 60 * 1000
_meetings = itertools.count()


def _state() -> Any:
    try:
        from jax._src import distributed
        return distributed.global_state
    except ImportError:
        return None


def process_count() -> int:
    """Processes of the job; 1 without jax.distributed."""
    state = _state()
    return int(state.num_processes or 1) if state is not None and state.client is not None else 1


def process_index() -> int:
    """Which of them this is; 0 without jax.distributed."""
    state = _state()
    return int(state.process_id or 0) if state is not None and state.client is not None else 0


def agree_on(request: str, ask: Callable[[], JSON]) -> JSON:
    """ask() of process 0, in every process. request: digest of what each would ask for. All must call this equally often."""
    state = _state()
    client, me, count = state.client, state.process_id, state.num_processes
    key = "shardwright/%d" % next(_meetings)
    client.key_value_set("%s/request/%d" % (key, me), request)
    requests = [client.blocking_key_value_get("%s/request/%d" % (key, i), MEET_MS) for i in range(count)]
    _check_equal("programs or options", requests)
    if me == 0:
        try:
            content = json.dumps({"answer": ask()})
        except Error as error:
            content = json.dumps({"error": str(error)})
        _send(client, key, content)
    else:
        content = _receive(client, key)
    client.key_value_set("%s/digest/%d" % (key, me), hashlib.sha256(content.encode()).hexdigest())
    digests = [client.blocking_key_value_get("%s/digest/%d" % (key, i), MEET_MS) for i in range(count)]
    _check_equal("plans", digests)
    found = json.loads(content)
    if "error" in found:
        raise Error(found["error"])
    return dict(found["answer"])


def _check_equal(what: str, digests: list[str]) -> None:
    other = [i for i, digest in enumerate(digests) if digest != digests[0]]
    if other:
        raise Error("the processes of this job have different %s: process %s is not as process 0 (%s, %s)" % (
            what, ", ".join(map(str, other[:8])), digests[other[0]][:12], digests[0][:12]))


def _send(client: Any, key: str, content: str) -> None:
    packed = base64.b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode()
    chunks = [packed[at:at + CHUNK] for at in range(0, len(packed), CHUNK)]
    for i, chunk in enumerate(chunks):
        client.key_value_set("%s/chunk/%d" % (key, i), chunk)
    client.key_value_set("%s/chunks" % key, str(len(chunks)))


def _receive(client: Any, key: str) -> str:
    count = int(client.blocking_key_value_get("%s/chunks" % key, PATIENCE_MS))
    packed = "".join(client.blocking_key_value_get("%s/chunk/%d" % (key, i), MEET_MS) for i in range(count))
    return gzip.decompress(base64.b64decode(packed)).decode()
