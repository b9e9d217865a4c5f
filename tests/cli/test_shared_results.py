"""Kernels with several results on TPU, and with many operands (libtpu 0.0.51: `words`, `operands` and `losses` in tests/judged/kernels.py). Times in us."""
import pytest
from single_kernels import rate, simulated

ROUNDS = """module {
  func.func public @main(%a: WORDS, %b: WORDS, %k: tensor<2xui32>) -> (WORDS, WORDS) {
    %n = stablehlo.slice %k [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %m = stablehlo.slice %k [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %s = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<1xui32>) -> WORDS
    %t = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1xui32>) -> WORDS
    BODY
    %y = stablehlo.add %LAST_A, %s : WORDS
    %z = stablehlo.add %LAST_B, %t : WORDS
    return %y, %z : WORDS, WORDS
  }
}
"""
ROUND = """
    %aNEXT = stablehlo.add %aLAST, %bLAST : WORDS
    %cNEXT = stablehlo.shift_left %bLAST, %s : WORDS
    %dNEXT = stablehlo.shift_right_logical %bLAST, %t : WORDS
    %eNEXT = stablehlo.or %cNEXT, %dNEXT : WORDS
    %bNEXT = stablehlo.xor %eNEXT, %aNEXT : WORDS"""
ELEMENTS = 2 ** 25


def rounds(n, between=""):
    """Two words of bits, n rounds of a cipher, a key added to each at the end."""
    body = "".join(ROUND.replace("NEXT", str(i + 1)).replace("LAST", str(i) if i else "") for i in range(n))
    text = ROUNDS.replace("BODY", body + between).replace("LAST_A", "a%d" % n).replace("LAST_B", "b%d" % n)
    return text.replace("WORDS", "tensor<%dxui32>" % ELEMENTS)


def kernels(text, tmp_path, device="tpu-v5e"):
    ops = simulated(text, tmp_path, device)["ops"]
    return [(x["name"], (x["end_ns"] - x["start_ns"]) / 1000, x["memory_traffic_bytes"]) for x in ops if not x["fused"] and x["end_ns"] - x["start_ns"] > 3000]


@pytest.mark.parametrize("n", (1, 2))
def test_two_words_of_bits_are_made_in_one_kernel(n, tmp_path):
    (name, us, traffic), = kernels(rounds(n), tmp_path)
    assert traffic == pytest.approx(4 * 4 * ELEMENTS, rel=0.01), "what both words are made of goes to memory"
    assert us == pytest.approx(818, rel=0.05)


def test_what_is_read_before_stays_a_kernel_of_its_own(tmp_path):
    """The second word waits for something that is made of the first one."""
    between = """
    %y = stablehlo.add %LAST_A, %s : WORDS
    %p = stablehlo.reshape %y : (WORDS) -> tensor<4096x8192xui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %q = stablehlo.reduce(%p init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x8192xui32>, tensor<ui32>) -> tensor<4096xui32>
    %r = stablehlo.broadcast_in_dim %q, dims = [0] : (tensor<4096xui32>) -> tensor<4096x8192xui32>
    %u = stablehlo.reshape %r : (tensor<4096x8192xui32>) -> WORDS"""
    text = rounds(2, between).replace("    %y = stablehlo.add %a2, %s : tensor<33554432xui32>\n    %z", "    %z").replace("%b2, %t", "%b2, %u")
    found = kernels(text, tmp_path)
    assert len(found) >= 2 and sum(t for _, _, t in found) > 5 * 4 * ELEMENTS


def spread(many, numbers):
    """A value times so many vectors, or single numbers."""
    kind, dims = ("tensor<f32>", "[]") if numbers else ("tensor<4096xf32>", "[1]")
    value = "tensor<8192x4096xf32>"
    lines = ["%%x%d = stablehlo.broadcast_in_dim %%v%d, dims = %s : (%s) -> %s\n %%y%d = stablehlo.multiply %%y%d, %%x%d : %s" % (i, i, dims, kind, value, i + 1, i, i, value) for i in range(many)]
    args = ", ".join("%%v%d: %s" % (i, kind) for i in range(many))
    return "module {\n func.func public @main(%%y0: %s, %s) -> %s {\n %s\n return %%y%d : %s\n }\n}\n" % (value, args, value, "\n ".join(lines), many, value)


def cycles(many, numbers, tmp_path, device):
    """For 1,024 elements."""
    return sum(us for _, us, _ in kernels(spread(many, numbers), tmp_path, device)) * rate(device, "cycles_s") / 1e6 / (8192 * 4)


@pytest.mark.parametrize("numbers", (False, True))
@pytest.mark.parametrize("device, few, many", (("tpu-v5e", 18.8, 30.9), ("tpu-v5p", 7.3, 14.4), ("tpu-v6e", 10.9, 25.3)))
def test_more_than_twelve_operands_take_longer(device, few, many, numbers, tmp_path):
    assert cycles(11, numbers, tmp_path, device) == pytest.approx(few, rel=0.05)
    assert cycles(12, numbers, tmp_path, device) == pytest.approx(many, rel=0.05)
    assert cycles(30, numbers, tmp_path, device) == pytest.approx(many, rel=0.05)


LOSS = """module {
  func.func public @main(%x: tensor<RxKxbf16>, %w: tensor<KxVxbf16>) -> (tensor<RxVxf32>, tensor<Rxf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<RxKxbf16>, tensor<KxVxbf16>) -> tensor<RxVxbf16>
    %1 = stablehlo.convert %0 : (tensor<RxVxbf16>) -> tensor<RxVxf32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<RxVxf32>, tensor<f32>) -> tensor<Rxf32>
    return %1, %2 : tensor<RxVxf32>, tensor<Rxf32>
  }
}
"""


@pytest.mark.parametrize("rows, width, words, libtpu", ((4096, 1024, 32768, 1695), (8192, 1024, 32768, 3137), (8192, 2048, 32768, 5855), (4096, 768, 50304, 2374)))
def test_logits_are_written_while_their_product_computes(rows, width, words, libtpu, tmp_path):
    text = LOSS.replace("RxKx", "%dx%dx" % (rows, width)).replace("KxVx", "%dx%dx" % (width, words)).replace("RxVx", "%dx%dx" % (rows, words)).replace("Rx", "%dx" % rows)
    assert sum(us for _, us, _ in kernels(text, tmp_path)) == pytest.approx(libtpu, rel=0.12)
