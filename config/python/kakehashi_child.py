"""What happens in a forked child: it locks itself in, and only then runs what nobody has read.

Everything that is done to it here holds in the kernel. The list of modules below is only there to say quickly and
clearly what is not there; it is no protection.
"""

import ast
import builtins
import ctypes
import errno
import io
import json
import linecache
import os
import re
import resource
import sys
import traceback

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

import kakehashi_reader as reader

WORKSPACE = "/workspace"
CODE = "<analysis>"
ALLOWED = frozenset(
    "pandas numpy sklearn matplotlib seaborn matplotlib_fontja __future__ "
    "json re math datetime statistics itertools collections random io textwrap decimal fractions calendar string "
    "typing functools time csv unicodedata warnings operator copy dataclasses enum zoneinfo bisect heapq numbers "
    "pprint".split()
)
LONGEST_ERROR = 16 * 1024
# Descriptors of the child: nothing, what it says, what it says, how it ended, what to do next.
RESULT, REQUESTS = 3, 4
SUCCESS, FAILED, MEMORY, DISK = b"S", b"E", b"M", b"D"

libc = ctypes.CDLL(None, use_errno=True)
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
# Everything that the first version knows, and what the later ones have added.
OF_VERSION = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF, 6: 0xFFFF}
# Devices, sockets, pipes and links.
PLANTED = 0x40 | 0x200 | 0x400 | 0x800 | 0x1000
ONLY_DIRECTORIES = 0x3FF8
CALLS_FOR_KEPT = 3600


class RulesetAttributes(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("ports", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class PathAttributes(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.c_void_p)]


class Locks:
    """Prepared in the parent, so that a child has little to do."""

    def __init__(self, filter_bytes, version, readable, seconds):
        self.version = min(max(version, 1), 6)
        self.readable = readable
        self.seconds = seconds
        self.buffer = ctypes.create_string_buffer(filter_bytes, len(filter_bytes))
        self.program = Program(len(filter_bytes) // 8, ctypes.addressof(self.buffer))
        self.seccomp = SECCOMP[os.uname().machine]

    def close(self, is_kept):
        checked(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
        checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        seconds = CALLS_FOR_KEPT if is_kept else self.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        self.restrict()
        checked(libc.syscall(self.seccomp, 1, 0, ctypes.byref(self.program)))

    def restrict(self):
        """A ruleset below the parent's: whoever is in it can neither trace nor read those who are not."""
        handled = OF_VERSION[self.version]
        attributes = RulesetAttributes(handled, 0, 3 if self.version >= 6 else 0)
        size = 24 if self.version >= 6 else 8
        ruleset = checked(libc.syscall(LANDLOCK_CREATE, ctypes.byref(attributes), size, 0))
        everything = handled & ~EXECUTE & ~PLANTED
        rules = [(path, READ_FILE | READ_DIR) for path in [*self.readable, "/proc/self"]]
        rules += [("/dev", READ_FILE | READ_DIR | WRITE_FILE), (WORKSPACE, everything)]
        for path, allowed in rules:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                allowed &= ~ONLY_DIRECTORIES
            rule = PathAttributes(allowed, opened)
            checked(libc.syscall(LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0))
            os.close(opened)
        checked(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0))
        os.close(ruleset)


def checked(result):
    if result < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))
    return result


def settle(locks, output, result, requests=None):
    """Leaves the child with nothing that is the parent's. An error here ends it before anything else runs."""
    nothing = os.open("/dev/null", os.O_RDWR)
    moved = [(nothing, 0), (output, 1), (output, 2), (result, RESULT)]
    if requests is not None:
        moved.append((requests, REQUESTS))
    # First to where nothing is in the way.
    high = [os.dup2(was, 100 + place, inheritable=False) for was, place in moved]
    for (_, place), source in zip(moved, high):
        os.dup2(source, place, inheritable=False)
    os.closerange(len(moved), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    os.chdir(WORKSPACE)
    locks.close(is_kept=requests is not None)
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
    said = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8", errors="replace", line_buffering=True)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = said


def describe(locks, output, result, name):
    settle(locks, output, result)
    try:
        info = reader.describe(os.path.join(WORKSPACE, name))
        status, text = SUCCESS, json.dumps(info, ensure_ascii=False, allow_nan=False)
    except MemoryError:
        status, text = MEMORY, ""
    except reader.NotATable as problem:
        status, text = FAILED, str(problem)
    except Exception as problem:
        status, text = FAILED, f"{type(problem).__name__}: {problem}"[:LONGEST_ERROR]
    answer(status, text)


def run_once(locks, output, result, code, recipes, chosen):
    settle(locks, output, result)
    answer(*carry_out(code, fresh_variables(), Tables(opened(recipes)), chosen))


def opened(recipes):
    """What earlier children have found out about the files."""
    return {name: json.loads(text)["recipe"] for name, text in recipes.items()}


def run_on(locks, output, result, requests, chosen):
    """Until the parent closes its end: one action after another, with the same variables."""
    settle(locks, output, result, requests)
    variables = None
    while True:
        length = int.from_bytes(exactly(REQUESTS, 4), "big")
        request = json.loads(exactly(REQUESTS, length))
        tables = opened(request["recipes"])
        if variables is None:
            variables = fresh_variables()
        answer(*carry_out(request["code"], variables, Tables(tables), chosen))


def exactly(descriptor, length):
    got = b""
    while len(got) < length:
        more = os.read(descriptor, length - len(got))
        if not more:
            os._exit(0)
        got += more
    return got


def answer(status, text):
    told = text.encode("utf-8", "replace")
    message = status + len(told).to_bytes(4, "big") + told
    while message:
        message = message[os.write(RESULT, message):]


class Tables(dict):
    """The files of the workspace as tables, each read when it is asked for."""

    def __init__(self, recipes):
        super().__init__()
        self.recipes = recipes

    def __missing__(self, name):
        self[name] = self.load(name)
        return self[name]

    def file(self, name):
        """The file of this name, which may be given without its ending."""
        if name in self.recipes:
            return name
        found = [one for one in self.recipes if os.path.splitext(one)[0] == name]
        if len(found) != 1:
            raise KeyError(f"there is no file {name!r}; there are: {', '.join(self.recipes) or 'none'}")
        return found[0]

    def load(self, name, columns=None, rows=None):
        """Only these columns, or only the first rows."""
        name = self.file(name)
        recipe = self.recipes[name]
        frame, sampled = reader.load(os.path.join(WORKSPACE, name), recipe, columns, rows)
        if sampled:
            print(f"[{name}: {sampled['rows_read']} of {sampled['rows_total']} rows were read]")
        return frame

    def __iter__(self):
        return iter(self.recipes)

    def __len__(self):
        return len(self.recipes)

    def __contains__(self, name):
        return name in self.recipes

    def keys(self):
        return self.recipes.keys()

    def values(self):
        return [self[name] for name in self.recipes]

    def items(self):
        return [(name, self[name]) for name in self.recipes]


def fresh_variables():
    own = dict(vars(builtins))
    own["__import__"] = guarded_import
    return {
        "__name__": "__main__", "__builtins__": own, "workspace_dir": WORKSPACE,
        "pd": pd, "np": np, "plt": plt, "sns": sns,
    }


def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
    # Libraries have builtins of their own: what they import for themselves does not come here.
    # Those in C do it in the name of whoever has called them, such as `datetime.strptime`, and alone pass a list.
    if level or name.partition(".")[0] not in ALLOWED and not isinstance(fromlist, list):
        raise ImportError(
            f"`{name or '.'}` cannot be imported here; allowed are pandas, numpy, sklearn, matplotlib, seaborn and of the "
            f"standard library: {', '.join(sorted(ALLOWED - OF_LIBRARIES))}"
        )
    return real_import(name, globals, locals, fromlist, level)


real_import = builtins.__import__
OF_LIBRARIES = frozenset("pandas numpy sklearn matplotlib seaborn matplotlib_fontja __future__".split())


def carry_out(code, variables, tables, chosen):
    """How it ended, and for people why."""
    figures = watch_figures()
    try:
        linecache.cache[CODE] = (len(code), None, code.splitlines(True), CODE)
        tree = ast.parse(code, CODE)
        compiled = compile(tree, CODE, "exec", dont_inherit=True)
        variables["dfs"] = tables
        if chosen is not None and "df" not in variables and uses(tree, "df"):
            variables["df"] = tables[chosen]
        exec(compiled, variables)
        figures.save_rest()
        ended = SUCCESS, ""
    except SystemExit as leaving:
        ended = (SUCCESS, "") if leaving.code in (None, 0) else (FAILED, f"SystemExit: {leaving.code}")
    except BaseException as problem:
        ended = kind_of(problem), told(problem)
    finally:
        plt.close("all")
    try:
        sys.stdout.flush()
    except Exception:
        pass
    return ended


# By these a name may be used that stands in a text only.
BY_TEXT = {"eval", "exec", "globals", "locals", "vars"}


def uses(tree, name):
    """Whether the code reads this variable before it sets it."""
    for statement in tree.body:
        names = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == name]
        if any(isinstance(one.ctx, (ast.Load, ast.Del)) for one in names) or isinstance(statement, ast.AugAssign) and names:
            return True
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and names:
            return False
    parts = list(ast.walk(tree))
    called = {getattr(one, "id", None) or getattr(one, "attr", None) for one in parts}
    texts = (one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return not called.isdisjoint(BY_TEXT) and any(re.search(rf"\b{name}\b", text) for text in texts)


def kind_of(problem):
    if isinstance(problem, MemoryError):
        return MEMORY
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return DISK if isinstance(problem, OSError) and problem.errno in full else FAILED


def told(problem):
    """A traceback with the lines of the analysis alone."""
    try:
        frames = [one for one in traceback.extract_tb(problem.__traceback__) if one.filename == CODE]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
        text = "".join(lines + traceback.format_exception_only(type(problem), problem)).strip()
    except BaseException:
        text = type(problem).__name__
    if len(text) > LONGEST_ERROR:
        text = text[: LONGEST_ERROR // 2] + "\n[...]\n" + text[-LONGEST_ERROR // 2:]
    return text


class Figures:
    """Saves at the end what is still open and was not saved."""

    def __init__(self):
        self.saved = set()

    def save_rest(self):
        count = 1
        for number in plt.get_fignums():
            figure = plt.figure(number)
            if id(figure) in self.saved or not figure.get_axes():
                continue
            while os.path.lexists(f"{WORKSPACE}/figure-{count}.png"):
                count += 1
            figure.savefig(f"{WORKSPACE}/figure-{count}.png")


def watch_figures():
    from matplotlib.figure import Figure

    figures = Figures()
    plain = getattr(Figure.savefig, "__wrapped__", Figure.savefig)

    def savefig(self, *arguments, **options):
        figures.saved.add(id(self))
        return plain(self, *arguments, **options)

    savefig.__wrapped__ = plain
    Figure.savefig = savefig
    return figures
