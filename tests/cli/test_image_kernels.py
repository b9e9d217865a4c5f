"""Convolutions as libtpu 0.0.51 and XLA's partitioner have them: numbers for every place beside them, channels convolved each alone, sums of gradients that are scattered
(tests/judged/kernels.py `normed`, docs/judged.md and docs/lowering-and-cost.md say what was compiled)."""
import pytest

from single_kernels import profile, rate, simulated

IMAGES, SIDE, FEATURES = 32, 32, 256


def convolution(images, kernel, result, groups=1):
    pad = kernel[0] // 2
    return ("stablehlo.convolution(%%x, %%w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[%d, %d], [%d, %d]], lhs_dilate = [1, 1], "
            "rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = %d : i64} : (%s, %s) -> %s"
            % (pad, pad, pad, pad, groups, tensor(images), tensor(kernel), tensor(result)))


def tensor(shape, element="bf16"):
    return "tensor<%sx%s>" % ("x".join(map(str, shape)), element)


def convolved(factor, side=1, factors=4, made=16):
    """A convolution of images that are multiplied by so many factors for every place, for every feature, or by none."""
    images, wide = (IMAGES, SIDE, SIDE, FEATURES), tensor((IMAGES, SIDE, SIDE, FEATURES), "f32")
    of = {"place": (images[:3], "0, 1, 2"), "feature": (images[3:], "3")}.get(factor)
    lines = []
    if of:
        lines = ["%%p0 = stablehlo.convert %%a : (%s) -> %s" % (tensor(images), wide)]
        for i in range(factors):
            lines += ["%%s%d = stablehlo.broadcast_in_dim %%m%d, dims = [%s] : (%s) -> %s" % (i, i, of[1], tensor(of[0], "f32"), wide),
                      "%%p%d = stablehlo.multiply %%p%d, %%s%d : %s" % (i + 1, i, i, wide)]
        lines.append("%%x = stablehlo.convert %%p%d : (%s) -> %s" % (factors, wide, tensor(images)))
    result = images[:3] + (made,)
    lines.append("%y = " + convolution(images, (side, side, FEATURES, made), result))
    arguments = ["%%%s: %s" % ("a" if of else "x", tensor(images)), "%%w: %s" % tensor((side, side, FEATURES, made))] + ["%%m%d: %s" % (i, tensor(of[0], "f32")) for i in range(factors if of else 0)]
    return "module {\n func.func public @main(%s) -> %s {\n %s\n return %%y : %s\n }\n}\n" % (", ".join(arguments), tensor(result), "\n ".join(lines), tensor(result))


@pytest.mark.parametrize("device", ("tpu-v5e", "tpu-v5p", "tpu-v6e"))
def test_a_number_for_every_place_is_turned_beside_a_convolution(device, tmp_path):
    took = {factor: simulated(convolved(factor), tmp_path, device)["compute_ns"] for factor in ("place", "feature")}
    turned = 4 * IMAGES * SIDE * SIDE / rate(device, "image_rows_s") * 1e9
    # the product and the memory hide a part of it
    assert turned / 3 < took["place"] - took["feature"] < 1.1 * turned


@pytest.mark.parametrize("side, passes", ((1, False), (3, True)))
def test_only_windows_that_slide_pass_arrays_again(side, passes, tmp_path):
    """A device whose vector unit is ten times as slow shows what passes through it."""
    slow = profile(tmp_path / "slow.json", "tpu-v5e", vector_elements_s=rate("tpu-v5e", "vector_elements_s") // 10)
    took = [simulated(convolved("", side), tmp_path, device)["compute_ns"] for device in ("tpu-v5e", slow)]
    assert (took[1] > 1.5 * took[0]) == passes
    assert passes or took[0] == took[1]


# Square images of three features are cut into patches of so many places, and the gradient of the patches' weights. A patch of 16 leaves fewer places than it has.
PATCHES = """module {
 func.func public @main(%%x: %s, %%y: %s) -> %s {
  %%w = stablehlo.convolution(%%x, %%y) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1],
   rhs_dilate = [%d, %d], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s
  return %%w : %s
 }
}
"""


@pytest.mark.parametrize("patch, us", ((14, 81), (16, 80), (32, 111)))
def test_gradients_of_patches(patch, us, tmp_path):
    """us: libtpu's, without the copies of the images, which have a dim of three."""
    x, y, w = (tensor(shape) for shape in ((16, 224, 224, 3), (16, 224 // patch, 224 // patch, 768), (patch, patch, 3, 768)))
    took = simulated(PATCHES % (x, y, w, patch, patch, x, y, w, w), tmp_path)["compute_ns"] / 1e3
    assert 0.6 * us < took < 1.4 * us


MESH = 'sdy.mesh @mesh = <["x"=4, "y"=4]>'


def cut(shape, axes):
    return "[%s]" % ", ".join("{%s}" % ", ".join('"%s"' % a for a in axes[d]) for d in range(len(shape)))


def annotated(kernel_axes, image_axes, groups):
    """Images of 256 channels, a 3 x 3 kernel for each or for all of them; axes of the kernel's features, and by dim of images and result."""
    images, kernel = (128, 64, 64, 256), (3, 3, 256 // groups, 256)
    at = "#sdy.sharding<@mesh, %s>"
    x, w = at % cut(images, image_axes), at % cut(kernel, ("", "", "", kernel_axes))
    return ("module attributes {mhlo.num_partitions = 16 : i32} {\n %s\n func.func public @main(%%x: %s {sdy.sharding = %s}, %%w: %s {sdy.sharding = %s}) -> (%s {sdy.sharding = %s}) {\n"
            " %%y = %s\n return %%y : %s\n }\n}\n" % (MESH, tensor(images), x, tensor(kernel), w, tensor(images), x, convolution(images, kernel, images, groups), tensor(images)))


# libtpu 0.0.51 on v5e 4x4: what it makes of the convolution, in their order; permutes in front of an all_to_all apart.
ALONE = [("xy", ("xy", "", "", ""), ["all_to_all", "all_to_all"]), ("xy", ("x", "", "", ""), ["all_to_all", "all_gather"]), ("xy", ("x", "", "", "y"), ["all_to_all", "all_to_all"]),
         ("xy", ("x", "y", "", ""), ["all_gather", "all_gather"]), ("xy", ("", "", "", "xy"), []), ("x", ("xy", "", "", ""), ["all_gather", "all_to_all"]),
         ("x", ("x", "", "", ""), ["all_to_all", "all_to_all"]), ("x", ("x", "", "", "y"), []), ("y", ("x", "", "", ""), ["all_gather"]), ("y", ("x", "", "", "y"), []), ("", ("xy", "", "", ""), [])]


@pytest.mark.parametrize("kernel, images, expected", ALONE)
def test_channels_alone_are_convolved_where_their_kernel_is(kernel, images, expected, tmp_path):
    ops = simulated(annotated(kernel, images, 256), tmp_path, "tpu-v5e", "--apply", "annotate")["ops"]
    assert [o["name"] for o in ops if o["name"] in ("all_to_all", "all_gather", "all_reduce", "reduce_scatter")] == expected


def test_a_kernel_for_all_channels_is_gathered(tmp_path):
    ops = simulated(annotated("x", ("xy", "", "", ""), 1), tmp_path, "tpu-v5e", "--apply", "annotate")["ops"]
    assert [o["name"] for o in ops if o["stream"] != "compute"] == ["all_gather"]


def gradient(result_axes, device_mesh=MESH, image_axes="xy"):
    """The gradient of a 3 x 3 kernel for 64 images, cut by the axes of these."""
    images, kernel = (64, 32, 32, 256), (3, 3, 256, 256)
    at = "#sdy.sharding<@mesh, %s>"
    x, w = at % cut(images, (image_axes, "", "", "")), at % cut(kernel, result_axes)
    return ("module attributes {mhlo.num_partitions = 16 : i32} {\n %s\n func.func public @main(%%x: %s {sdy.sharding = %s}, %%g: %s {sdy.sharding = %s}) -> (%s {sdy.sharding = %s}) {\n"
            " %%y = stablehlo.convolution(%%x, %%g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], "
            "rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s\n return %%y : %s\n }\n}\n"
            % (device_mesh, tensor(images), x, tensor(images), x, tensor(kernel), w, tensor(images), tensor(images), tensor(kernel), tensor(kernel)))


# result's axes by dim: collectives that libtpu 0.0.51 makes, and whether pieces travel in a loop beside the convolution
SUMS = [(("", "", "", "xy"), ["reduce_scatter"], True), (("", "", "xy", ""), ["reduce_scatter"], True), (("", "", "", "x"), ["reduce_scatter", "all_reduce"], False),
        (("", "", "y", ""), ["reduce_scatter", "all_reduce"], False), (("", "", "x", "y"), ["all_reduce"], False), (("", "", "", ""), ["all_reduce"], False)]


@pytest.mark.parametrize("result, expected, windowed", SUMS)
def test_sums_of_a_kernels_gradient_are_scattered_along_one_dim(result, expected, windowed, tmp_path):
    ops = [o for o in simulated(gradient(result), tmp_path, "tpu-v5e", "--apply", "annotate")["ops"] if o["stream"] != "compute"]
    assert [o["name"] for o in ops] == expected
    assert any(o.get("windowed_einsum") for o in ops) == windowed


@pytest.mark.parametrize("axes, windowed", (("xy", True), ("y", False)))
def test_convolutions_are_windowed_over_all_devices_alone(axes, windowed, tmp_path):
    text = gradient(("", "", "", axes), MESH.replace('"x"=4', '"x"=2'), axes).replace("num_partitions = 16", "num_partitions = 8")
    ops = simulated(text, tmp_path, "tpu-v6e", "--apply", "annotate")["ops"]
    assert [bool(o.get("windowed_einsum")) for o in ops if o["stream"] != "compute"] == [windowed]
