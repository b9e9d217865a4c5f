"""Pictures are rendered by librsvg: nothing that is drawn lies outside, and nothing changes when the page around is larger."""
import os
import re
import shutil
import struct
import subprocess
import zlib
import xml.etree.ElementTree as xml

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.abspath(os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright")))
LAYOUT = 'Layout((2, 2, 2), ("axis_0", "axis_1", "axis_2"))'
BORDER = 60
SCALE = 2  # pixels of the picture per pixel of the rendering: less to decode
CASES = {
    "one axis": ["--mesh", "data=4", "--shape", "64x128", "--sharding", '[["data"],[]]'],
    "two axes": ["--mesh", "data=4,model=16", "--shape", "64x128", "--sharding", '[["data"],["model"]]'],
    "replicas": ["--mesh", "data=64,model=2", "--shape", "64x128", "--sharding", '[["model"],[]]'],
    "scattered replicas": ["--mesh", "a=5,b=2,c=7", "--shape", "64x128", "--sharding", '[["b"],[]]'],
    "three dims": ["--mesh", "a=2,b=3,c=4", "--shape", "4x6x8", "--sharding", '[["a"],["b"],["c"]]'],
    "five dims": ["--mesh", "a=2,b=2,c=2,d=2,e=2", "--shape", "2x2x2x2x2", "--sharding", '[["a"],["b"],["c"],["d"],["e"]]'],
    "parts of axes": ["--mesh", "model=16", "--shape", "16x16", "--sharding", '[["model:(1)4"],["model:(4)4"]]'],
    "long names": ["--mesh", "a_name_that_goes_on_and_on_for_the_sake_of_it=2,another_of_these_names_that_nobody_reads=2,short=2", "--shape", "1000000x1000000",
                   "--sharding", '[["another_of_these_names_that_nobody_reads","a_name_that_goes_on_and_on_for_the_sake_of_it"],["short"]]'],
    "scalar": ["--mesh", "a=2", "--shape", "scalar", "--sharding", "[]"],
    "uneven": ["--mesh", "a=4", "--shape", "10", "--notation", "dtensor", "--sharding", "[Shard(0)]"],
    "escaped": ["--mesh", '{"axes":[{"name":"a<b>&c","size":2}]}', "--shape", "4", "--sharding", '[["a<b>&c"]]'],
    "steps": ["--shape", "4x4", "--notation", "mindspore", "--sharding", LAYOUT + '("axis_2", "axis_0")', "--steps"],
    "steps of a long matrix": ["--mesh", "a_name_that_goes_on_and_on_for_the_sake_of_it=3,another_one=2,last=40", "--shape", "12x8", "--sharding", '[["another_one"],["last:(1)8"]]', "--steps"],
    "steps of devices in another order": ["--mesh", '{"axes":[{"name":"a","size":2},{"name":"b","size":3}],"device_order":[5,3,1,4,2,0]}', "--shape", "6x6", "--sharding", '[["b"],[]]', "--steps"],
    "steps of one device": ["--mesh", "a=1", "--shape", "scalar", "--sharding", "[]", "--steps"],
    "steps of three dims": ["--shape", "2x2x4", "--notation", "mindspore", "--sharding", LAYOUT + '("axis_1", "axis_0", "axis_2")', "--steps"],
}


def draw(tmp_path, case):
    path = tmp_path / "p.svg"
    subprocess.run([TOOL, "layout", *case, "--svg", str(path)], check=True)
    return path.read_text()


def render(svg):
    """Width, height and rows of (r, g, b, a) bytes of an 8-bit PNG without interlacing."""
    png = subprocess.run(["rsvg-convert", "--format", "png"], input=svg.encode(), capture_output=True, check=True).stdout
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    step, raw = {2: 3, 6: 4}[colour], zlib.decompress(data)
    line, rows, before = width * step, [], bytearray(width * step)
    for y in range(height):
        kind, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            left, up, corner = row[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            if kind == 4:
                p = left + up - corner
                guess = min((left, up, corner), key=lambda v: abs(p - v))
            else:
                guess = (0, left, up, (left + up) // 2)[kind]
            row[i] = (row[i] + guess) & 255
        rows.append(bytes(row))
        before = row
    return width, height, step, rows


@pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="no rsvg-convert (librsvg2-bin)")
@pytest.mark.parametrize("name", CASES)
def test_nothing_lies_outside(tmp_path, name):
    svg = draw(tmp_path, CASES[name])
    width, height = (int(re.search(r' %s="(\d+)"' % side, svg)[1]) for side in ("width", "height"))
    width, height = width + width % SCALE, height + height % SCALE
    wide = re.sub(r'width="\d+" height="\d+" viewBox="[^"]*"', 'width="%d" height="%d" viewBox="-%d -%d %d %d"' % (
        (width + 2 * BORDER) // SCALE, (height + 2 * BORDER) // SCALE, BORDER, BORDER, width + 2 * BORDER, height + 2 * BORDER), svg, count=1)
    wide = re.sub(r'<rect width="100%" height="100%" fill="white"/>', '<rect x="-%d" y="-%d" width="%d" height="%d" fill="white"/>' % (
        BORDER, BORDER, width + 2 * BORDER, height + 2 * BORDER), wide, count=1)
    w, h, step, rows = render(wide)
    assert (w, h) == ((width + 2 * BORDER) // SCALE, (height + 2 * BORDER) // SCALE)
    white, edge = b"\xff" * step, BORDER // SCALE
    for y, row in enumerate(rows):
        outside = [row] if not edge <= y < h - edge else [row[:edge * step], row[-edge * step:]]
        for part in outside:
            assert part == white * (len(part) // step), "something is drawn outside in line %d" % (y * SCALE - BORDER)
    assert any(row != white * w for row in rows)


@pytest.mark.parametrize("name", CASES)
def test_texts_fit_their_blocks(tmp_path, name):
    """By the width of the widest of the fixed-pitch fonts that the picture asks for; and blocks do not overlap."""
    root = xml.fromstring(draw(tmp_path, CASES[name]))
    rects = [[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("x")]
    width = float(root.get("width"))
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y, size = float(text.get("x")), float(text.get("y")), len(text.text) * 7.25
        left = {"start": x, "middle": x - size / 2, "end": x - size}[text.get("text-anchor")]
        assert left >= 0 and left + size <= width, text.text
        for rx, ry, rw, rh in rects:
            if rx < x < rx + rw and ry < y < ry + rh:
                assert rx <= left and left + size <= rx + rw, text.text
    for i, (ax, ay, aw, ah) in enumerate(rects):
        for bx, by, bw, bh in rects[i + 1:]:
            assert ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


def test_a_dim_that_is_cut_is_never_left_out(tmp_path):
    svg = draw(tmp_path, CASES["three dims"])
    assert svg.count("<rect") == 1 + 2 * 3 * 4
    for part in ("dim 2 (c) 0:2", "dim 2 (c) 6:8", "dim 0 (a) downwards, dim 1 (b) to the right", "mesh a=2, b=3, c=4", "slice 23"):
        assert part in svg, part


def test_steps_in_text_and_json(tmp_path):
    import json
    words = [TOOL, "layout", *CASES["steps"]]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert text.count("step ") == 4 and "step 3: axis_1 copies 2 times" in text and "#2 on 1, 3" in text
    found = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
    assert (found["device_matrix"], found["alias_name"]) == ([2, 2, 2], ["axis_0", "axis_1", "axis_2"])
    assert [s["action"] for s in found["steps"]] == ["place", "cut", "cut", "copy"]
    assert [d["device"] for d in found["steps"][2]["devices"]] == [0, 1, 4, 5]
    assert [d["slice"] for d in found["devices"]] == [0, 2, 0, 2, 1, 3, 1, 3]
    assert found["steps"][-1]["devices"] == found["devices"]


def test_the_device_matrix_stands_before_the_steps(tmp_path):
    words = [TOOL, "layout", *CASES["steps of devices in another order"]]
    text, svg = subprocess.run(words, capture_output=True, text=True, check=True).stdout, draw(tmp_path, CASES["steps of devices in another order"])
    matrix = text.split("device matrix 2 x 3\n")[1].split("\n\n")[0].splitlines()
    assert [re.findall(r"[\w=]+", line) for line in matrix] == [["b=0", "b=1", "b=2"], ["a=0", "5", "3", "1"], ["a=1", "4", "2", "0"]]
    before = svg.split("step 0")[0]
    assert re.findall(r">([^<>]+)</text>", before)[2:] == ["b=0", "b=1", "b=2", "a=0", "5", "3", "1", "a=1", "4", "2", "0"]
    # many along the last axis are one column
    assert "last=0..39 " in subprocess.run([TOOL, "layout", *CASES["steps of a long matrix"]], capture_output=True, text=True, check=True).stdout.replace("\n", " ")
