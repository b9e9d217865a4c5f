"""StableHLO text of a program that is kept in another form: python -m shardwright.convert FILE OUT.mlir

FILE   MLIR bytecode, what jax.export's serialize() gave, either of them pickled as bytes, or StableHLO text; also inside gzip, xz or bzip2.
       Needs jax for what is not text. Argument names, which as_text(debug_info=True) has, are there only if FILE has them.
"""
import bz2
import gzip
import io
import lzma
import pickle
import sys
from typing import Any

from .errors import Error

PACKED = ((b"\x1f\x8b", gzip.decompress), (b"\xfd7zXZ\0", lzma.decompress), (b"BZh", bz2.decompress))
BYTECODE = b"ML\xefR"
PICKLES = (b"\x80\x03", b"\x80\x04", b"\x80\x05")


class _BytesOnly(pickle.Unpickler):
    """A pickle can run anything; this one may hold bytes."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "bytearray"):
            return bytearray
        raise Error("the pickle holds %s.%s; expected the bytes of jax.export's serialize()" % (module, name))


def stablehlo_text(content: bytes) -> str:
    """Error where it is none of the forms."""
    for magic, unpack in PACKED:
        if content.startswith(magic):
            try:
                content = unpack(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
                raise Error("damaged %s data: %s" % (unpack.__module__.strip("_"), error)) from None
    if content.startswith(PICKLES):
        try:
            found = _BytesOnly(io.BytesIO(content)).load()
        except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, IndexError) as error:
            raise Error("a damaged pickle: %s" % error) from None
        if not isinstance(found, (bytes, bytearray)):
            raise Error("the pickle holds %s; expected the bytes of jax.export's serialize()" % type(found).__name__)
        content = bytes(found)
    if content.startswith(BYTECODE):
        return _text_of_bytecode(content)
    if BYTECODE in content:
        return _text_of_bytecode(_bytecode_of_export(content))
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Error("neither StableHLO nor anything that holds it") from None
    if "func.func" not in text:
        raise Error("text, but no StableHLO: there is no func.func in it")
    return text


def _text_of_bytecode(content: bytes) -> str:
    try:
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
    except ImportError as error:
        raise Error("jax reads MLIR bytecode, and is not installed: %s" % error) from None
    with mlir.make_ir_context() as context:
        try:
            module = stablehlo.deserialize_portable_artifact(context, content)
        except Exception:       # bytecode of StableHLO itself, not of its portable form
            try:
                module = ir.Module.parse(content)
            except Exception as error:
                raise Error("jax cannot read the bytecode: %s" % str(error).strip()[:500]) from None
        return str(module.operation.get_asm(enable_debug_info=True))


def _bytecode_of_export(content: bytes) -> bytes:
    """jax.export writes a flatbuffer, whose vectors stand behind their length: the program is the one that begins as bytecode does."""
    at = content.index(BYTECODE)
    size = int.from_bytes(content[at - 4:at], "little") if at >= 4 else 0
    if not len(BYTECODE) < size <= len(content) - at:
        raise Error("MLIR bytecode inside something else than jax.export's format")
    return content[at:at + size]


def main(argv: list[str]) -> int:
    if argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if len(argv) != 3:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        with open(argv[1], "rb") as f:
            text = stablehlo_text(f.read())
        with open(argv[2], "w") as out:
            out.write(text)
    except (Error, OSError) as error:
        print("shardwright.convert: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
