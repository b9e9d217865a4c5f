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


# ---------------------------------------------------------------- names that do not tell

def layers_of(count, names):
    """Layers of two weights and two biases, in a chain; names: as arguments are called, "" leaves them without."""
    shapes = [("w", "16x64"), ("b", "64"), ("v", "64x16"), ("c", "16")]
    args = ["%x: tensor<32x16xf32>"]
    ops, last, k = [], "x", 0
    for i in range(count):
        for role, shape in shapes:
            args.append("%%%s%d: tensor<%sxf32>%s" % (role, i, shape, ' loc("%s")' % names[k] if names[k] else ""))
            k += 1
        ops += ["%%h%d = stablehlo.dot_general %%%s, %%w%d, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>" % (i, last, i),
                "%%p%d = stablehlo.broadcast_in_dim %%b%d, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>" % (i, i),
                "%%s%d = stablehlo.add %%h%d, %%p%d : tensor<32x64xf32>" % (i, i, i),
                "%%t%d = stablehlo.tanh %%s%d : tensor<32x64xf32>" % (i, i),
                "%%o%d = stablehlo.dot_general %%t%d, %%v%d, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>" % (i, i, i),
                "%%q%d = stablehlo.broadcast_in_dim %%c%d, dims = [1] : (tensor<16xf32>) -> tensor<32x16xf32>" % (i, i),
                "%%y%d = stablehlo.add %%o%d, %%q%d : tensor<32x16xf32>" % (i, i, i)]
        last = "y%d" % i
    body = "".join("    %s\n" % line for line in ops)
    return "module @m {\n  func.func public @main(%s) -> tensor<32x16xf32> {\n%s    return %%%s : tensor<32x16xf32>\n  }\n}\n" % (", ".join(args), body, last)


WORDS = [first + second for first in ("alpha", "beta", "gamma", "delta") for second in ("", "_left", "_right")]


def test_arguments_without_names_fold_by_their_place(tmp_path):
    rows = rows_of(search(tmp_path, layers_of(12, [""] * 48))[0])
    assert sum(count for count, _ in rows) == 49 and len(rows) <= 9, rows
    assert any(re.fullmatch(r"arg\d+\.\.arg\d+", name) and count >= 10 for count, name in rows), rows


def test_layers_called_by_words_fold_by_their_place(tmp_path):
    names = ["model/%s/%s" % (word, part) for word in WORDS for part in ("dense/kernel", "dense/bias", "out/kernel", "out/bias")]
    rows = rows_of(search(tmp_path, layers_of(12, names))[0])
    assert sum(count for count, _ in rows) == 49 and len(rows) <= 9, rows
    assert {"model/*/dense/kernel", "model/*/out/kernel"} <= {name for count, name in rows if count >= 10}, rows


def test_short_tables_keep_their_names(tmp_path):
    """Seven layers fill no screen: every name is read as it is."""
    rows = rows_of(search(tmp_path, layers_of(7, [""] * 28))[0])
    assert rows == [(1, "arg%d" % i) for i in range(29)]


def test_names_that_fold_are_not_folded_again(tmp_path):
    """Where names collapse, the rows stay apart by name, however alike their places are."""
    names = ["net[%d].%s" % (i, part) for i in range(12) for part in ("up", "up_bias", "down", "down_bias")]
    rows = rows_of(search(tmp_path, layers_of(12, names), "--pin", 'net*up:[[],["x"]]')[0])
    assert [(count, name) for count, name in rows if name.startswith("net")] == [(12, "net[*]." + part) for part in ("up", "up_bias", "down", "down_bias")]


# ---------------------------------------------------------------- terminals

def on_terminal(columns, *words):
    """What the tool shows on a terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([TOOL, *words], stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: EIO once nobody has the other side
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 100])
def test_rows_are_as_wide_as_the_terminal(tmp_path, columns):
    path = tmp_path / "m.mlir"
    path.write_text(module_of(["opt_state[0].mu['params']['a_layer']['attention']['projection']['%s']" % part for part in ("kernel", "bias", "scale")]))
    shown = on_terminal(columns, "search", str(path), "--mesh", "x=4", "--evaluations", "40")
    for title in ("ARGUMENTS", "DECISIONS", "COST"):
        rows = shown.split(title + "\n")[1].split("\n\n")[0].splitlines()
        assert all(len(row) <= columns for row in rows), rows
    table = shown.split("ARGUMENTS\n")[1].split("\n\n")[0].splitlines()
    assert len({line.index(word) for line, word in zip(table, ("type", *["tensor<"] * (len(table) - 1)))}) == 1, table
    assert any(line.split()[1].startswith("opt_st") and line.split()[1].endswith("kernel']") for line in table[1:]), table
    wide = on_terminal(300, "search", str(path), "--mesh", "x=4", "--evaluations", "40")
    assert wide.split("\n  40 eval")[0].split("COST")[0] == subprocess.run([TOOL, "search", str(path), "--mesh", "x=4", "--evaluations", "40"],
                                                                         capture_output=True, text=True, check=True).stdout.split("COST")[0]


def test_names_that_would_look_alike_have_a_line_of_their_own(tmp_path):
    names = ["opt_state[0].mu['params']['encoder']['%s']['%s']['kernel']" % (part, way) for part in ("attention", "mlp") for way in ("up", "down")]
    path = tmp_path / "m.mlir"
    path.write_text(module_of(names))
    shown = on_terminal(80, "search", str(path), "--mesh", "x=4", "--evaluations", "40")
    head, below, *table = shown.split("ARGUMENTS\n")[1].split("\n\n")[0].splitlines()
    assert head.split() == ["count", "name"] and below.split()[:3] == ["role", "type", "sharding"]
    assert [line.split() for line in table[::2]] == [["1", name] for name in names]
    assert all(len(line) <= 80 for line in table)
    assert {line.index("tensor<") for line in table[1::2]} == {below.index("type")}


def test_letters_of_several_bytes_are_one_column(tmp_path):
    names = ["größe['%s']" % ("ü" * 70), "plain"]
    table = search(tmp_path, module_of(names))[0].split("ARGUMENTS\n")[1].split("\n\n")[0].splitlines()
    assert len({line.index(word) for line, word in zip(table, ("type", "tensor<", "tensor<"))}) == 1, table
    assert "..ü" in table[1]
