"""What XLA for TPU keeps on the chip, and what it arranges anew: programs of a few ops on one device."""
import json
import os
import subprocess

import pytest

from single_kernels import profile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.environ.get("SHARDWRIGHT", os.path.join(ROOT, "build", "shardwright"))


def simulate(path, signature, body, device="tpu-v5e", options=()):
    """-> (cost, {name of an op: us of its kernels})."""
    path.write_text("module {\nfunc.func @main(%s {\n%s\n}\n}\n" % (signature, body))
    device = ["--device-file", device] if str(device).endswith(".json") else ["--device", device]
    done = subprocess.run([TOOL, "simulate", path, *device, "--json", "--trace", path.with_suffix(".json"), *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    times = {}
    for event in json.loads(path.with_suffix(".json").read_text())["traceEvents"]:
        if event.get("ph") == "X":
            name = event["name"].replace("stablehlo.", "")
            times[name] = times.get(name, 0) + event["dur"]
    return json.loads(done.stdout), times


def look_up(path, rows, width, device="tpu-v5e"):
    table, found = "tensor<%dx%dxbf16>" % (rows, width), "tensor<4096x%dxbf16>" % width
    body = """%%0 = "stablehlo.gather"(%%t, %%i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, %d>, indices_are_sorted = false}> : (%s, tensor<4096x1xi32>) -> %s
    return %%0 : %s""" % (width, table, found, found)
    return simulate(path, "%%t: %s, %%i: tensor<4096x1xi32>) -> %s" % (table, found), body, device)[1]["gather"]


def test_narrow_rows_are_arranged_anew(tmp_path):
    """Tables of equal size, whose rows fill the lanes or not."""
    wide, narrow, odd = (look_up(tmp_path / "m.mlir", rows, width) for rows, width in ((131072, 128), (1048576, 16), (87552, 192)))
    assert narrow > wide + 500 and odd > wide + 100  # libtpu: 980 us more for the former
    small = look_up(tmp_path / "m.mlir", 32768, 64), look_up(tmp_path / "m.mlir", 32768, 128)
    assert small[0] < small[1] + 10  # there is room for it on the chip, and 4096 rows are soon copied
    assert abs(look_up(tmp_path / "m.mlir", 1048576, 16, "h100") - look_up(tmp_path / "m.mlir", 131072, 128, "h100")) < 5


def test_narrow_rows_lie_so_until_something_wants_them_otherwise(tmp_path):
    """65,536 rows of 8 numbers, worked on and summed 16 at a time, take as long as of 128. In front of a product a copy is counted at once."""
    def step(width, product=False):
        table, found, parts, out = ("tensor<%sxf32>" % s for s in ("32768x%d" % width, "65536x%d" % width, "4096x16x%d" % width, "4096x%d" % width))
        body = """%%0 = "stablehlo.gather"(%%t, %%i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, %d>, indices_are_sorted = false}> : (%s, tensor<65536x1xi32>) -> %s
    %%1 = stablehlo.tanh %%0 : %s
    %%2 = stablehlo.reshape %%1 : (%s) -> %s\n""" % (width, table, found, found, found, parts)
        if product:
            out = "tensor<4096x16x128xf32>"
            body += """%%3 = stablehlo.dot_general %%2, %%w, contracting_dims = [2] x [0] : (%s, tensor<%dx128xf32>) -> %s
    return %%3 : %s""" % (parts, width, out, out)
        else:
            body += """%%z = stablehlo.constant dense<0.0> : tensor<f32>
    %%3 = stablehlo.reduce(%%2 init: %%z) applies stablehlo.add across dimensions = [1] : (%s, tensor<f32>) -> %s
    return %%3 : %s""" % (parts, out, out)
        return simulate(tmp_path / "m.mlir", "%%t: %s, %%i: tensor<65536x1xi32>, %%w: tensor<%dx128xf32>) -> %s" % (table, width, out), body)[1]

    narrow, full = step(8), step(128)
    assert narrow["reduce"] == pytest.approx(full["reduce"], rel=.05) and full["reduce"] > 50
    assert step(8, product=True)["gather"] < .8 * narrow["gather"]  # libtpu has no estimate of either


def test_what_two_contractions_read_otherwise_is_copied_twice(tmp_path):
    """Results of attention over 49 places: a second product that contracts the same dims reads the same copy, one that contracts others a second one."""
    made, weights = "tensor<1024x49x16x32xbf16>", "tensor<16x32x512xbf16>"
    scores, values = "tensor<1024x16x49x49xbf16>", "tensor<1024x49x16x32xbf16>"
    rows, square = "tensor<1024x49x512xbf16>", "tensor<16x32x512xbf16>"
    first = """%%0 = stablehlo.dot_general %%p, %%v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (%s, %s) -> tensor<1024x16x49x32xbf16>
    %%1 = stablehlo.transpose %%0, dims = [0, 2, 1, 3] : (tensor<1024x16x49x32xbf16>) -> %s\n""" % (scores, values, made)
    forward = "%%%d = stablehlo.dot_general %%1, %%%s, contracting_dims = [2, 3] x [0, 1] : (%s, %s) -> %s\n"
    backward = "%%3 = stablehlo.dot_general %%1, %%x, contracting_dims = [0, 1] x [0, 1] : (%s, %s) -> %s\n" % (made, rows, square)
    one, other = forward % (2, "a", made, weights, rows), forward % (3, "b", made, weights, rows)
    signature = "%%p: %s, %%v: %s, %%a: %s, %%b: %s, %%x: %s) -> " % (scores, values, weights, weights, rows)

    def compute(body, *types):
        names = ", ".join("%%%d" % n for n in sorted({2 if t == "one" else 3 for t, _ in types}))
        kinds = ", ".join(k for _, k in types)
        return simulate(tmp_path / "m.mlir", signature + "(%s)" % kinds, first + body + "return %s : %s" % (names, kinds))[0]["compute_ns"] / 1e3

    alone, same, gradient = compute(one, ("one", rows)), compute(other, ("other", rows)), compute(backward, ("other", square))
    both, twice = compute(one + other, ("one", rows), ("other", rows)), compute(one + backward, ("one", rows), ("other", square))
    # each pair of programs has the first product and its first copy once too often; what is left is the second copy, of 806 us
    assert (twice - alone - gradient) - (both - alone - same) == pytest.approx(806, rel=.1)


def test_a_large_sum_of_updates_starts_with_zeros(tmp_path):
    """A scatter into zeros that do not fit on the chip writes them first, at a rate of its own."""
    def gradient(rows, device):
        out = "tensor<%dx512xbf16>" % rows
        body = """%%z = stablehlo.constant dense<0.0> : %s
    %%0 = "stablehlo.scatter"(%%z, %%i, %%u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%%a: tensor<bf16>, %%b: tensor<bf16>):
      %%s = stablehlo.add %%a, %%b : tensor<bf16>
      stablehlo.return %%s : tensor<bf16>
    }) : (%s, tensor<4096x1xi32>, tensor<4096x512xbf16>) -> %s
    return %%0 : %s""" % (out, out, out, out)
        return simulate(tmp_path / "m.mlir", "%%i: tensor<4096x1xi32>, %%u: tensor<4096x512xbf16>) -> %s" % out, body, device)[1]["scatter"]

    fits, large = gradient(65536, "tpu-v5e"), gradient(262144, "tpu-v5e")  # 64 and 256 MiB
    slow = profile(tmp_path / "slow.json", "tpu-v5e", lone_elements_s=24750000000)
    assert large > fits + 2000 and gradient(262144, slow) > large + 2000 and gradient(65536, slow) == fits


def test_convolutions_of_each_channel_alone(tmp_path):
    """Vector work: by products, with channels that fill the lanes."""
    def convolution(channels, window):
        x = "tensor<16x56x56x%dxbf16>" % channels
        body = """%%0 = stablehlo.convolution(%%x, %%k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1],
      pad = [[%d, %d], [%d, %d]]} {batch_group_count = 1 : i64, feature_group_count = %d : i64} : (%s, tensor<%dx%dx1x%dxbf16>) -> %s
    return %%0 : %s""" % (*[window // 2] * 4, channels, x, window, window, channels, x, x)
        return simulate(tmp_path / "m.mlir", "%%x: %s, %%k: tensor<%dx%dx1x%dxbf16>) -> %s" % (x, window, window, channels, x), body)[1]["convolution"]

    seven, three = convolution(128, 7), convolution(128, 3)
    assert abs(seven / 427 - 1) < 0.1 and abs(three / 92 - 1) < 0.25  # us, libtpu 0.0.51
    assert abs(convolution(32, 7) / seven - 1) < 0.05


ATTENTION = """%%0 = stablehlo.dot_general %%q, %%k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (%(in)s, %(in)s) -> %(s)s
    %%f = stablehlo.convert %%0 : (%(s)s) -> %(w)s
    %%low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %%1 = stablehlo.reduce(%%f init: %%low) applies stablehlo.maximum across dimensions = [2] : (%(w)s, tensor<f32>) -> %(r)s
    %%2 = stablehlo.broadcast_in_dim %%1, dims = [0, 1] : (%(r)s) -> %(w)s
    %%3 = stablehlo.subtract %%f, %%2 : %(w)s
    %%4 = stablehlo.exponential %%3 : %(w)s
    %%zero = stablehlo.constant dense<0.0> : tensor<f32>
    %%5 = stablehlo.reduce(%%4 init: %%zero) applies stablehlo.add across dimensions = [2] : (%(w)s, tensor<f32>) -> %(r)s
    %%6 = stablehlo.broadcast_in_dim %%5, dims = [0, 1] : (%(r)s) -> %(w)s
    %%7 = stablehlo.divide %%4, %%6 : %(w)s
    %%8 = stablehlo.convert %%7 : (%(w)s) -> %(s)s
    %%9 = stablehlo.dot_general %%8, %%k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (%(s)s, %(in)s) -> %(in)s
    return %%9 : %(in)s"""


def test_softmax_of_long_rows(tmp_path):
    """Per element it takes longer where rows are too long for the numerators to be made with their products."""
    def per_element(heads, places):
        shapes = {"in": "tensor<%dx%dx128xbf16>" % (heads, places), "s": "tensor<%dx%dx%dxbf16>" % (heads, places, places),
                  "w": "tensor<%dx%dx%dxf32>" % (heads, places, places), "r": "tensor<%dx%dxf32>" % (heads, places)}
        cost, _ = simulate(tmp_path / "m.mlir", "%%q: %(in)s, %%k: %(in)s) -> %(in)s" % shapes, ATTENTION % shapes)
        return cost["runtime_ns"] / (heads * places * places)

    assert per_element(32, 2048) * 1.2 < per_element(8, 4096)
    assert per_element(32, 2048) < per_element(16, 2560) * 1.1


PLACES = """%%0 = stablehlo.dot_general %%q, %%k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (%(in)s, %(in)s) -> %(s)s
    %%1 = stablehlo.exponential %%0 : %(s)s
    %%2 = stablehlo.dot_general %%1, %%k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (%(s)s, %(in)s) -> %(out)s
    return %%2 : %(out)s"""


def test_places_that_do_not_fill_the_lanes(tmp_path):
    """As many places as fill tiles, and fewer: no faster, slower where the depth leaves lanes empty too."""
    def attention(batch, places, depth, device="tpu-v5e"):
        shapes = {"in": "tensor<%dx%dx8x%dxbf16>" % (batch, places, depth), "s": "tensor<%dx8x%dx%dxbf16>" % (batch, places, places),
                  "out": "tensor<%dx8x%dx%dxbf16>" % (batch, places, depth)}
        return simulate(tmp_path / "m.mlir", "%%q: %(in)s, %%k: %(in)s) -> %(out)s" % shapes, PLACES % shapes, device)[0]["compute_ns"]

    assert attention(256, 197, 64) > attention(256, 256, 64) > 1.05 * attention(256, 197, 128) / 2
    assert attention(1024, 64, 64) > 1.7 * attention(1024, 64, 128) / 2
    assert attention(256, 197, 64, "h100") < 0.75 * attention(256, 256, 64, "h100")  # no lanes there


def test_what_several_products_read(tmp_path):
    """Made again in each of them, or once where that reads more: by the bytes that it is made from."""
    def kernels(types, products, device="tpu-v5e"):
        sides = ["%%v%d: tensor<8192x8192x%s>" % (i, t) for i, t in enumerate(types)]
        body = []
        for i, t in enumerate(types):
            value = "%%v%d" % i
            if t == "bf16":
                body.append("%%w%d = stablehlo.convert %s : (tensor<8192x8192xbf16>) -> tensor<8192x8192xf32>" % (i, value))
                value = "%%w%d" % i
            body.append("%%s%d = stablehlo.multiply %s, %s : tensor<8192x8192xf32>" % (i, value, value))
            if i:
                body.append("%%t%d = stablehlo.add %s, %%s%d : tensor<8192x8192xf32>" % (i, "%%t%d" % (i - 1) if i > 1 else "%s0", i))
        body.append("%%y = stablehlo.convert %%t%d : (tensor<8192x8192xf32>) -> tensor<8192x8192xbf16>" % (len(types) - 1))
        out = "tensor<8192x8192xbf16>"
        for i, (left, right) in enumerate((("%y", "%a"), ("%b", "%y"), ("%y", "%b"))[:products]):
            body.append("%%p%d = stablehlo.dot_general %s, %s, contracting_dims = [1] x [0] : (%s, %s) -> %s" % (i, left, right, out, out, out))
        body.append("return %s : %s" % (", ".join("%%p%d" % i for i in range(products)), ", ".join([out] * products)))
        signature = "%%a: %s, %%b: %s, %s) -> (%s)" % (out, out, ", ".join(sides), ", ".join([out] * products))
        path = tmp_path / "m.mlir"
        simulate(path, signature, "\n".join(body), device)
        done = subprocess.run([TOOL, "simulate", path, "--device", device, "--json", "--ops"], capture_output=True, text=True, check=True)
        return sum(not o["fused"] for o in json.loads(done.stdout)["ops"])

    # as libtpu 0.0.51 has them
    assert [kernels(t, 2) for t in (["bf16"] * 2, ["f32", "bf16"], ["bf16"] * 3, ["f32"] * 2)] == [2, 2, 2, 3]
    assert [kernels(t, 3) for t in (["bf16"] * 2, ["f32", "bf16"], ["bf16"] * 3, ["f32"] * 2)] == [3, 4, 4, 4]


CHAIN = """%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<4096x2048xbf16>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4096x2048xbf16>) -> tensor<2048x4096xbf16>
    %2 = "stablehlo.sort"(%1) <{dimension = 1 : i64}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %c = stablehlo.compare LT, %a, %b : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<2048x4096xbf16>) -> tensor<2048x4096xbf16>
    %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<4096x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<4096x4096xbf16>
    return %3 : tensor<4096x4096xbf16>"""


def test_products_of_two_cores_are_in_main_memory(tmp_path):
    """Of the same chip a step takes longer when what products make is not kept there."""
    signature = "%x: tensor<4096x2048xbf16>, %w: tensor<2048x2048xbf16>) -> tensor<4096x4096xbf16>"
    slow_memory = {"memory_bytes_s": 50000000000}
    apart = simulate(tmp_path / "m.mlir", signature, CHAIN, profile(tmp_path / "a.json", "tpu-v5p", **slow_memory))[0]
    kept = simulate(tmp_path / "m.mlir", signature, CHAIN, profile(tmp_path / "b.json", "tpu-v5p", products_off_chip=0, **slow_memory))[0]
    assert apart["runtime_ns"] > kept["runtime_ns"] + 300000  # 16 MiB once more take 335 us


def test_long_contractions_of_what_is_in_main_memory_hand_on_results_afterwards(tmp_path):
    """14336 summands are summed in parts where the profile says so of fewer: 2048 x 4096 results at 326 G/s come on top, and the smaller operand at 1400 GB/s."""
    signature = "%x: tensor<2048x4096xbf16>, %u: tensor<4096x14336xbf16>, %v: tensor<14336x4096xbf16>) -> tensor<2048x4096xbf16>"
    body = """%0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<2048x4096xbf16>, tensor<4096x14336xbf16>) -> tensor<2048x14336xbf16>
    %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<2048x14336xbf16>, tensor<14336x4096xbf16>) -> tensor<2048x4096xbf16>
    return %1 : tensor<2048x4096xbf16>"""
    parts, whole = (simulate(tmp_path / "m.mlir", signature, body, profile(tmp_path / "p.json", "tpu-v5p", whole_summands=n))[0]["runtime_ns"] for n in (14335, 14336))
    assert parts - whole == pytest.approx(2048 * 4096 / 326 + 2 * 2048 * 14336 / 1400, abs=2)


@pytest.mark.parametrize("device, work, kernel", [("tpu-v5e", "%0, %x", "first"), ("tpu-v5p", "%0, %x", "first"), ("tpu-v6e", "%0, %x", "second"), ("tpu-v5e", "%0, %0", "second")])
def test_work_between_two_products(device, work, kernel, tmp_path):
    """In the first one's kernel where nothing else reads what that makes, and a profile says so."""
    dims = "tensor<4096x2048xbf16>"
    body = """%%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (%(d)s, tensor<2048x2048xbf16>) -> %(d)s
    %%1 = stablehlo.add %(work)s : %(d)s
    %%2 = stablehlo.dot_general %%1, %%w, contracting_dims = [1] x [0] : (%(d)s, tensor<2048x2048xbf16>) -> %(d)s
    return %%2 : %(d)s""" % {"d": dims, "work": work}
    ops = simulate(tmp_path / "m.mlir", "%%x: %s, %%w: tensor<2048x2048xbf16>) -> %s" % (dims, dims), body, device, ["--ops"])[0]["ops"]
    first, second = (o["start_ns"] for o in ops if o["name"] == "stablehlo.dot_general")
    assert [o["start_ns"] for o in ops if o["name"] == "stablehlo.add"] == [first if kernel == "first" else second] and first < second


@pytest.mark.parametrize("to, dims, alone", [("i8", [0, 1], True), ("f8E4M3FN", [1], True), ("i8", [0], False), ("bf16", [0, 1], False)])
def test_rows_of_what_is_quantised_are_reduced_by_themselves(to, dims, alone, tmp_path):
    """A product's result and its maximum come from one kernel, unless something of eight bits is made of it; the maximum of its columns does all the same."""
    one, two = "tensor<2048x2048xbf16>", "tensor<2048x8192xbf16>"
    last = "tensor<%sbf16>" % "".join("%dx" % n for i, n in enumerate((2048, 8192)) if i not in dims)
    body = """%%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (%(one)s, %(two)s) -> %(two)s
    %%1 = stablehlo.multiply %%0, %%y : %(two)s
    %%2 = stablehlo.convert %%1 : (%(two)s) -> tensor<2048x8192x%(to)s>
    %%3 = stablehlo.convert %%2 : (tensor<2048x8192x%(to)s>) -> %(two)s
    %%4 = stablehlo.dot_general %%3, %%v, contracting_dims = [1] x [0] : (%(two)s, tensor<8192x2048xbf16>) -> %(one)s
    %%5 = stablehlo.abs %%0 : %(two)s
    %%6 = stablehlo.constant dense<0.0> : tensor<bf16>
    %%7 = stablehlo.reduce(%%5 init: %%6) applies stablehlo.maximum across dimensions = %(dims)s : (%(two)s, tensor<bf16>) -> %(last)s
    return %%4, %%7 : %(one)s, %(last)s""" % {"one": one, "two": two, "to": to, "dims": dims, "last": last}
    body = body.replace("stablehlo.multiply %0, %y", "stablehlo.multiply %0, %s").replace("%1 =", "%s = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<bf16>) -> " + two + "\n    %1 =")
    signature = "%%x: %s, %%w: %s, %%v: tensor<8192x2048xbf16>, %%y: tensor<bf16>) -> (%s, %s)" % (one, two, one, last)
    times = simulate(tmp_path / "m.mlir", signature, body)[1]
    assert (times.get("reduce", 0) > 100) == alone, times


@pytest.mark.parametrize("kind, reads, cycles", [("f32", 1, 10.8), ("f32", 2, 15.2), ("f32", 3, 19.8), ("bf16", 1, 10.8), ("bf16", 3, 15.2)])
def test_elements_of_a_stream_take_time_beside_their_bytes(kind, reads, cycles, tmp_path):
    """libtpu's cycles for 1024 elements on v6e, of values in main memory."""
    value = "tensor<16384x4096x%s>" % kind
    body = "%%0 = stablehlo.multiply %%a, %s : %s\n%%1 = stablehlo.add %%0, %s : %s\nreturn %%1 : %s" % ("%b" if reads > 1 else "%a", value, "%c" if reads > 2 else "%a", value, value)
    ns = simulate(tmp_path / "m.mlir", "%%a: %s, %%b: %s, %%c: %s) -> %s" % (value, value, value, value), body, "tpu-v6e")[0]["runtime_ns"]
    assert ns * 1.75 * 1024 / (16384 * 4096) == pytest.approx(cycles, rel=.03)


def test_images_of_inputs_with_holes_count_by_so_many(tmp_path):
    """8 images with holes take as long as 32 where images count by 32, and twice that where they count by 64. Without holes 8 take less than half of 32."""
    def step(images, dilation=2, **changes):
        made = 4096 * dilation
        dims = {"x": "tensor<%dx4096x512xbf16>" % images, "w": "tensor<3x512x512xbf16>", "y": "tensor<%dx%dx512xbf16>" % (images, made)}
        body = """%%0 = stablehlo.convolution(%%x, %%w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, %d]], lhs_dilate = [%d], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s
    return %%0 : %s""" % (dilation, dilation, dims["x"], dims["w"], dims["y"], dims["y"])
        signature = "%%x: %s, %%w: %s) -> %s" % (dims["x"], dims["w"], dims["y"])
        return simulate(tmp_path / "m.mlir", signature, body, profile(tmp_path / "p.json", "tpu-v5p", **changes))[0]["runtime_ns"]

    assert step(8) == pytest.approx(step(32), rel=.1)
    assert step(8, holes_images=64) == pytest.approx(2 * step(8), rel=.1)
    assert step(8, dilation=1) < .5 * step(32, dilation=1)


def test_an_argument_that_is_there_before_the_start(tmp_path):
    """It takes the room of what the program makes until it was read last. A donated one is none."""
    def step(device, donated=""):
        sides = "tensor<8192x2048xbf16>"
        body = """%%0 = stablehlo.sine %%x : %(s)s
    %%1 = stablehlo.dot_general %%0, %%w, contracting_dims = [1] x [0] : (%(s)s, tensor<2048x2048xbf16>) -> %(s)s
    %%2 = stablehlo.dot_general %%1, %%w, contracting_dims = [1] x [0] : (%(s)s, tensor<2048x2048xbf16>) -> %(s)s
    %%3 = stablehlo.dot_general %%2, %%w, contracting_dims = [1] x [0] : (%(s)s, tensor<2048x2048xbf16>) -> %(s)s
    %%4 = stablehlo.dot_general %%3, %%big, contracting_dims = [1] x [0] : (%(s)s, tensor<2048x28672xbf16>) -> tensor<8192x28672xbf16>
    return %%4, %%big : tensor<8192x28672xbf16>, tensor<2048x28672xbf16>""" % {"s": sides}
        if not donated:
            body = body.replace("return %4, %big", "return %4").replace(" : tensor<8192x28672xbf16>, tensor<2048x28672xbf16>", " : tensor<8192x28672xbf16>")
        signature = "%%x: %s, %%w: tensor<2048x2048xbf16>, %%big: tensor<2048x28672xbf16>%s) -> %s" % (
            sides, donated, "(tensor<8192x28672xbf16>, tensor<2048x28672xbf16>)" if donated else "tensor<8192x28672xbf16>")
        return simulate(tmp_path / "m.mlir", signature, body, device)[0]["runtime_ns"]

    rates = {"memory_bytes_s": 100000000000}
    fetched = profile(tmp_path / "f.json", "tpu-v5e", **rates)
    never = profile(tmp_path / "n.json", "tpu-v5e", cross_program_prefetches=0, **rates)
    assert step(fetched) > step(never) + 100000
    assert step(fetched, " {tf.aliasing_output = 1 : i32}") == step(never, " {tf.aliasing_output = 1 : i32}")


def test_which_argument_is_there_before_the_start(tmp_path):
    """Of equal ones the one that most is made of, then the one that is read last first; behind an early reader others have its room, behind a late one they have not."""
    narrow, wide, small = "tensor<8192x2048xbf16>", "tensor<8192x28672xbf16>", "tensor<2048x2048xbf16>"
    up, down = "tensor<2048x28672xbf16>", "tensor<28672x2048xbf16>"

    def dots(*steps):
        types, now, lines = {"u": (up, wide), "d": (down, narrow), "s": (small, narrow)}, ("x", narrow), []
        for i, weight in enumerate(steps):
            of, result = types[weight[0]]
            lines.append("%%%d = stablehlo.dot_general %%%s, %%%s, contracting_dims = [1] x [0] : (%s, %s) -> %s" % (i, now[0], weight, now[1], of, result))
            now = str(i), result
        arguments = ", ".join("%%%s: %s" % (w, types[w[0]][0]) for w in sorted(set(steps)))
        ops = simulate(tmp_path / "m.mlir", "%%x: %s, %s) -> %s" % (narrow, arguments, now[1]), "\n".join(lines) + "\nreturn %%%s : %s" % now, device, ["--ops"])[0]["ops"]
        return [o["end_ns"] - o["start_ns"] for o in ops if o["name"] == "stablehlo.dot_general"]

    device = profile(tmp_path / "d.json", "tpu-v5e", memory_bytes_s=100000000000)
    never = profile(tmp_path / "n.json", "tpu-v5e", memory_bytes_s=100000000000, cross_program_prefetches=0)
    u1, d2, u3, d4 = dots("s0", "u1", "d2", "u3", "d4")[1:]
    assert u1 < u3 - 1000000 and d2 == pytest.approx(d4, rel=.02)
    chain = tuple("s%d" % i for i in range(8))
    of_profile = []
    for device in (device, never):
        of_profile.append((dots(*chain, "u8", "d9", "s10", "s11")[-1], dots("u0", "d1", "u2", "d3", *chain)[-1]))
    (late, early), (free, early_free) = of_profile
    assert late > 1.2 * free and early == early_free


def test_an_argument_of_which_nothing_is_made(tmp_path):
    """A product of no rows reads a weight that could be there before the start."""
    body = """%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<0x2048xbf16>, tensor<2048x28672xbf16>) -> tensor<0x28672xbf16>
    return %0 : tensor<0x28672xbf16>"""
    assert simulate(tmp_path / "m.mlir", "%x: tensor<0x2048xbf16>, %w: tensor<2048x28672xbf16>) -> tensor<0x28672xbf16>", body)[0]["flops_per_device"] == 0


def test_options_that_change_nothing_are_refused(tmp_path):
    for option, wanted in (({}, "expected what it changes"), ({"cross_program_prefetches": 1}, "expected 0")):
        path = profile(tmp_path / "d.json", "tpu-v5e", compiler_options=[{"name": "xla_a", "value": "1", **option}])
        done = subprocess.run([TOOL, "simulate", os.path.join(ROOT, "examples", "mlp.mlir"), "--device-file", path], capture_output=True, text=True)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr


def test_a_windowed_einsum_begins_with_zeros(tmp_path):
    """Its result is filled first and written piece by piece, and pieces are multiplied a little slower; not so where the whole operand is gathered."""
    mesh = '  sdy.mesh @mesh = <["a"=16]>\n'
    rows, columns = ('{sdy.sharding = #sdy.sharding<@mesh, [%s]>}' % dims for dims in ('{"a"}, {}', '{}, {"a"}'))
    text = """module {
%s  func.func public @main(%%x: tensor<65536x4096xbf16> %s, %%w: tensor<4096x8192xbf16> %s) -> (tensor<65536x8192xbf16> %s) {
    %%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<65536x8192xbf16>
    return %%0 : tensor<65536x8192xbf16>
  }
}
""" % (mesh, rows, columns, rows)
    (tmp_path / "m.mlir").write_text(text)
    known = json.loads(subprocess.run([TOOL, "devices", "tpu-v5e"], capture_output=True, text=True, check=True).stdout)
    whole = {key: value for key, value in known.items() if key != "windowed_bytes_s"}
    compute = []
    for device in (known, whole):
        (tmp_path / "d.json").write_text(json.dumps(device))
        done = subprocess.run([TOOL, "simulate", tmp_path / "m.mlir", "--device-file", tmp_path / "d.json", "--json", "--ops"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        compute.append(json.loads(done.stdout)["compute_ns"])
        assert '"windowed_einsum":true' in done.stdout.replace(" ", "") or device is whole
    elements = 4096 * 8192  # of the result on a device
    filled, written = elements / (1.3 * known["lone_elements_s"]["value"]), elements / known["vector_elements_s"]["value"]
    assert 0.99 <= (compute[0] - compute[1]) / 1e9 / (filled + written) < 1.05
