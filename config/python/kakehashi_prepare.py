"""The last step of making an environment: says what the closed view has to show, and makes the list of fonts.

Runs with the packages of the lock file only, before anything that nobody has read is there.
"""

import json
import os
import sys
import sysconfig

packages, fonts = sys.argv[1:]
sys.path.append(packages)
os.environ["MPLCONFIGDIR"] = fonts

import ctypes
import sqlite3
import zoneinfo

import matplotlib
import matplotlib.font_manager
import matplotlib.pyplot
import matplotlib_fontja
import numpy
import pandas
import scipy.stats
import seaborn
import sklearn.ensemble

# Fonts of the system are not there in the closed view.
find_fonts = matplotlib.font_manager.findSystemFonts
matplotlib.font_manager.findSystemFonts = lambda fontpaths=None, fontext="ttf": (
    find_fonts(fontpaths, fontext) if fontpaths else []
)
name = f"fontlist-v{matplotlib.font_manager.FontManager.__version__}.json"
for old in os.listdir(fonts):
    if old.startswith("fontlist"):
        os.unlink(os.path.join(fonts, old))
matplotlib.font_manager.json_dump(matplotlib.font_manager.FontManager(), os.path.join(fonts, name))

for extension in ("bz2", "lzma", "zlib", "decimal", "unicodedata", "csv", "json", "hashlib", "uuid"):
    try:
        __import__(extension)
    except ImportError:
        pass

standard = sorted({os.path.realpath(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib")})
with open("/proc/self/maps") as maps:
    mapped = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
inside = (*(one + "/" for one in standard), os.path.realpath(packages) + "/")
libraries = sorted(path for path in mapped if ".so" in path and path.startswith("/") and not path.startswith(inside))
print(json.dumps({"executable": os.path.realpath(sys.executable), "standard": standard, "libraries": libraries}))
