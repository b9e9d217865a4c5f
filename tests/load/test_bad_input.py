"""Everything a client can get wrong, and what it is told."""

import gzip
import json
import os
import random
import shutil
import subprocess

import pytest

from daemon import eventually, module_text

JSON = {"Content-Type": "application/json"}


def problem(answer, status, kind):
    assert answer.status == status, (answer.status, answer.body)
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status and body["type"] == "urn:shardwright:problem:" + kind, body
    assert body["title"] and body["detail"]
    return body


# ---------------------------------------------------------------- uploads


def zstd(data):
    if not shutil.which("zstd"):
        pytest.skip("no zstd program")
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def test_compressed_uploads_are_one_module(daemon):
    text = module_text(136).encode()
    ids = {daemon.upload(text).json()["id"]}
    packed = gzip.compress(text)
    ids.add(daemon.upload(packed, {"Content-Encoding": "gzip"}).json()["id"])
    ids.add(daemon.upload(packed).json()["id"])
    ids.add(daemon.upload(text, {"Content-Encoding": "identity"}).json()["id"])
    packed = zstd(text)
    ids.add(daemon.upload(packed, {"Content-Encoding": "zstd"}).json()["id"])
    ids.add(daemon.upload(packed).json()["id"])
    assert len(ids) == 1
    assert daemon.rows("SELECT count(*) FROM modules WHERE id = ?", ids.pop()) == [(1,)]


def test_chunked_upload(daemon):
    text = module_text(144).encode()
    answer = daemon.request("POST", "/v1/modules", iter([text[:50], text[50:51], text[51:]]))
    assert answer.status == 201


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_damaged_and_truncated(daemon, how):
    text = os.urandom(3000).hex().encode()
    packed = gzip.compress(text) if how == "gzip" else zstd(text)
    coding = {"Content-Encoding": how}
    problem(daemon.upload(packed[:-20], coding), 400, "bad-request")
    middle = len(packed) // 2
    broken = packed[:middle] + bytes(b ^ 0x55 for b in packed[middle : middle + 200]) + packed[middle + 200 :]
    assert daemon.upload(broken, coding).status == 400
    problem(daemon.upload(text, coding), 400, "bad-request")


def test_wrong_encodings_and_types(daemon):
    problem(daemon.upload(b"x", {"Content-Encoding": "br"}), 415, "media-type")
    assert "gzip" in daemon.upload(b"x", {"Content-Encoding": "br"}).headers["Accept-Encoding"]
    problem(daemon.upload(b"{}", {"Content-Type": "application/json"}), 415, "media-type")
    problem(daemon.upload(b"x", {"Content-Type": "multipart/form-data; boundary=x"}), 415, "media-type")


def test_module_with_an_error(daemon):
    text = module_text(152).replace("stablehlo.dot_general", "garbage ! garbage")
    body = problem(daemon.upload(text), 400, "bad-module")
    assert body["line"] == 3 and body["column"] > 1
    assert "/tmp/" not in json.dumps(body)
    assert daemon.upload(text).status == 400
    problem(daemon.upload(b""), 400, "bad-module")


def test_nothing_is_left_of_a_bad_module(daemon):
    daemon.upload(module_text(160).replace("stablehlo.dot_general", "garbage ! garbage"))
    daemon.upload(gzip.compress(os.urandom(5000))[:-5])
    eventually(lambda: not daemon.temporary_files())


def test_upload_limits(daemon):
    limit = 1 << 20
    problem(daemon.upload(b"/" * (limit + 1)), 413, "too-large")
    problem(daemon.upload(gzip.compress(os.urandom(4 << 20).hex().encode()[: 5 << 20], 1)), 413, "too-large")
    bomb = gzip.compress(b"\n" * (3 << 20), 9)
    assert len(bomb) < 4000
    body = problem(daemon.upload(bomb, {"Content-Encoding": "gzip"}), 413, "too-large")
    assert "200 times" in body["detail"]
    chunks = (b"/" * 65536 for _ in range(40))
    assert daemon.request("POST", "/v1/modules", chunks).status == 413


# ---------------------------------------------------------------- JSON


BAD_JSON = [
    "", "{", "[1,]", '{"a":1,}', "{'a':1}", '{"a":01}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"a":1e400}', '{"a":NaN}', '{"a":tru}',
    '{"a":1} x', '{"a":1}{"b":2}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"a":"\\udc00"}',
    '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', "[" * 100 + "]" * 100, '{"a":' * 70 + "1" + "}" * 70, "\ufeff{}", "[" + "1," * 200001 + "1]",
    "{" + ",".join(f'"k{i}":1' for i in range(300)) + "}", '{"a":1' + "0" * 80 + "}",
]


@pytest.mark.parametrize("text", BAD_JSON, ids=range(len(BAD_JSON)))
def test_bad_json(daemon, text):
    body = problem(daemon.search(text), 400, "bad-json")
    assert body["line"] >= 1 and body["column"] >= 1


@pytest.mark.parametrize("raw", [b'{"a":"\xff"}', b'{"a":"\xc0\xaf"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}', b'{"a":"\xe2\x82"}', b"\x00"])
def test_not_utf8(daemon, raw):
    problem(daemon.request("POST", "/v1/searches", raw, JSON), 400, "bad-json")


def test_json_type_and_size(daemon):
    for kind in ("text/plain", "application/jsonp", "application/x-www-form-urlencoded"):
        problem(daemon.request("POST", "/v1/searches", "{}", {"Content-Type": kind}), 415, "media-type")
    problem(daemon.request("POST", "/v1/searches", "{}"), 415, "media-type")
    problem(daemon.request("POST", "/v1/searches", gzip.compress(b"{}"), {**JSON, "Content-Encoding": "gzip"}), 415, "media-type")
    assert daemon.request("POST", "/v1/searches", "[]", {"Content-Type": "Application/JSON; charset=utf-8"}).status == 400
    problem(daemon.search(" " * ((1 << 20) + 1)), 413, "too-large")
    answer = daemon.request("POST", "/v1/searches", iter([b" " * 700000] * 2), JSON)
    problem(answer, 413, "too-large")


def test_random_bytes_never_crash(daemon):
    rng = random.Random(1)
    base = json.dumps({"module": "sha256:" + "0" * 64, "mesh": {"axes": [{"name": "a", "size": 2}]}, "memory": "1GiB", "seed": 1}).encode()
    for _ in range(300):
        text = bytearray(base)
        for _ in range(rng.randrange(1, 6)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        assert daemon.request("POST", "/v1/searches", bytes(text), JSON).status in (400, 404)


# ---------------------------------------------------------------- fields

NO_MODULE = "sha256:" + "0" * 64
BAD_FIELDS = [
    ({"module": "sha256:xyz"}, "/module"),
    ({"module": 3}, "/module"),
    ({"module": None}, "/module"),
    ({"mesh": None}, "/mesh"),
    ({"mesh": ""}, "/mesh"),
    ({"mesh": "data"}, "/mesh"),
    ({"mesh": "data=4,,model=2"}, "/mesh"),
    ({"mesh": "data=0"}, "/mesh"),
    ({"mesh": "data=-1"}, "/mesh"),
    ({"mesh": "data=2,data=2"}, "/mesh"),
    ({"mesh": "9x=2"}, "/mesh"),
    ({"mesh": "a=99999999999999999999"}, "/mesh"),
    ({"mesh": "a=100000,b=100000"}, "/mesh"),
    ({"mesh": ",".join(f"a{i}=1" for i in range(33))}, "/mesh"),
    ({"mesh": {}}, "/mesh/axes"),
    ({"mesh": {"axes": []}}, "/mesh/axes"),
    ({"mesh": {"axes": [{"name": "a", "size": 0}]}}, "/mesh/axes/0/size"),
    ({"mesh": {"axes": [{"name": "a", "size": 2}, {"name": "b", "size": 1.5}]}}, "/mesh/axes/1/size"),
    ({"mesh": {"axes": [{"name": "a b", "size": 2}]}}, "/mesh/axes/0/name"),
    ({"mesh": {"axes": [{"name": "a", "size": 2, "sise": 2}]}}, "/mesh/axes/0/sise"),
    ({"mesh": {"axes": [{"name": "a", "size": 2}], "device_order": [0]}}, "/mesh/device_order"),
    ({"mesh": {"axes": [{"name": "a", "size": 2}], "device_order": [0, 0]}}, "/mesh/device_order/1"),
    ({"device": "tpu-v99"}, "/device"),
    ({"device": 5}, "/device"),
    ({"memory": -1}, "/memory"),
    ({"memory": "16 G iB"}, "/memory"),
    ({"memory": "lots"}, "/memory"),
    ({"memory": 1e300}, "/memory"),
    ({"objective": "speed"}, "/objective"),
    ({"evaluations": 0}, "/evaluations"),
    ({"evaluations": "10"}, "/evaluations"),
    ({"evaluations": 1.5}, "/evaluations"),
    ({"seconds": 0}, "/seconds"),
    ({"seconds": 1e9}, "/seconds"),
    ({"seconds": 1, "evaluations": 1}, "/seconds"),
    ({"seed": -1}, "/seed"),
    ({"seed": 2**53}, "/seed"),
    ({"threads": 0}, "/threads"),
    ({"open_results": 1}, "/open_results"),
    ({"apply": "exactly"}, "/apply"),
    ({"trip_count": 0}, "/trip_count"),
    ({"trip_count": 2.5}, "/trip_count"),
    ({"trip_count": 10**9 + 1}, "/trip_count"),
    ({"pins": "x"}, "/pins"),
    ({"pins": ["a:[[]]", "nocolon"]}, "/pins/1"),
    ({"pins": ["a:" + "x" * 5000]}, "/pins/0"),
    ({"pins": ["a:\u0007"]}, "/pins/0"),
    ({"forbids": [1]}, "/forbids/0"),
    ({"groups": "w*"}, "/groups"),
    ({"groups": ["w*", ""]}, "/groups/1"),
    ({"groups": ["w*"] * 1001}, "/groups"),
    ({"schedule": {"tactics": [{"polish": {}}], "groups": {}}}, "/schedule/groups"),
    ({"schedule": {"tactics": [{"polish": {}}], "groups": ["w*", 1]}}, "/schedule/groups/1"),
    ({"schedule": []}, "/schedule"),
    ({"schedule": {"tactics": []}}, "/schedule/tactics"),
    ({"schedule": {"tactics": [{"magic": {}}]}}, "/schedule/tactics/0"),
    ({"schedule": {"tactics": [{"named": "zero9", "axis": "data"}]}}, "/schedule/tactics/0/named"),
    ({"schedule": {"tactics": [{"named": "zero2", "axis": "nope"}]}}, "/schedule/tactics/0/axis"),
    ({"schedule": {"tactics": [{"auto": {"axes": ["data", "nope"]}}]}}, "/schedule/tactics/0/auto/axes/1"),
    ({"schedule": {"tactics": [{"polish": {"evals": 1}}]}}, "/schedule/tactics/0/polish/evals"),
    ({"evalutions": 5}, "/evalutions"),
    ({"a/b~c": 5}, "/a~1b~0c"),
]


@pytest.mark.parametrize("fields, pointer", BAD_FIELDS, ids=range(len(BAD_FIELDS)))
def test_bad_field(daemon, fields, pointer):
    body = problem(daemon.search({"module": NO_MODULE, "mesh": "data=2,model=2", **fields}), 400, "bad-field")
    assert body["errors"][0]["pointer"] == pointer, body


def test_unknown_module(daemon):
    body = problem(daemon.search({"module": NO_MODULE, "mesh": "data=2"}), 404, "not-found")
    assert body["errors"][0]["pointer"] == "/module"


def test_body_that_is_no_object(daemon):
    for text in ("[]", "3", '"x"', "null"):
        problem(daemon.search(text), 400, "bad-field")


def test_error_of_the_worker_is_told(daemon):
    """A pin that only the search itself can judge."""
    module = daemon.module(168)
    answer = daemon.search({"module": module, "mesh": "data=2", "evaluations": 10, "pins": ["arg0:[[nonsense"]})
    if answer.status == 400:
        return
    end = daemon.wait(answer.json()["id"])
    assert end["state"] == "failed" and end["error"]["detail"] and end["failures"] == 0, end


# ---------------------------------------------------------------- paths, methods, parameters


@pytest.mark.parametrize("path", [
    "/v1", "/v1/", "/v2/modules", "/v1/modules/", "/v1/modules/x/y", "/etc/passwd", "/v1/searches//events", "/%00", "/v1/modules/..%2f..%2flock",
])
def test_nothing_there(daemon, path):
    problem(daemon.get(path), 404, "not-found")


@pytest.mark.parametrize("path", [
    "/v1/modules/sha256:0", "/v1/modules/sha256:0.mlir", "/v1/searches/s-0", "/v1/searches/s-0/events", "/v1/strategies/sha256:0",
    "/v1/strategies/sha256:0.mlir", "/v1/strategies/.mlir", "/v1/searches/" + "x" * 250,
])
def test_unknown_ids(daemon, path):
    problem(daemon.get(path), 404, "not-found")


def test_cancel_of_unknown_or_longer_ids(daemon):
    module = daemon.module(176)
    search = daemon.search({"module": module, "mesh": "data=2", "evaluations": 10}).json()["id"]
    for wrong in ("s-0", search + "0", search[:-1]):
        problem(daemon.request("POST", f"/v1/searches/{wrong}/cancel"), 404, "not-found")
    assert daemon.wait(search)["state"] == "succeeded"


@pytest.mark.parametrize("method, path, allow", [
    ("DELETE", "/v1/searches", "POST, GET, HEAD"), ("GET", "/v1/opt", "POST"), ("PUT", "/v1/modules", "POST, GET, HEAD"), ("POST", "/healthz", "GET, HEAD"),
    ("PATCH", "/v1/searches/x", "GET, HEAD"), ("GET", "/v1/searches/x/cancel", "POST"), ("OPTIONS", "/", "GET, HEAD"),
])
def test_wrong_methods(daemon, method, path, allow):
    answer = daemon.request(method, path)
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["Allow"] == allow


@pytest.mark.parametrize("path", [
    "/v1/searches?stat=x", "/v1/searches?state=done", "/v1/searches?page_size=0", "/v1/searches?page_size=x", "/v1/searches?page_token=x",
    "/v1/strategies?limit=1", "/healthz?x=1",
])
def test_bad_parameters(daemon, path):
    problem(daemon.get(path), 400, "bad-request")


def test_bad_mesh_parameter(daemon):
    problem(daemon.get("/v1/strategies?mesh=data"), 400, "bad-field")


def test_tool_errors(daemon):
    text = module_text(8).encode()
    problem(daemon.request("POST", "/v1/opt", text), 400, "bad-request")
    problem(daemon.request("POST", "/v1/simulate?device=tpu-v99", text), 400, "bad-request")
    problem(daemon.request("POST", "/v1/simulate?ops=maybe", text), 400, "bad-request")
    for wrong in ("0", "x", "1.5", "1000000001", ""):
        problem(daemon.request("POST", "/v1/simulate?trip_count=" + wrong, text), 400, "bad-request")
    broken = text.replace(b"stablehlo.dot_general", b"garbage ! garbage")
    assert problem(daemon.request("POST", "/v1/simulate", broken), 400, "bad-module")["line"] == 3
    assert problem(daemon.request("POST", "/v1/opt?passes=inline", broken), 400, "bad-module")["line"] == 3
    problem(daemon.request("POST", "/v1/opt?passes=inline", b"/" * ((8 << 20) + 1)), 413, "too-large")


def test_get_with_a_body(daemon):
    problem(daemon.request("GET", "/healthz", "x"), 400, "bad-request")
