"""Tables: arguments that differ in a number of their path are one row, columns stay in line, and what a user should know is said."""
import os
import re
import subprocess

import pytest

TOOL = os.environ.get("SHARDWRIGHT", "build/shardwright")


def search(folder, text, *args):
    path = folder / "m.mlir"
    path.write_text(text)
    done = subprocess.run([TOOL, "search", str(path), "--mesh", "x=4", "--evaluations", "10", *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def module_of(names):
    """A sum of equal arguments with these names, as a result of another type than theirs."""
    lines = ["module @m {", "  func.func public @main(%s) -> tensor<128xf32> {" % ", ".join('%%a%d: tensor<8x16xf32> loc("%s")' % pair for pair in enumerate(names))]
    last = "a0"
    for i in range(1, len(names)):
        lines.append("    %%s%d = stablehlo.add %%%s, %%a%d : tensor<8x16xf32>" % (i, last, i))
        last = "s%d" % i
    lines.append("    %%flat = stablehlo.reshape %%%s : (tensor<8x16xf32>) -> tensor<128xf32>" % last)
    return "\n".join(lines + ["    return %flat : tensor<128xf32>", "  }", "}", ""])


def rows_of(text):
    """-> [(count, name)] of the table of arguments"""
    table = text.split("ARGUMENTS\n")[1].split("\n\n")[0].splitlines()[1:]
    return [(int(count), name) for count, name in (re.match(r" +(\d+)  (\S+)", line).groups() for line in table)]


@pytest.mark.parametrize("names,row", [
    (["p[%d]" % i for i in range(12)], "p[*]"),
    (["p['%d']['w']" % i for i in range(12)], "p['*']['w']"),
    (["p.layer_%d.w" % i for i in range(12)], "p.layer_*.w"),
    (["p['h_%d']['ln_1']" % i for i in range(12)], "p['h_*']['ln_1']"),
    (["mlp_%d/linear" % i for i in range(12)], "mlp_*/linear"),
    (["blocks.%d.fc" % i for i in range(12)], "blocks.*.fc"),
])
def test_numbers_of_paths_fold(tmp_path, names, row):
    assert rows_of(search(tmp_path, module_of(names), "--pin", '*:[["x"],[]]')[0]) == [(12, row)]


def test_numbers_of_words_stay(tmp_path):
    names = ["p['w1']", "p['w2']", "conv2d_3x3", "p['only_7']"]
    assert rows_of(search(tmp_path, module_of(names))[0]) == [(1, name) for name in names]


def test_long_names_stay_in_line(tmp_path):
    names = ["first", "state['params']['" + "a_very_long_component/" * 4 + "kernel']"]
    table = search(tmp_path, module_of(names))[0].split("ARGUMENTS\n")[1].split("\n\n")[0].splitlines()
    assert len({line.index(word) for line, word in zip(table, ("type", "tensor<", "tensor<"))}) == 1, table
    assert table[2].split()[1].startswith("state['params']") and table[2].split()[1].endswith("kernel']") and ".." in table[2]


def test_more_memory_than_usable(tmp_path):
    text = module_of(["a", "b"])
    assert "--memory 16.0 GiB is more than a program can use of tpu-v5e: 15.8 GiB" in search(tmp_path, text, "--memory", "16 GiB")[1]
    assert search(tmp_path, text, "--memory", "15GiB")[1] == ""


def test_what_is_empty_is_not_kept_whole(tmp_path):
    text = """module @m {
  func.func public @main(%a: tensor<0x8xf32>, %b: tensor<16x8xf32>) -> (tensor<2x0x4xf32>, tensor<16x8xf32>) {
    %0 = stablehlo.reshape %a : (tensor<0x8xf32>) -> tensor<2x0x4xf32>
    %1 = stablehlo.negate %b : tensor<16x8xf32>
    return %0, %1 : tensor<2x0x4xf32>, tensor<16x8xf32>
  }
}
"""
    assert "no sharding rule" not in search(tmp_path, text)[0]
