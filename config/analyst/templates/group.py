def aggregated(values, how):
    if how == "sum":
        return values.sum(min_count=1)
    if how == "unique":
        return values.nunique()
    return getattr(values, how)()


frame = pd.DataFrame({name: chosen[name].map(named) for name in keys}, index=chosen.index)
heads = []
for column, how, label in measures:
    heads.append(label)
    if column is None:
        values = pd.Series(1, index=chosen.index)
    elif how in ("count", "unique"):
        values = chosen[column]
    else:
        values = numbers(column).loc[chosen.index]
    frame["@" + label] = values
if not keys:
    for (column, how, label) in measures:
        fact(how + ":" + (column or ""), label, aggregated(frame["@" + label], how))
    result = pd.DataFrame([[aggregated(frame["@" + label], how) for _, how, label in measures]], columns=heads)
    table("groups", title, result)
    keep(result)
else:
    groups = frame.groupby(keys, dropna=False, sort=False)
    result = pd.DataFrame({"@" + label: aggregated(groups["@" + label], how) for _, how, label in measures})
    result = result.reset_index().rename(columns={"@" + label: label for label in heads})
    try:
        result = result.sort_values(keys, kind="stable")
    except TypeError:
        result = result.sort_values(keys, key=lambda one: one.astype(str), kind="stable")
    if order or share or pareto or not dated_keys:
        result = result.sort_values(heads[0], ascending=order == "ascending", kind="stable")
    fact("groups", labels["groups"], len(result))
    whole = result[heads[0]].sum()
    if share or pareto:
        fact("total", labels["total"], whole)
        if (result[heads[0]] < 0).any():
            note("negative_share", column=heads[0])
        result[labels["share"]] = result[heads[0]] / whole * 100 if whole else np.nan
    if pareto:
        result[labels["cumulative"]] = result[labels["share"]].cumsum()
        needed = int((result[labels["cumulative"]] < 80 - 1e-9).sum()) + 1
        fact("pareto", labels["pareto"], min(needed, len(result)))
    keep(result)
    result = result.head(limit) if limit else result
    if len(result):
        first = result.iloc[0]
        fact("first", " / ".join(str(first[name]) for name in keys) + ": " + heads[0], first[heads[0]])
    table("groups", title, result)
    if figure_file and len(result):
        drawn = result.head(30)
        if len(result) > 30:
            note("drawn", count=30, total=len(result))
        names = [math_free(" / ".join(str(part) for part in row)) for row in drawn[keys].itertuples(index=False)]
        plt.figure(figsize=(9, 5))
        if chart == "line":
            plt.plot(names, drawn[heads[0]], marker="o")
        else:
            plt.bar(names, drawn[heads[0]])
        plt.xticks(rotation=45, ha="right")
        if pareto:
            axis = plt.gca()
            right = axis.twinx()
            right.plot(names, drawn[labels["cumulative"]], color="tab:red", marker="o")
            right.set_ylabel(labels["cumulative"])
            right.set_ylim(0, 105)
            plt.sca(axis)
        figure(" / ".join(keys), heads[0])
