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


class Resident:
    """A child that stays: calls of module-level functions without a fork each. One that dies is replaced at the next call."""

    def __init__(self):
        self.child = None

    def __call__(self, function, *args):
        if self.child is None:
            self.start()
        try:
            pickle.dump((function, args), self.to)
            self.to.flush()
            worked, answer = pickle.load(self.back)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            raise Crash("died in %s" % function.__name__) from None
        if not worked:
            raise Crash(answer)
        return answer

    def start(self):
        requests, to = os.pipe()
        back, answers = os.pipe()
        sys.stdout.flush()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.close(to)
                os.close(back)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                with os.fdopen(requests, "rb") as source, os.fdopen(answers, "wb") as sink:
                    while True:
                        function, args = pickle.load(source)
                        try:
                            answer = True, function(*args)
                        except Exception:  # noqa: BLE001
                            answer = False, traceback.format_exc()
                        pickle.dump(answer, sink)
                        sink.flush()
            finally:
                os._exit(0)
        os.close(requests)
        os.close(answers)
        self.to, self.back = os.fdopen(to, "wb"), os.fdopen(back, "rb")

    def close(self):
        if self.child is not None:
            for end in (self.to, self.back):
                try:
                    end.close()
                except BrokenPipeError:
                    pass
            os.waitpid(self.child, 0)
            self.child = None
