"""Reads a CSV file of unknown make, and says what it found and what it repaired.

Runs in a locked child only: a file may be made to break its reader.
"""

import csv
import io
import json
import math
import os
import re
import warnings
from collections import Counter

import pandas as pd

import kakehashi_column as column
import kakehashi_header as header

# Larger files are read in part, because all of it would not fit into the memory of one action.
LARGE = 50 * 1000 * 1000
# What a part may take in memory.
PART = 150 * 1000 * 1000
CHUNK_ROWS = 50_000
SAMPLE = 256 * 1024
SAMPLE_ROWS = 500
DELIMITERS = ",;\t|"
MOST_WARNINGS = 50
HEAD_ROWS = 5
LONGEST_CELL = 1000
# All cells that are told together.
MOST_TOLD = 100_000
MOST_VALUES, LONGEST_VALUE = 200, 60
# How the files begin that people send most often instead of a table.
MADE_BY = {
    b"PK\x03\x04": "an Excel workbook or a ZIP archive", b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file", b"\x1f\x8b": "a compressed file", b"SQLite format 3": "a database",
    b"%PDF": "a PDF document", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"GIF8": "a picture",
}
MOST_ODD = 10


class NotATable(Exception):
    """What it is instead; the text is for people."""

    def __init__(self, found):
        super().__init__(f"it is {found}; export the table as CSV and send that")


def describe(path):
    """What is in the file, and under `recipe` how it is read again in the same way."""
    told = []
    recipe = find_recipe(path, told)
    if recipe is None:
        return {
            "shape": [0, 0], "columns": [], "dtypes": {}, "head": [], "encoding": "utf-8", "delimiter": ",",
            "warnings": [{"kind": "empty_file"}], "sampled": None, "values": {}, "dates": {}, "recipe": None,
        }
    dates = survey(path, recipe, told)
    frame, sampled = load(path, recipe)
    if len(frame) == 0:
        told.append({"kind": "header_only"})
    return {
        "shape": [recipe["rows"], len(frame.columns)],
        "columns": list(frame.columns),
        "dtypes": {name: str(kind) for name, kind in frame.dtypes.items()},
        "head": records(frame.head(HEAD_ROWS)),
        "encoding": recipe["encoding"],
        "delimiter": recipe["delimiter"],
        "warnings": bounded(told),
        "sampled": sampled,
        "values": values(frame, recipe),
        "dates": dates,
        "recipe": recipe,
    }


def bounded(told):
    if len(told) <= MOST_WARNINGS:
        return told
    kept = told[: MOST_WARNINGS - 1]
    return [*kept, {"kind": "more_warnings", "count": len(told) - len(kept)}]


def load(path, recipe, columns=None, rows=None):
    """The table, and how much of it was read if that is not all. Chosen columns are those of the same rows."""
    if recipe is None:
        return pd.DataFrame(), None
    names = recipe["columns"]
    chosen = names if columns is None else [name for name in names if name in set(columns)]
    missing = [name for name in columns or [] if name not in names]
    if missing:
        raise KeyError(f"there is no column {missing[0]!r}; there are: {', '.join(names)}")
    kept, room = [], math.inf if rows is None else rows
    # At once takes less memory, but then all of it is read.
    at_once = columns is None and rows is None and recipe["share"] == 1
    for piece in pieces(path, recipe, chosen, None if at_once else CHUNK_ROWS):
        if rows is None and recipe["share"] < 1:
            piece = piece.sample(frac=recipe["share"], random_state=0).sort_index()
        kept.append(piece.head(room) if len(piece) > room else piece)
        room -= len(kept[-1])
        if room <= 0:
            break
    frame = kept[0].reset_index(drop=True) if len(kept) == 1 else pd.concat(kept, ignore_index=True)
    if columns is not None:
        frame = frame[list(columns)]
    is_part = rows is None and len(frame) < recipe["rows"]
    return frame, {"rows_read": len(frame), "rows_total": recipe["rows"]} if is_part else None


def pieces(path, recipe, chosen, chunk_rows):
    """All rows of these columns, with the types of the recipe. There is at least one piece."""
    kinds = dict(zip(recipe["columns"], recipe["kinds"]))
    plain = {"int": "int64", "float": "float64", "bool": "bool"}
    types = {name: plain.get(kinds[name], "str") for name in chosen}
    for piece in raw_pieces(path, recipe, types, [], chunk_rows):
        read = {name: column.numbers(piece[name], kinds[name]) for name in chosen if kinds[name] in ("point", "comma")}
        yield piece.assign(**read) if read else piece


def raw_pieces(path, recipe, types, caught, chunk_rows=CHUNK_ROWS):
    """Rows of as many cells as there are columns, or fewer; the others are left out and told in `caught`."""
    options = {
        "sep": recipe["delimiter"], "names": recipe["columns"], "header": None, "index_col": False,
        "on_bad_lines": "warn", "skipinitialspace": True, "dtype": types,
    }
    # Where columns are chosen, pandas leaves no row out.
    if recipe.get("skipped") == 0:
        options["usecols"] = list(types)
    # By the first row pandas decides how many cells a row has, so it gets one of our own.
    cells = ("False" if types.get(name) == "bool" else "0" for name in recipe["columns"])
    first = recipe["delimiter"].join(cells) + "\n"
    with open(path, encoding=recipe["encoding"], errors=recipe["errors"], newline="") as file:
        for _ in range(recipe["lines"]):
            file.readline()
        with warnings.catch_warnings(record=True) as now:
            warnings.simplefilter("always")
            is_first = True
            with pd.read_csv(Prefixed(first, file), iterator=True, **options) as reader:
                while (chunk := next_chunk(reader, chunk_rows)) is not None:
                    piece = chunk.iloc[1:] if is_first else chunk
                    is_first = False
                    piece = piece if len(types) == len(piece.columns) else piece[list(types)]
                    yield piece.reset_index(drop=True)
            caught.extend(now)


def next_chunk(reader, rows):
    try:
        return reader.read(rows)
    except StopIteration:
        return None


class Prefixed(io.TextIOBase):
    """A text before the rest of a file."""

    def __init__(self, first, rest):
        self.first, self.rest = first, rest

    def readable(self):
        return True

    def read(self, size=-1):
        if self.first:
            first, self.first = self.first, ""
            return first
        return self.rest.read(size)


def survey(path, recipe, told):
    """Looks at all values: completes the recipe, and returns how dates are written."""
    names = recipe["columns"]
    seen = {name: column.Column() for name in names}
    caught, rows = [], 0
    for piece in raw_pieces(path, recipe, dict.fromkeys(names, "str"), caught):
        rows += len(piece)
        for name in names:
            seen[name].take(piece[name])
    skipped = skipped_rows(caught, recipe["lines"])
    told.extend(skipped)
    delimiter = recipe["delimiter"]
    is_european = any(one.is_european() and one.kind(delimiter, False) == "comma" for one in seen.values())
    kinds = [seen[name].kind(delimiter, is_european) for name in names]
    recipe.update(kinds=kinds, rows=rows, skipped=len(skipped), share=1)
    if os.stat(path).st_size > LARGE:
        piece = next(pieces(path, recipe, names, CHUNK_ROWS))
        memory = int(piece.memory_usage(deep=True).sum()) / max(len(piece), 1)
        recipe["share"] = min(PART / max(memory * rows, 1), 1)
    texts = [name for name, kind in zip(names, kinds) if kind == "text"]
    dates = {name: seen[name].date_format() for name in texts}
    return {name: found for name, found in dates.items() if found}


def values(frame, recipe):
    """All values of the text columns that have few, as far as there is room to tell them."""
    found, room = {}, MOST_TOLD
    for name, kind in zip(recipe["columns"], recipe["kinds"]):
        if kind != "text":
            continue
        different = [str(one) for one in frame[name].dropna().unique()]
        length = sum(len(one) for one in different)
        if 0 < len(different) <= MOST_VALUES and max(map(len, different)) <= LONGEST_VALUE and length <= room:
            found[name] = different
            room -= length
    return found


def find_recipe(path, told):
    with open(path, "rb") as file:
        raw = file.read(SAMPLE)
    refuse_other_files(raw)
    is_cut = len(raw) == SAMPLE
    encoding, errors = find_encoding(path, raw), "strict"
    if encoding is None:
        encoding, errors = "utf-8", "replace"
        told.append({"kind": "undecodable"})
    text = raw.decode(encoding, "replace" if is_cut else errors).lstrip("\ufeff")
    refuse_other_texts(text, is_cut)
    if not text.strip():
        return None
    delimiter = find_delimiter(text, is_cut)
    rows = [one for one in numbered_rows(text, delimiter, is_cut) if any(cell.strip() for cell in one[1])]
    if not rows:
        return None
    found = header.find(rows, told)
    return {
        "encoding": encoding, "errors": errors, "delimiter": delimiter, "lines": found.lines,
        "columns": header.repair(found.names, told),
    }


def refuse_other_files(raw):
    for start, name in MADE_BY.items():
        if raw.startswith(start):
            raise NotATable(name)


def refuse_other_texts(text, is_cut):
    if is_json(text, is_cut):
        raise NotATable("JSON and not a table")
    start = text.lstrip()[:100].lower()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise NotATable("a page or an XML document and not a table")
    odd = sum(one in "\0\ufffd" or one < " " and one not in "\t\n\r\f\v\x1a" for one in text)
    if "\0" in text or odd * MOST_ODD > len(text):
        raise NotATable("not text")


def is_json(text, is_cut):
    text = text.lstrip()
    if not text.startswith(("{", "[")):
        return False
    try:
        found, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        # One that was cut cannot be read to its end.
        return is_cut and re.match(r'\{\s*["}]|\[\s*[\[{"\]]', text) is not None
    rest = text[end:].lstrip(" \t\r")
    return not rest or rest.startswith("\n")


def find_encoding(path, raw):
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig" if decodes(path, "utf-8-sig") else None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16" if decodes(path, "utf-16") else None
    # Letters of ASCII, which delimiters are, have a zero on one side.
    zeros = [raw[side::2].count(0) for side in (0, 1)]
    for side, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[side] * 10 > len(raw) and zeros[1 - side] * 10 < zeros[side] and decodes(path, encoding):
            # Bytes that are no text at all make letters too, but none that stand between cells.
            if set(raw.decode(encoding, "replace")) & set(DELIMITERS + "\r\n"):
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
    """The one that cuts the most lines into the same number of parts, above all one that is also in a header."""
    def quality(delimiter):
        rows = [row for _, row in numbered_rows(text, delimiter, is_cut) if row]
        counted = Counter(len(row) for row in rows)
        width = max(counted, key=lambda one: (counted[one], one), default=0)
        if width < 2:
            return (False, 0, 0)
        top = rows[: header.MOST_TITLES]
        names = any(len(row) == width and all(header.kind(one.strip()) in (None, "text") for one in row) for row in top)
        return (names, counted[width] / len(rows), width)
    best = max(DELIMITERS, key=quality)
    return best if quality(best)[2] > 1 else ","


def numbered_rows(text, delimiter, is_cut):
    """The first rows, each with the number of the line that it ends on."""
    csv.field_size_limit(len(text) + 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows = []
    for row in reader:
        rows.append((reader.line_num, row))
        if len(rows) > SAMPLE_ROWS:
            return rows
    return rows[:-1] if is_cut and len(rows) > 1 else rows


SKIPPED = re.compile(r"Skipping line (\d+): expected (\d+) fields, saw (\d+)")


def skipped_rows(caught, lines):
    """Lines are counted from the first row of our own."""
    said = (match for one in caught for match in SKIPPED.finditer(str(one.message)))
    return [
        {"kind": "skipped_row", "line": int(line) - 1 + lines, "expected": int(expected), "found": int(found)}
        for line, expected, found in (match.groups() for match in said)
    ]


def records(frame):
    longest = min(LONGEST_CELL, max(MOST_TOLD // max(frame.size, 1), 20))
    return [
        {name: plain(value, longest) for name, value in zip(frame.columns, row)}
        for row in frame.itertuples(index=False, name=None)
    ]


def plain(value, longest):
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int)):
        return value
    text = str(value)
    return text if len(text) <= longest else text[:longest] + "..."
