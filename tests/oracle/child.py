"""Run a function in a forked child, for compilers that abort the process on odd input.

Rule for everything in this folder: only children make MLIR contexts or start XLA. The pool of threads that MLIR starts
does not survive a fork, and a child that waits for it hangs.
"""
import os
import pickle
import signal
import sys
import tempfile
import traceback


class Crash(Exception):
    """The child died or raised: .args[0] says how."""


def forked(function, *args, seconds=300):
    """function(*args) in a child process; Crash if the child raises, aborts or takes longer than that.

    Standard error of the child goes to the message."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as noise:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(noise.fileno(), 2)
                signal.alarm(seconds)
                pickle.dump(function(*args), answer)
                answer.flush()
                code = 0
            except BaseException:
                os.write(noise.fileno(), traceback.format_exc().encode())
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if status:
            noise.seek(0)
            said = noise.read().decode(errors="replace").strip()
            how = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exception"
            raise Crash("%s\n%s" % (how, said[-4000:]))
        answer.seek(0)
        return pickle.load(answer)
