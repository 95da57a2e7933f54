"""Finds where the table of a CSV file begins: below which titles, and whether its first row names the columns."""

from collections import Counter
import re

import kakehashi_column as column

# Lines above a table, such as the name of a report.
MOST_TITLES = 20
# Rows by which the kind of a column is judged.
LOOKED_AT = 50
MISSING = {"", "-", "na", "n/a", "nan", "null", "none"}
YEARS = range(1900, 2101)
LEAST_NUMBERED = 4
LONGEST_TITLE = 200


class Header:
    """`names` as they stand there; `lines` of the file come before the first row."""

    def __init__(self, names, lines):
        self.names, self.lines = names, lines


def find(rows, told):
    """`rows` are those that are not blank, each with the number of the line that it ends on."""
    cells = [[one.strip() for one in row] for _, row in rows]
    first = first_row(cells)
    width = len(cells[first])
    has_names = is_header(cells, first)
    body = cells[first + 1 :] if has_names else cells[first:]
    wide = usual_width(body, width)
    if first > 0:
        title = " / ".join(" ".join(one for one in row if one) for row in cells[:first])
        told.append({"kind": "title_rows", "count": first, "text": title[:LONGEST_TITLE]})
    if not has_names:
        told.append({"kind": "no_header"})
        names = [f"column_{number}" for number in range(1, wide + 1)]
        return Header(names, rows[first - 1][0] if first else 0)
    surplus = [f"column_{number}" for number in range(width + 1, wide + 1)]
    if surplus:
        told.append({"kind": "short_header", "found": width, "expected": wide, "names": ", ".join(surplus)})
    return Header(rows[first][1] + surplus, rows[first][0])


def first_row(cells):
    """The first row that is no title: titles have fewer cells than the rows of the table."""
    counted = Counter(len(row) for row in cells)
    width = max(counted, key=lambda one: (counted[one], one))
    first, last = 0, min(len(cells) - 1, MOST_TITLES)
    while first < last and filled(cells[first]) < max(min(width, 2), (width + 1) // 2):
        first += 1
    # A title may have as many cells as half of a row, but the names of the columns have more and stand over numbers.
    while first < last and filled(cells[first]) < filled(cells[first + 1]) and names_others(cells, first + 1):
        first += 1
    # Not a title after all, but a header with few names.
    if first > 0 and len(cells[first - 1]) > 1 and not is_header(cells, first):
        return first - 1
    return first


def is_header(cells, at):
    """No, if it has numbers or dates where the rows below have them too."""
    row, body = cells[at], cells[at + 1 : at + 1 + LOOKED_AT]
    if names_others(cells, at):
        return True
    numbers = [one for one in row if kind(one) in ("number", "date")]
    if not numbers:
        return True
    if not body or len(set(numbers)) < len(numbers):
        return False
    below = [one for one in body[0] if kind(one) in ("number", "date")]
    return counts(numbers) and not counts(below)


def names_others(cells, at):
    """Whether something else stands in this row than in the columns below it."""
    row, body = cells[at], cells[at + 1 : at + 1 + LOOKED_AT]
    for place, cell in enumerate(row):
        below = kind_below(body, place)
        if below and kind(cell) and kind(cell) != below:
            return True
    return False


def counts(texts):
    """Years, or numbers from 1 on, which may be names."""
    if not all(re.fullmatch(r"[0-9]{1,4}", one) for one in texts):
        return False
    numbers = [int(one) for one in texts]
    if all(one in YEARS for one in numbers):
        return True
    return len(numbers) >= LEAST_NUMBERED and numbers == list(range(1, len(numbers) + 1))


def kind_below(body, place):
    kinds = [kind(row[place]) for row in body if place < len(row)]
    counted = Counter(one for one in kinds if one)
    if not counted:
        return None
    (most, count), = counted.most_common(1)
    return most if count * 5 >= counted.total() * 4 else None


def kind(cell):
    if cell.casefold() in MISSING:
        return None
    if column.is_number(cell):
        return "number"
    return "date" if column.date_formats(cell) else "text"


def filled(row):
    return sum(bool(one) for one in row)


def usual_width(body, width):
    """That of the header, unless most rows are wider."""
    wider = Counter(len(row) for row in body if len(row) > width)
    if wider.total() * 2 <= len(body):
        return width
    return max(wider, key=lambda one: (wider[one], one))


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
