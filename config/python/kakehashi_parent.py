"""The parent inside the closed view: it has imported everything once, and forks a locked child for each action.

It reads nothing that a child has written but bounded pieces of bytes, and runs nothing of it. The gateway talks to it
in frames: four bytes of length and JSON, after which bytes may follow.
"""

import gc
import json
import os
import select
import signal
import stat
import sys

REQUESTS, ANSWERS = 200, 201


def take_pipes():
    """So that nothing that a library prints gets between the frames."""
    os.dup2(0, REQUESTS, inheritable=False)
    os.dup2(1, ANSWERS, inheritable=False)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def read_exactly(descriptor, length):
    got = bytearray()
    while len(got) < length:
        more = os.read(descriptor, min(length - len(got), 1 << 20))
        if not more:
            os._exit(0)
        got += more
    return bytes(got)


def next_request():
    return json.loads(read_exactly(REQUESTS, int.from_bytes(read_exactly(REQUESTS, 4), "big")))


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


def tell(kind, data=b"", **fields):
    header = json.dumps({"kind": kind, "bytes": len(data), **fields}).encode()
    write_all(ANSWERS, len(header).to_bytes(4, "big") + header)
    write_all(ANSWERS, data)


class Output:
    """What a child says: the beginning is passed on at once, the end is kept, and what is between is counted."""

    def __init__(self, most):
        self.head, self.most_tail = most // 2, most // 2
        self.tail, self.cut = bytearray(), 0

    def take(self, data):
        first, rest = data[: self.head], data[self.head:]
        if first:
            self.head -= len(first)
            tell("output", first)
        self.tail += rest
        too_much = len(self.tail) - self.most_tail
        if too_much > 0:
            self.cut += too_much
            del self.tail[:too_much]

    def finish(self):
        if self.tail:
            tell("tail", bytes(self.tail), cut=self.cut)


class Child:
    def __init__(self, pid, output, result, requests=None):
        self.pid, self.output, self.result, self.requests = pid, output, result, requests

    def close(self):
        for descriptor in (self.output, self.result, self.requests):
            if descriptor is not None:
                os.close(descriptor)


class Parent:
    LONGEST_RESULT = 1 << 20

    def __init__(self, hello, locks, workspace):
        self.locks, self.workspace = locks, workspace
        self.files, self.chosen = hello["files"], hello["chosen"]
        self.most_output = hello["output"]
        self.most_files, self.largest, self.most_bytes = hello["outputs"], hello["output_size"], hello["output_total"]
        self.tables, self.kept = {}, None
        self.room = room.Room(workspace, self.files)

    def serve(self):
        while True:
            request = next_request()
            if request["kind"] == "describe":
                self.describe(request["name"])
            else:
                self.run(request["code"], request["keep"])

    def describe(self, name):
        child = self.fork(lambda output, result, _: children.describe(self.locks, output, result, name))
        status, text, _ = self.watch(child, Output(0), until_end=True)
        if status == "S":
            # Not looked into here. Whoever reads it is locked in again.
            self.tables[name] = text
        tell("described", text.encode("utf-8", "replace"), status=status)

    def recipes(self):
        found = {}
        for name in self.files:
            if name not in self.tables:
                child = self.fork(lambda output, result, _: children.describe(self.locks, output, result, name))
                status, text, _ = self.watch(child, Output(0), until_end=True)
                self.tables[name] = text if status == "S" else ""
            if self.tables[name]:
                found[name] = self.tables[name]
        return found

    def run(self, code, keep):
        self.open_workspace()
        before = self.snapshot()
        recipes = self.recipes()
        output = Output(self.most_output)
        if keep:
            child = self.kept or self.start_kept()
            request = json.dumps({"code": code, "recipes": recipes}).encode()
            os.kill(child.pid, signal.SIGCONT)
            try:
                write_all(child.requests, len(request).to_bytes(4, "big") + request)
            except OSError:
                pass
        else:
            child = self.fork(
                lambda out, result, _: children.run_once(self.locks, out, result, code, recipes, self.chosen)
            )
        status, text, is_gone = self.watch(child, output, until_end=not keep)
        if keep:
            self.kept = None if is_gone else child
        output.finish()
        self.open_workspace()
        if status in "DE" and (full := self.room.is_full()):
            # Not every library says why it could not write.
            is_about_files = status == "D" or text.rpartition("\n")[2].startswith("OSError")
            status, text = ("D", full) if is_about_files else (status, text)
        skipped = self.hand_over(before)
        if self.room.clear() and self.kept:
            # It may hold files that nobody sees any more.
            os.kill(self.kept.pid, signal.SIGKILL)
            os.waitpid(self.kept.pid, 0)
            self.kept.close()
            self.kept = None
        tell("done", text.encode("utf-8", "replace"), status=status, skipped=skipped)

    def start_kept(self):
        return self.fork(
            lambda output, result, requests: children.run_on(self.locks, output, result, requests, self.chosen),
            has_requests=True,
        )

    def fork(self, work, has_requests=False):
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3 if has_requests else 2)]
        pid = os.fork()
        if pid == 0:
            try:
                work(pipes[0][1], pipes[1][1], pipes[2][0] if has_requests else None)
            finally:
                os._exit(70 if sys.exc_info()[0] else 0)
        os.close(pipes[0][1])
        os.close(pipes[1][1])
        if has_requests:
            os.close(pipes[2][0])
        os.set_blocking(pipes[0][0], False)
        os.set_blocking(pipes[1][0], False)
        return Child(pid, pipes[0][0], pipes[1][0], pipes[2][1] if has_requests else None)

    def watch(self, child, output, until_end):
        """Until it has ended, or in the other case has told how the action did. The gateway looks at the clock."""
        told, open_ones = bytearray(), {child.output, child.result}
        poll = select.poll()
        for one in open_ones:
            poll.register(one, select.POLLIN)
        while open_ones:
            for ready, _ in poll.poll():
                data = read_some(ready)
                if data is None:
                    continue
                if not data:
                    poll.unregister(ready)
                    open_ones.discard(ready)
                elif ready == child.output:
                    output.take(data)
                elif len(told) < self.LONGEST_RESULT:
                    told += data
            if is_forged(told, self.LONGEST_RESULT):
                # No honest child says this. Waiting for the rest of it would take until the clock ends everything.
                os.kill(child.pid, signal.SIGKILL)
                told.clear()
                until_end, open_ones = True, set()
            elif not until_end and is_complete(told):
                # It stands still until it is asked again, so that it cannot change files while they are read.
                os.kill(child.pid, signal.SIGSTOP)
                while data := read_some(child.output):
                    output.take(data)
                return *understood(told), False
        _, ended = os.waitpid(child.pid, 0)
        child.close()
        if os.WIFSIGNALED(ended):
            return "K", str(os.WTERMSIG(ended)), True
        if not is_complete(told):
            return "K", "0", True
        return *understood(told), True

    def open_workspace(self):
        try:
            os.chmod(self.workspace, 0o700)
        except OSError:
            pass

    def snapshot(self):
        found = {}
        with os.scandir(self.workspace) as entries:
            for entry in entries:
                found[entry.name] = mark(entry.stat(follow_symlinks=False))
        return found

    def hand_over(self, before):
        """Tells of every file that is new or has changed; returns what was left out and why."""
        skipped, handed, total = [], 0, 0
        with os.scandir(self.workspace) as entries:
            found = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name) for entry in entries)
        for _, name in found:
            if name in self.files:
                continue
            try:
                data = self.read_output(name, before.get(name))
            except Refused as why:
                skipped.append([shown(name), str(why)])
                continue
            except OSError:
                skipped.append([shown(name), "unreadable"])
                continue
            if data is None:
                continue
            if handed == self.most_files:
                skipped.append([shown(name), "many"])
            elif total + len(data) > self.most_bytes:
                skipped.append([shown(name), "total"])
            else:
                handed, total = handed + 1, total + len(data)
                self.room.keep(name)
                tell("file", data, name=name)
        return skipped[:50]

    def read_output(self, name, was):
        path = os.path.join(self.workspace, name)
        seen = os.lstat(path)
        if mark(seen) == was:
            return None
        check(seen, self.largest)
        if not is_plain(name):
            raise Refused("name")
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            check(os.fstat(opened), self.largest)
            data = bytearray()
            while more := os.read(opened, 1 << 20):
                data += more
                if len(data) > self.largest:
                    raise Refused("large")
            return bytes(data)
        finally:
            os.close(opened)


class Refused(Exception):
    pass


def check(about, largest):
    if stat.S_ISDIR(about.st_mode):
        raise Refused("directory")
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        raise Refused("link")
    if about.st_size > largest:
        raise Refused("large")


def is_plain(name):
    """A name that is one on every system, and that no program takes for anything else."""
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < length <= 120 and name[0] not in ".-~ " and name[-1] not in ". " and name.isprintable() and not set(name) & set('/\\:*?"<>|')


def shown(name):
    return name.encode("utf-8", "backslashreplace").decode("utf-8", "replace")[:120]


def mark(about):
    return (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def read_some(descriptor):
    """`None`: there is nothing now."""
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def is_forged(told, longest):
    return bool(told) and (chr(told[0]) not in "SEMD" or len(told) >= 5 and int.from_bytes(told[1:5], "big") > longest - 5)


def is_complete(told):
    return len(told) >= 5 and len(told) >= 5 + int.from_bytes(told[1:5], "big")


def understood(told):
    length = int.from_bytes(told[1:5], "big")
    return chr(told[0]), bytes(told[5:5 + length]).decode("utf-8", "replace")


def import_libraries():
    import ctypes

    import numpy
    import pandas
    import scipy.stats
    import sklearn.cluster
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection
    import sklearn.preprocessing

    # A process that cannot be dumped cannot be read or traced by its children either.
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def main():
    global children, room
    sys.path += ["/python/packages", "/python/program"]
    take_pipes()
    hello = next_request()
    import kakehashi_charts

    kakehashi_charts.prepare()
    import_libraries()
    import kakehashi_child as children
    import kakehashi_room as room

    locks = children.Locks(bytes.fromhex(hello["filter"]), hello["landlock"], hello["readable"], hello["seconds"])
    gc.collect()
    gc.freeze()
    tell("ready")
    Parent(hello, locks, children.WORKSPACE).serve()


if __name__ == "__main__":
    main()
