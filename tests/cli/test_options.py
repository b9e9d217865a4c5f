"""search/options.def is what every way of asking for a search offers: flags, requests, jobs, Python and their documents."""
import ast
import json
import os
import re
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))


def text_of(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def rows():
    text = text_of("search", "options.def")
    found = {flag: {"field": field, "kind": kind, "asked": asked, "most": most} for flag, field, kind, asked, most in re.findall(
        r'^OPTION\(\w+, "([\w-]+)", "(\w+)", (\w+), (\w+), "[^"]*", [^,]+, ([^,]+),', text, re.M)}
    found.update({flag: {"field": field, "kind": "LIST", "asked": "BOTH"} for flag, field in re.findall(r'^LIST\(\w+, "([\w-]+)", (\w+),', text, re.M)})
    assert len(found) == len(re.findall(r"^(?:OPTION|LIST)\(", text, re.M)) > 10
    return found


ROWS = rows()
REQUEST = {row["field"] for row in ROWS.values() if row["asked"] != "NOWHERE"}
JOB = {row["field"] for row in ROWS.values() if row["asked"] == "BOTH"}


# Numbers of search/tree/ that nothing was tuned with: units, limits of what is read, bits.
CAPACITIES = {"PPM", "THOUSAND", "ALL_SHARES", "MAX_GROUPS", "MOST_VALUES", "MOST_STATISTICS", "MOST_WAYS", "AXIS_ZERO3", "AXIS_CUTS_END"}


def help_of(verb):
    return subprocess.run([TOOL, verb, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("verb", ("search", "submit"))
def test_help(verb):
    text = help_of(verb)
    for flag in ROWS:
        assert re.search(r"--%s\b(?!-)" % flag, text), flag


def test_flags_that_are_refused_by_their_bounds():
    module = os.path.join(ROOT, "tests", "corpus", "mlp_tiny.mlir.zst")
    for flag, row in ROWS.items():
        if row["kind"] == "NUMBER":
            done = subprocess.run([TOOL, "search", module, "--mesh", "data=2", "--" + flag, str(2**60)], capture_output=True, text=True, timeout=60)
            assert done.returncode == 64 and "--" + flag in done.stderr, done.stderr


def test_requests():
    described = json.loads(text_of("docs", "openapi.json"))["components"]["schemas"]["SearchRequest"]["properties"]
    assert REQUEST | {"module", "priority", "tags", "verify", "warm_start"} == set(described)
    for row in ROWS.values():
        if row["asked"] != "NOWHERE":
            kind = {"LIST": "array", "NUMBER": "integer", "SWITCH": "boolean"}.get(row["kind"])
            assert kind in (None, described[row["field"]].get("type")), row
    http = text_of("docs", "http-api.md")
    for field in REQUEST:
        assert "`%s`" % field in http, field


def test_jobs(tmp_path):
    """A field that no job has is told with those that one has."""
    (tmp_path / "jobs.jsonl").write_text('{"module": "x", "mesh": "a=2", "nonsense": 1}\n')
    done = subprocess.run([TOOL, "batch", "jobs.jsonl", "--store", "s", "--strict"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    told = set(re.search(r"expected one of: ([\w ]+)", done.stderr + done.stdout)[1].split())
    assert told == JOB | {"module", "priority", "seeds", "warm_start"}
    assert all(re.search(r"\b%s\b" % field, help_of("batch")) for field in JOB)


def test_python():
    """The client needs no compiler, so it has its own lists."""
    tool = ast.parse(text_of("clients", "python", "shardwright", "tool.py"))
    flags = next(ast.literal_eval(node.value) for node in tool.body if isinstance(node, ast.Assign) and node.targets[0].id == "FLAGS")
    assert flags == {row["field"]: "--" + flag for flag, row in ROWS.items() if row["asked"] != "NOWHERE" and row["kind"] not in ("LIST", "SWITCH")}
    source = text_of("clients", "python", "shardwright", "tool.py")
    for flag, row in ROWS.items():
        if row["kind"] == "LIST":
            assert '("%s", "--%s")' % (row["field"], flag) in source
        elif row["kind"] == "SWITCH":
            assert 'wanted.get("%s")' % row["field"] in source and '"--%s"' % flag in source
    request = ast.parse(text_of("clients", "python", "shardwright", "request.py"))
    plan = next(node for node in request.body if isinstance(node, ast.FunctionDef) and node.name == "plan")
    keywords = {a.arg for a in plan.args.kwonlyargs}
    assert REQUEST <= keywords, REQUEST - keywords
    documented = re.findall(r"^\| (.+?) \|", text_of("docs", "python.md"), re.M)
    assert REQUEST <= {word for cell in documented for word in re.findall(r"`(\w+)`", cell)}


def anchors(page):
    return {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text_of("docs", page).splitlines() if line.startswith("#")}


def test_constants():
    """`search --options` prints each row of search/constants.def; what a row cites is there, and no constant is defined beside the table."""
    printed = subprocess.run([TOOL, "search", "--options"], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()[1:]
    table = re.findall(r'^CONSTANT\((\w+), (\d+), (\d+), (\d+), "([^"]+)", "([^"]+)"\)$', text_of("search", "constants.def"), re.M)
    assert len(table) == len(re.findall(r"^CONSTANT\(", text_of("search", "constants.def"), re.M)) > 50
    assert [line.split(None, 4) for line in printed] == [[*row[:4], "%s (%s)" % row[4:]] for row in table]
    for name, value, least, most, _, chosen in table:
        assert int(least) <= int(value) <= int(most), name
        page, _, section = chosen.partition("#")
        assert page.startswith("by hand") or section in anchors(page), chosen
    for folder, _, files in os.walk(os.path.join(ROOT, "search", "tree")):
        for file in files:
            for enum in re.findall(r"enum \{([^}]*)\}", text_of("search", "tree", file)):
                for name in re.findall(r"(\w+) = \d{2,}", enum):
                    assert name in CAPACITIES, "%s of search/tree/%s is no row of search/constants.def" % (name, file)
