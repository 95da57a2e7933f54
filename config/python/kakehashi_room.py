"""The room in the workspace: after each action only what was handed over stays, and that takes at most half of it."""

import os
import stat

# A file that could not be finished may leave a few blocks.
NEARLY_FULL = 64 * 1024


class Room:
    def __init__(self, place, own):
        """`own` are the data files, which are none of what actions have made."""
        self.place, self.own = place, frozenset(own)
        # What was handed over, oldest first.
        self.kept = []

    def keep(self, name):
        self.kept = [one for one in self.kept if one != name] + [name]

    def is_full(self):
        """What there is no more of: `bytes` or `files`."""
        about = os.statvfs(self.place)
        if about.f_ffree == 0:
            return "files"
        return "bytes" if about.f_bavail * about.f_frsize < NEARLY_FULL else ""

    def clear(self):
        """Makes room for the next action, and tells whether there is too little nevertheless."""
        with os.scandir(self.place) as entries:
            names = [entry.name for entry in entries if entry.name not in self.own]
        for name in names:
            if name not in self.kept:
                self.remove(name)
        self.kept = [name for name in self.kept if name in names]
        while self.kept and self.is_half_full():
            self.remove(self.kept.pop(0))
        return self.is_half_full()

    def is_half_full(self):
        about = os.statvfs(self.place)
        return about.f_bavail * 2 < about.f_blocks or about.f_ffree * 2 < about.f_files

    def remove(self, name):
        """Not what is nested so deep that it was made to stop this; it takes room from its own session only."""
        try:
            remove(os.path.join(self.place, name))
        except (OSError, RecursionError):
            pass


def remove(path):
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return os.unlink(path)
    os.chmod(path, 0o700)
    with os.scandir(path) as entries:
        for entry in entries:
            remove(entry.path)
    return os.rmdir(path)
