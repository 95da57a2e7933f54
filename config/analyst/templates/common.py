# Helpers of every analysis. Lines that begin with @ are for the report; all other lines are for people.
import json
import unicodedata

MOST_ROWS = 50
LONGEST_CELL = 120
MOST_SAVED_ROWS = 10_000
TIES = 5


def plain(value):
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.10g}") if np.isfinite(value) else None
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d" if value == value.normalize() else "%Y-%m-%d %H:%M:%S")
    return str(value)[:LONGEST_CELL]


def tell(mark, content):
    print("@" + mark + " " + json.dumps(content, ensure_ascii=False))


def say(text):
    for line in str(text).splitlines():
        print(" " + line if line.startswith("@") else line)


def fact(name, label, value):
    tell("fact", {"name": name, "label": label, "value": plain(value)})


def note(name, **values):
    tell("note", {"name": name, **{key: str(plain(value)) for key, value in values.items()}})


def table(name, label, frame):
    rows = [[plain(cell) for cell in row] for row in frame.head(MOST_ROWS).itertuples(index=False, name=None)]
    columns = [str(column) for column in frame.columns]
    tell("table", {"name": name, "label": label, "columns": columns, "rows": rows, "total": len(frame)})
    say(label)
    say(frame.head(MOST_ROWS).to_string(index=False, max_colwidth=LONGEST_CELL))


def keep(frame):
    if len(frame) > MOST_SAVED_ROWS:
        note("saved", count=MOST_SAVED_ROWS, total=len(frame))
    frame.head(MOST_SAVED_ROWS).to_csv(workspace_dir + "/" + table_file, index=False, encoding="utf-8-sig")


def figure(x_label, y_label):
    plt.title(math_free(title))
    plt.xlabel(math_free(x_label))
    plt.ylabel(math_free(y_label))
    plt.tight_layout()
    plt.savefig(workspace_dir + "/" + figure_file, dpi=110)
    plt.close("all")


def math_free(text):
    # Matplotlib reads what stands between two dollar signs as a formula.
    return str(text).replace("$", r"\$")


def folded(value):
    return unicodedata.normalize("NFKC", str(value)).strip().casefold()


def numbers(column):
    series = df[column]
    if pd.api.types.is_numeric_dtype(series):
        return series.astype("float64")
    text = series.dropna().map(folded).str.replace(r"[,\s\u00a5$\u20ac]", "", regex=True)
    text = text.str.replace(r"^[\u25b3\u25b2]|^\((?=.*\)$)", "-", regex=True)
    text = text.str.replace(r"[\u5186\u500b\u4eba\u4ef6\u672c%)]+$", "", regex=True)
    found = pd.to_numeric(text, errors="coerce")
    if found.isna().any():
        note("not_numbers", column=column, count=int(found.isna().sum()))
    return found.reindex(series.index).astype("float64")


def dates(column):
    series = df[column]
    if not pd.api.types.is_datetime64_any_dtype(series):
        text = series.dropna().map(lambda one: unicodedata.normalize("NFKC", str(one)).strip())
        # The day is the one where it was written, and not the one in another zone.
        text = text.str.replace(r"(:\d\d(?:[.,]\d+)?)\s*(?:[zZ]|[+-]\d\d:?\d\d)$", r"\1", regex=True)
        form = date_formats.get(column)
        if form:
            found = pd.to_datetime(text, errors="coerce", format=form.replace("%z", "").strip(), exact=True)
        else:
            text = text.str.replace(r"[\u5e74\u6708]", "-", regex=True)
            text = text.str.replace("\u65e5", "", regex=False).str.rstrip("-")
            # Without its year first, day and month could be taken for each other.
            text = text.where(text.str.match(r"\d{4}(?!\d)"))
            found = pd.to_datetime(text, errors="coerce", format="mixed")
        if found.isna().any():
            note("not_dates", column=column, count=int(found.isna().sum()))
        series = found.reindex(series.index)
    return series if series.dt.tz is None else series.dt.tz_localize(None)


def compared(series, operator, value):
    if operator == "==":
        return series == value
    if operator == "!=":
        return series != value
    if operator == ">":
        return series > value
    if operator == ">=":
        return series >= value
    if operator == "<":
        return series < value
    return series <= value


def matches(column, operator, value, kind):
    series = df[column]
    if operator == "is_null":
        return series.isna()
    if operator == "not_null":
        return series.notna()
    if operator in ("!=", "not_in", "not_contains") and series.isna().any():
        note("kept_missing", column=column, count=int(series.isna().sum()))
    if operator == "not_in":
        return ~matches(column, "in", value, kind)
    if kind == "number":
        return numbers(column).isin(value) if operator == "in" else compared(numbers(column), operator, value)
    if kind == "date":
        return compared(dates(column), operator, pd.Timestamp(value))
    if kind == "month":
        month = dates(column).dt.month
        return month.isin(value if operator == "in" else [value])
    if kind == "period":
        when, found = dates(column), pd.Series(False, index=df.index)
        for start, after in value:
            found |= (when >= pd.Timestamp(start)) & (when < pd.Timestamp(after))
        return found
    text = series.map(folded, na_action="ignore")
    if operator == "in":
        return text.isin([folded(one) for one in value])
    if operator in ("contains", "not_contains"):
        found = text.map(lambda one: folded(value) in one, na_action="ignore").fillna(False).astype(bool)
        return found if operator == "contains" else ~found
    return compared(text, operator, folded(value))


def selected():
    kept = pd.Series(True, index=df.index)
    for any_of in [[one] for one in filters] + either:
        found = pd.Series(False, index=df.index)
        for column, operator, value, kind in any_of:
            found |= matches(column, operator, value, kind).fillna(False).astype(bool)
        kept &= found
    if filters or either:
        fact("rows_selected", labels["rows_selected"], int(kept.sum()))
        if not kept.any():
            for column, operator, value, kind in filters + [one for any_of in either for one in any_of]:
                usual = df[column].dropna().astype(str).value_counts().head(5).index
                note("nothing_selected", column=column, values=", ".join(usual))
    return df[kept]


def plain_text(value):
    shown = plain(value)
    return labels["missing"] if shown is None else f"{shown:g}" if isinstance(shown, float) and abs(shown) < 1e6 else str(shown)


def named(value):
    return labels["missing"] if pd.isna(value) else plain(value)


def computed(values, how):
    if how == "sum":
        return values.sum(min_count=1)
    if how == "unique":
        return values.nunique()
    if how.startswith("percentile:"):
        return values.quantile(float(how.split(":")[1]) / 100)
    return getattr(values, how)()


def measured(column, how):
    if column is None:
        return pd.Series(1, index=chosen.index)
    return chosen[column] if how in ("count", "unique") else numbers(column).loc[chosen.index]


def answer(name, label, frame, value, show):
    """The first row of a frame, with those that are equal to it."""
    first = frame.iloc[0][value]
    equal = frame[frame[value] == first] if pd.notna(first) else frame.head(1)
    shown = ", ".join(show(row) for row in equal.head(TIES).to_dict("records"))
    if len(equal) > 1:
        note("ties", count=len(equal))
        shown += " ..." if len(equal) > TIES else ""
    fact(name, shown + ": " + label, first)


def prepare(columns, how):
    global df
    if how is None:
        kept = df.dropna(subset=columns or None)
        note("dropped", count=len(df) - len(kept))
        df = kept
        return
    df = df.copy()
    for column in columns:
        values = numbers(column)
        value = computed(values, how) if isinstance(how, str) else how
        if values.isna().any():
            note("filled", column=column, count=int(values.isna().sum()), value=value)
        df[column] = values.fillna(value)


tell("title", {"text": title})
if prepared:
    prepare(*prepared)
if products:
    df = df.copy()
    for product, factors in products.items():
        df[product] = numbers(factors[0]) * numbers(factors[1])
chosen = selected()
