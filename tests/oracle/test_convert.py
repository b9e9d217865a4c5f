"""Programs in other forms: `search` says what they are, shardwright.convert makes text of them, and that is planned as the program itself."""
import bz2
import gzip
import io
import lzma
import os
import pickle
import subprocess
import sys

import pytest

from child import forked
from conftest import ROOT


def forms():
    """The same program as text, as bytecode, as a portable artifact, and as jax.export lays it out."""
    import jax
    import jax.export
    import jax.numpy as jnp

    def step(params, x):
        return {"w": params["w"] - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)))(params["w"])}

    jitted = jax.jit(step, donate_argnums=0)
    args = {"w": jax.ShapeDtypeStruct((64, 32), jnp.float32)}, jax.ShapeDtypeStruct((128, 64), jnp.float32)
    lowered, plain = jitted.lower(*args), io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(plain)
    exported = jax.export.export(jitted)(*args)
    portable = exported.mlir_module_serialized
    try:
        export = bytes(exported.serialize())
    except ImportError:         # needs flatbuffers: a vector behind its length is what the format has
        export = b"\x18\x00\x00\x00\x20\x00" + bytes(58) + len(portable).to_bytes(4, "little") + portable + bytes(12)
    return lowered.as_text(debug_info=True).encode(), exported.mlir_module().encode(), plain.getvalue(), bytes(portable), export


def convert(source, out):
    return subprocess.run([sys.executable, "-m", "shardwright.convert", source, out], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "clients", "python")))


def test_all_forms(tool):
    text, text_of_export, plain, portable, export = forked(forms)
    of_text, of_export = (tool("fingerprint", tool.file(t.decode())) for t in (text, text_of_export))
    for name, content in {"plain": plain, "portable": portable, "export": export, "pickle": pickle.dumps(bytearray(export)), "gzip": gzip.compress(text),
                          "xz": lzma.compress(portable), "bz2": bz2.compress(text)}.items():
        source, out = os.path.join(tool.folder, name), os.path.join(tool.folder, name + ".mlir")
        with open(source, "wb") as f:
            f.write(content)
        if name != "gzip":
            tool("search", source, "--mesh", "data=4", codes=(1,))
        done = convert(source, out)
        assert done.returncode == 0, (name, done.stderr)
        # an export is no equal program: it has attributes of its own
        assert tool("fingerprint", out) == (of_text if name in ("plain", "gzip", "bz2") else of_export), name
        assert "params['w']" in tool("search", out, "--mesh", "data=4", "--evaluations", 10), name


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


@pytest.mark.parametrize("content, said", [
    (pickle.dumps(Runs()), "pickle holds posix.mkdir"),
    (pickle.dumps({"a": 1}), "pickle holds dict"),
    (b"\x80\x04nonsense", "damaged pickle"),
    (b"\xfd7zXZ\0nonsense", "damaged"),
    (b"ML\xefRnonsense", "cannot read the bytecode"),
    (bytes(20) + b"ML\xefR" + bytes(20), "something else than jax.export"),
    (b"\xff\xfe\x00", "neither StableHLO"),
    (b"HloModule m\n", "no StableHLO"),
], ids=("code", "dict", "bad pickle", "bad xz", "bad bytecode", "no export", "bytes", "hlo"))
def test_what_cannot_be_converted(tmp_path, monkeypatch, content, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_bytes(content)
    done = convert("f", "out.mlir")
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["f"]        # nothing ran, nothing was written
