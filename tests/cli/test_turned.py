"""Values that products leave with another dim in the lanes than the last, for sums along that one, and the copies where they meet rows; copies of what ZeRO-2 gathers
(tests/judged/kernels.py and docs/judged.md say what libtpu 0.0.51 does)."""
import pytest

from single_kernels import rate, simulated


def transposed_s(device):
    return rate(device, "transposed_elements_s")


def centred(of, rows, columns):
    """%n: %h less the mean of its last dim."""
    value, sums = ("tensor<%sx%dxf32>" % ("x".join(map(str, rows)), columns), "tensor<%sxf32>" % "x".join(map(str, rows)))
    dims = ", ".join(map(str, range(len(rows))))
    return ["%zero = stablehlo.constant dense<0.0> : tensor<f32>",
            "%%s = stablehlo.reduce(%%%s init: %%zero) applies stablehlo.add across dimensions = [%d] : (%s, tensor<f32>) -> %s" % (of, len(rows), value, sums),
            "%%m = stablehlo.broadcast_in_dim %%s, dims = [%s] : (%s) -> %s" % (dims, sums, value),
            "%%n = stablehlo.subtract %%%s, %%m : %s" % (of, value)]


def gathered(rows, columns, product=True, flat=False):
    """Rows that are taken out of centred ones, which a product leaves or which are an argument."""
    value = "tensor<%sx%dxf32>" % ("x".join(map(str, rows)), columns)
    every = 1
    for n in rows:
        every *= n
    table, index = "tensor<%dx%dxf32>" % (every, columns), "tensor<%dx1xi32>" % every
    arguments = "%%x: tensor<%sx64xf32>, %%w: tensor<64x%dxf32>" % ("x".join(map(str, rows)), columns) if product else "%h: " + value
    lines = ["%%h = stablehlo.dot_general %%x, %%w, contracting_dims = [%d] x [0] : (tensor<%sx64xf32>, tensor<64x%dxf32>) -> %s" % (
        len(rows), "x".join(map(str, rows)), columns, value)] if product else []
    lines += centred("h", rows, columns)
    lines += ["%%t = stablehlo.reshape %%n : (%s) -> %s" % (value, table)] if flat else []
    lines += ['%%g = "stablehlo.gather"(%%%s, %%i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
              'index_vector_dim = 1>, slice_sizes = array<i64: 1, %d>}> : (%s, %s) -> %s' % ("t" if flat else "n", columns, table, index, table),
              "%%y = stablehlo.dot_general %%g, %%v, contracting_dims = [1] x [0] : (%s, tensor<%dx64xf32>) -> tensor<%dx64xf32>" % (table, columns, every)]
    return "module {\n func.func public @main(%s, %%i: %s, %%v: tensor<%dx64xf32>) -> tensor<%dx64xf32> {\n %s\n return %%y : tensor<%dx64xf32>\n }\n}\n" % (
        arguments, index, columns, every, "\n ".join(lines), every)


def gather_ns(text, tmp_path, device):
    return sum(o["end_ns"] - o["start_ns"] for o in simulated(text, tmp_path, device)["ops"] if o["name"] == "stablehlo.gather")


@pytest.mark.parametrize("device", ("tpu-v5e", "tpu-v5p", "tpu-v6e"))
def test_rows_of_a_product_that_is_summed_are_copied_for_a_gather(device, tmp_path):
    """262,144 rows of 256 numbers are 256 MiB, on no chip: they are read and written in another order. Those of an argument lie in rows."""
    turned, in_rows = (gather_ns(gathered((262144,), 256, product), tmp_path, device) for product in (True, False))
    assert turned - in_rows == pytest.approx(2 * 262144 * 256 / transposed_s(device) * 1e9, rel=0.01)


@pytest.mark.parametrize("rows, columns", (((2048,), 32768), ((262144 - 8,), 256)))
def test_fewer_rows_than_columns_are_not_turned_nor_those_that_do_not_fill_lanes(rows, columns, tmp_path):
    assert gather_ns(gathered(rows, columns), tmp_path, "tpu-v5e") == gather_ns(gathered(rows, columns, product=False), tmp_path, "tpu-v5e")


def test_what_merges_leading_dims_keeps_a_value_from_being_turned(tmp_path):
    """Batches of rows that are gathered as one list."""
    assert gather_ns(gathered((64, 4096), 256, flat=True), tmp_path, "tpu-v5e") == gather_ns(gathered((64, 4096), 256, product=False, flat=True), tmp_path, "tpu-v5e")


def updated(rows, columns, dim):
    """A weight whose gradient one dim of is cut over all devices, and that is whole behind its update."""
    weight = "tensor<%dx%dxf32>" % (rows, columns)
    cut = "[%s]" % ", ".join('{"data"}' if d == dim else "{}" for d in range(2))
    return """module {
 sdy.mesh @mesh = <["data"=8]>
 func.func public @main(%%w: %(weight)s {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, tf.aliasing_output = 0 : i32}, %%g: %(weight)s {sdy.sharding = #sdy.sharding<@mesh, %(cut)s>})
     -> (%(weight)s {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
 %%n = stablehlo.subtract %%w, %%g : %(weight)s
 %%k = sdy.sharding_constraint %%n <@mesh, %(cut)s> : %(weight)s
 return %%k : %(weight)s
 }
}
""" % {"weight": weight, "cut": cut}


def test_what_is_gathered_is_copied_into_the_result(tmp_path):
    """In parts of whole tiles once, and the argument, too, as the program reads a copy of it; other parts in another order. v6e leaves 32 MiB on the chip, from where DMA
    fetches them, and 256 MiB not."""
    def apart(rows, columns, dim, device):
        done = simulated(updated(rows, columns, dim), tmp_path, device)
        return done["compute_ns"] - sum(o["end_ns"] - o["start_ns"] for o in done["ops"] if o["stream"] == "compute" and not o["fused"])
    assert apart(8192, 8192, 0, "tpu-v5p") == apart(8192, 8192, 1, "tpu-v5p") > 4 * 8192 * 8192 * 4 / 2765
    assert apart(8000, 8000, 1, "tpu-v5p") == pytest.approx(2 * 8000 * 8064 / transposed_s("tpu-v5p") * 1e9, rel=0.01)
    assert apart(2048, 4096, 0, "tpu-v6e") == 0 < apart(8192, 8192, 0, "tpu-v6e")
    assert apart(2048, 4096, 0, "tpu-v5p") > 0


def test_windows_that_an_index_into_the_last_dim_cuts_out_leave_the_table_as_it_lies(tmp_path):
    """Four logits at a time, one for each distribution: no copy of the table with rows of four numbers in whole lanes."""
    table, places, found = "tensor<2048x4x16384xf32>", "tensor<2048x2xi32>", "tensor<2048x4xf32>"
    text = """module {
 func.func public @main(%%t: %s, %%i: %s) -> %s {
 %%g = "stablehlo.gather"(%%t, %%i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>,
   slice_sizes = array<i64: 1, 4, 1>}> : (%s, %s) -> %s
 return %%g : %s
 }
}
""" % (table, places, found, table, places, found, found)
    assert 0 < gather_ns(text, tmp_path, "tpu-v6e") < 2048 * 4 * 16384 / transposed_s("tpu-v6e") * 1e9


def test_what_one_op_makes_is_never_on_the_chip_of_v5p(tmp_path):
    """16 MiB: v5e and v6e write them to the chip, and read them there."""
    value = "tensor<16x512x512xf32>"
    text = """module {
 func.func public @main(%%x: %s) -> %s {
 %%a = stablehlo.tanh %%x : %s
 %%b = stablehlo.cholesky %%a, lower = true : %s
 return %%b : %s
 }
}
""" % ((value,) * 5)
    for device, moved in (("tpu-v5e", [16, 16]), ("tpu-v5p", [32, 32]), ("tpu-v6e", [16, 16])):
        assert [o["memory_traffic_bytes"] >> 20 for o in simulated(text, tmp_path, device)["ops"]] == moved, device
