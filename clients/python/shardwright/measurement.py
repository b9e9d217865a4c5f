"""Tell a daemon what a step took with one of its strategies (Plan.record)."""
import json
import urllib.parse
import uuid
from typing import Any

from .daemon import request
from .errors import Error, NoAnswer
from .hosts import process_index
from .shardings import JSON

TRIES = 3
PLATFORMS = {"tpu": "tpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "cpu": "cpu"}


def record(server: str, strategy: str, profile: str, *, step: float, peak: int | None = None, steps: int | None = None, device: str | None = None,
           source: str | None = None, options: JSON | None = None) -> JSON | None:
    """The measurement as the daemon keeps it; None in all but the first process of a job. step: seconds; peak: bytes of one device.

    A profile of another platform than jax runs on is not what was measured: then the device is the platform, and answers do not count it."""
    if isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 < step < 1e6:
        raise Error("record: step is %r, expected seconds" % (step,))
    if process_index():
        return None
    about = _versions()
    platform = PLATFORMS.get(about.pop("platform"), "cpu")
    if device is None and platform != ("tpu" if profile.startswith("tpu") else "gpu"):
        device = platform
    body: dict[str, Any] = {"step_ns": max(1, round(step * 1e9)), "peak_bytes": peak, "steps": steps, "device": device, "source": source,
                            "options": options, **about}
    content = json.dumps({key: value for key, value in body.items() if value is not None}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}   # an answer that was lost does not make two of it
    path = "/v1/strategies/%s/measurements" % urllib.parse.quote(strategy, safe=":")
    for left in reversed(range(TRIES)):
        try:
            return dict(json.loads(request(server, "POST", path, content, headers)))
        except NoAnswer:
            if not left:
                raise
    return None


def _versions() -> dict[str, Any]:
    """What runs here: platform, hardware, versions."""
    import jax
    import jaxlib
    first = jax.devices()[0]
    return {"platform": first.platform, "hardware": str(first.device_kind)[:200], "jax": jax.__version__, "jaxlib": jaxlib.__version__,
            "compiler": " ".join(str(first.client.platform_version).split())[:200] or None}
