"""What a column of texts holds: numbers, however they are written, dates, or texts. All of its values decide."""

import datetime
import re

import numpy as np
import pandas as pd

SIGN = "[-+\u2212\u25b3\u25b2]?"
BEFORE = "[$\u20ac\u00a3\u00a5\uffe5]?"
AFTER = "(?:[$\u20ac\u00a3\u5186])?"


def written(whole, fraction):
    number = rf"(?!0[0-9])(?:{whole}|[0-9]+)(?:{fraction})?"
    return rf"{SIGN}{BEFORE} ?{SIGN}{number} ?{AFTER}"


# Each way to write numbers. A group is what stands between two marks of thousands.
PATTERNS = {
    "int": "[+-]?[0-9]{1,18}",
    "float": r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[+-]?[iI]nf(?:inity)?",
    "bool": "True|TRUE|true|False|FALSE|false",
    "point": written("[1-9][0-9]{0,2}(?:,[0-9]{3})+", r"\.[0-9]+"),
    "comma": written("[1-9][0-9]{0,2}(?:[. \u00a0\u202f][0-9]{3})+", ",[0-9]+"),
    "dots": r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})*|0)",
}
# What is found in some of the values, and says more about all of them.
SIGNS = {
    "padded": r"[+-]?0[0-9].*|\+[0-9]{9,}",
    "long": "[+-]?[0-9]{19,}",
    "exact": "[+-]?[0-9]{16,}",
    "mark": r".*,.*",
    "dot": r".*\..*",
    # A comma that cannot be a mark of thousands.
    "fraction": r".*(?:\..*,|,(?:[0-9]{1,2}|[0-9]{4,})(?:[^0-9\n]|$)).*",
    "digit": r"[^,.\n]*,[0-9](?:[^0-9\n].*)?",
}
ONE = {name: re.compile(f"(?:{pattern})") for name, pattern in PATTERNS.items()}
OTHER = {name: re.compile(rf"^(?!(?:{pattern})[ \t]*$)", re.M) for name, pattern in PATTERNS.items()}
SOME = {name: re.compile(rf"^(?:{pattern})$", re.M) for name, pattern in SIGNS.items()}

MONTH, DAY = "(?P<m>0?[1-9]|1[0-2])", "(?P<d>0?[1-9]|[12][0-9]|3[01])"
YEAR = "(?P<y>[0-9]{4})"
TIMES = {
    "": "",
    "%H:%M": "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]",
    "%H:%M:%S": "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]",
    "%H:%M:%S.%f": r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{1,6}",
}


def formats():
    dates = {"%Y\u5e74%m\u6708%d\u65e5": f"{YEAR}\u5e74{MONTH}\u6708{DAY}\u65e5", "%d.%m.%Y": rf"{DAY}\.{MONTH}\.{YEAR}"}
    for mark in "-/.":
        dates[f"%Y{mark}%m{mark}%d"] = re.escape(mark).join((YEAR, MONTH, DAY))
    for mark in "-/":
        dates[f"%d{mark}%m{mark}%Y"] = mark.join((DAY, MONTH, YEAR))
        dates[f"%m{mark}%d{mark}%Y"] = mark.join((MONTH, DAY, YEAR))
    for date, pattern in dates.items():
        for time, clock in TIMES.items():
            for gap in " T" if time else [""]:
                yield date + gap + time, re.compile(pattern + gap + clock)


DATES = dict(formats())


def date_formats(text):
    """In which ways a text can be read as a date."""
    if not re.search("[0-9]", text[:1] + text[-1:]):
        return []
    return [name for name, pattern in DATES.items() if is_date(pattern, text)]


def is_date(pattern, text):
    found = pattern.fullmatch(text)
    if not found:
        return False
    try:
        datetime.date(int(found["y"]), int(found["m"]), int(found["d"]))
    except ValueError:
        return False
    return True


def is_number(text):
    return any(ONE[name].fullmatch(text) for name in ("int", "float", "point", "comma"))


class Column:
    """Takes all values of a column, piece by piece, and says at the end what they are."""

    def __init__(self):
        self.can_be = set(PATTERNS)
        self.signs = set()
        self.dates = None
        self.has_missing = self.has_values = False

    def take(self, values):
        present = values.dropna()
        self.has_missing |= len(present) < len(values)
        if len(present) == 0:
            return
        self.has_values = True
        if not self.can_be and self.dates == []:
            return
        texts = [str(one) for one in present.unique().astype(object)]
        joined = "\n".join(texts)
        if joined.count("\n") >= len(texts) or "\r" in joined:
            self.can_be, self.dates = set(), []
            return
        self.can_be = {name for name in self.can_be if not OTHER[name].search(joined)}
        if self.can_be:
            self.signs |= {name for name, pattern in SOME.items() if name not in self.signs and pattern.search(joined)}
        if self.dates is None:
            self.dates = date_formats(texts[0].strip())
        self.dates = [name for name in self.dates if all(is_date(DATES[name], one.strip()) for one in texts)]

    def date_format(self):
        """Days and months that may be either are dates of no known format."""
        return self.dates[0] if self.dates and len(self.dates) == 1 else None

    def is_european(self):
        """Surely with a comma before the fraction."""
        return self.is_comma() and "fraction" in self.signs and "point" not in self.can_be

    def is_comma(self):
        return "comma" in self.can_be and "mark" in self.signs

    def kind(self, delimiter, is_european):
        """How it is read again."""
        if not self.has_values:
            return "float" if self.has_missing else "text"
        if "long" in self.signs or "padded" in self.signs or "exact" in self.signs and self.has_missing:
            return "text"
        if "int" in self.can_be:
            return "float" if self.has_missing else "int"
        if "float" in self.can_be:
            return "comma" if is_european and {"dots", "comma"} <= self.can_be and "dot" in self.signs else "float"
        if "bool" in self.can_be:
            return "text" if self.has_missing else "bool"
        # In a file with commas between its cells, 1,5 may be two answers to one question.
        if self.is_comma() and not (delimiter == "," and "digit" in self.signs):
            if "point" not in self.can_be or is_european or delimiter == ";":
                return "comma"
        return "point" if "point" in self.can_be else "text"


def numbers(values, kind):
    """Texts as numbers, each different one read once."""
    codes, texts = pd.factorize(values)
    read = [number(str(text), kind) for text in texts]
    is_whole = all(isinstance(one, int) and abs(one) < 2**63 for one in read) and not (codes < 0).any()
    if is_whole:
        return np.array(read, dtype="int64")[codes]
    # What is missing has the code -1.
    return np.array([*read, np.nan], dtype="float64")[codes]


def number(text, kind):
    digits = re.sub("[^0-9.,]", "", text)
    digits = digits.replace(".", "").replace(",", ".") if kind == "comma" else digits.replace(",", "")
    value = float(digits) if "." in digits else int(digits)
    return -value if re.search("[-\u2212\u25b3\u25b2]", text) else value
