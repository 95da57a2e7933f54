"""Reads a CSV file of unknown make, and says what it found and what it repaired.

Runs in a locked child only: a file may be made to break its reader.
"""

import csv
import io
import math
import os
import re
import warnings

import pandas as pd

# Larger files are read in part, because all of it would not fit into the memory of one action.
LARGE = 50 * 1000 * 1000
# What a part may take in memory.
PART = 150 * 1000 * 1000
CHUNK_ROWS = 50_000
SAMPLE = 256 * 1024
DELIMITERS = ",;\t|"
MOST_WARNINGS = 50
HEAD_ROWS = 5
LONGEST_CELL = 1000


def describe(path):
    """What is in the file, and under `recipe` how it is read again in the same way."""
    told = []
    recipe = find_recipe(path, told)
    if recipe is None:
        return {
            "shape": [0, 0], "columns": [], "dtypes": {}, "head": [], "encoding": "utf-8",
            "delimiter": ",", "warnings": [{"kind": "empty_file"}], "sampled": None, "recipe": None,
        }
    frame, sampled = load(path, recipe, told=told)
    if len(frame) == 0:
        told.append({"kind": "header_only"})
    rows = sampled["rows_total"] if sampled else len(frame)
    return {
        "shape": [rows, len(frame.columns)],
        "columns": list(frame.columns),
        "dtypes": {name: str(kind) for name, kind in frame.dtypes.items()},
        "head": records(frame.head(HEAD_ROWS)),
        "encoding": recipe["encoding"],
        "delimiter": recipe["delimiter"],
        "warnings": told[:MOST_WARNINGS],
        "sampled": sampled,
        "recipe": recipe,
    }


def load(path, recipe, columns=None, rows=None, told=None):
    """The table, and how much of it was read if that is not all."""
    if recipe is None:
        return pd.DataFrame(), None
    options = {
        "sep": recipe["delimiter"], "encoding": recipe["encoding"], "encoding_errors": recipe["errors"],
        "names": recipe["columns"], "header": 0, "index_col": False, "on_bad_lines": "warn",
        "skipinitialspace": True,
    }
    if columns is not None:
        options["usecols"] = list(columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if rows is not None:
            frame, sampled = pd.read_csv(path, nrows=rows, **options), None
        elif os.stat(path).st_size > LARGE:
            frame, sampled = read_part(path, options)
        else:
            frame, sampled = pd.read_csv(path, low_memory=False, **options), None
    if told is not None:
        told.extend(skipped_rows(caught))
    return frame, sampled


def read_part(path, options):
    """The same rows each time: a share of every part of the file, or all rows if they fit."""
    share, kept, total = None, [], 0
    size = os.stat(path).st_size
    with pd.read_csv(path, chunksize=CHUNK_ROWS, **options) as chunks:
        for chunk in chunks:
            total += len(chunk)
            if share is None:
                share = share_that_fits(chunk, size, options)
            kept.append(chunk if share >= 1 else chunk.sample(frac=share, random_state=0).sort_index())
    frame = pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=options["names"])
    return frame, (None if len(frame) == total else {"rows_read": len(frame), "rows_total": total})


def share_that_fits(chunk, size, options):
    memory = int(chunk.memory_usage(deep=True).sum()) / max(len(chunk), 1)
    text = len(chunk.head(500).to_csv(index=False, header=False).encode(options["encoding"], "replace"))
    in_chosen = text / max(min(len(chunk), 500), 1)
    # With chosen columns a row in the file is longer than what is read of it, so this is on the safe side.
    rows = size / max(in_chosen, 1)
    return PART / max(memory * rows, 1)


def find_recipe(path, told):
    with open(path, "rb") as file:
        raw = file.read(SAMPLE)
    encoding = find_encoding(path, raw)
    errors = "strict"
    if encoding is None and b"\0" in raw:
        raise ValueError("it is not text; send a CSV file")
    if encoding is None:
        encoding, errors = "utf-8", "replace"
        told.append({"kind": "undecodable"})
    text = raw.decode(encoding, "replace" if len(raw) == SAMPLE else errors).lstrip("\ufeff")
    if not text.strip():
        return None
    delimiter = find_delimiter(text, len(raw) == SAMPLE)
    header = next((row for row in csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True) if row), [])
    return {"encoding": encoding, "errors": errors, "delimiter": delimiter, "columns": repair(header, told)}


def find_encoding(path, raw):
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig" if decodes(path, "utf-8-sig") else None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16" if decodes(path, "utf-16") else None
    # Letters of ASCII, which delimiters are, have a zero on one side.
    zeros = [raw[side::2].count(0) for side in (0, 1)]
    for side, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[side] * 10 > len(raw) and zeros[1 - side] * 10 < zeros[side] and decodes(path, encoding):
            return encoding
    return next((one for one in ("utf-8", "cp932") if decodes(path, one)), None)


def decodes(path, encoding):
    try:
        with open(path, encoding=encoding, newline="") as file:
            while file.read(1 << 20):
                pass
        return True
    except (UnicodeDecodeError, UnicodeError):
        return False


def find_delimiter(text, is_cut):
    """The one that cuts the most lines into the same number of parts."""
    def quality(delimiter):
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
        rows = rows[:-1] if is_cut and len(rows) > 1 else rows
        rows = rows[:500]
        width = len(rows[0]) if rows else 0
        if width < 2:
            return (0, 0)
        return (sum(len(row) == width for row in rows) / len(rows), width)
    csv.field_size_limit(len(text) + 1)
    best = max(DELIMITERS, key=quality)
    return best if quality(best)[1] > 1 else ","


def repair(header, told):
    """Names that are there, each once."""
    names, seen = [], set()
    for position, name in enumerate(header, 1):
        name = " ".join(name.split())
        if not name:
            name = f"column_{position}"
            told.append({"kind": "empty_header", "column": position, "name": name})
        repaired, count = name, 1
        while repaired in seen:
            count += 1
            repaired = f"{name}_{count}"
        if repaired != name:
            told.append({"kind": "duplicate_header", "column": position, "was": name, "name": repaired})
        seen.add(repaired)
        names.append(repaired)
    return names


SKIPPED = re.compile(r"Skipping line (\d+): expected (\d+) fields, saw (\d+)")


def skipped_rows(caught):
    said = (match for one in caught for match in SKIPPED.finditer(str(one.message)))
    return [
        {"kind": "skipped_row", "line": int(line), "expected": int(expected), "found": int(found)}
        for line, expected, found in (match.groups() for match in said)
    ]


def records(frame):
    return [
        {name: plain(value) for name, value in zip(frame.columns, row)}
        for row in frame.itertuples(index=False, name=None)
    ]


def plain(value):
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int)):
        return value
    text = str(value)
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "..."
