frame = pd.DataFrame({name: chosen[name].map(named) for name in keys}, index=chosen.index)
heads = []
for column, how, label in measures:
    heads.append(label)
    frame["@" + label] = measured(column, how)
if not keys:
    for (column, how, label) in measures:
        fact(how + ":" + (column or ""), label, computed(frame["@" + label], how))
    result = pd.DataFrame([[computed(frame["@" + label], how) for _, how, label in measures]], columns=heads)
    table("groups", title, result)
    keep(result)
else:
    groups = frame.groupby(keys, dropna=False, sort=False)
    result = pd.DataFrame({"@" + label: computed(groups["@" + label], how) for _, how, label in measures})
    result = result.reset_index().rename(columns={"@" + label: label for label in heads})
    try:
        result = result.sort_values(keys, kind="stable")
    except TypeError:
        result = result.sort_values(keys, key=lambda one: one.astype(str), kind="stable")
    if order or share or pareto or not dated_keys:
        result = result.sort_values(heads[0], ascending=order == "ascending", kind="stable")
    fact("groups", labels["groups"], len(result))
    whole = result[heads[0]].sum()
    if is_compared and len(measures) == 1:
        together = computed(frame["@" + heads[0]], measures[0][1])
        for row in result.head(TIES).to_dict("records"):
            fact("answer", " / ".join(str(row[name]) for name in keys) + ": " + heads[0], row[heads[0]])
        if len(result) == 2:
            fact("difference", labels["difference"], result[heads[0]].max() - result[heads[0]].min())
        fact("together", labels["all_together"] + ": " + heads[0], together)
    if share or pareto:
        fact("total", labels["total"], whole)
        if (result[heads[0]] < 0).any():
            note("negative_share", column=heads[0])
        result[labels["share"]] = result[heads[0]] / whole * 100 if whole else np.nan
    if pareto:
        result[labels["cumulative"]] = result[labels["share"]].cumsum()
        needed = int((result[labels["cumulative"]] < 80 - 1e-9).sum()) + 1
        fact("pareto", labels["pareto"], min(needed, len(result)))
    wanted = [folded(one) for one in focus]
    if wanted:
        of = result[result[keys[0]].map(folded).isin(wanted)]
        shared = of[labels["share"]].sum() if len(of) else 0.0
        fact("answer", ", ".join(focus) + ": " + labels["share"], shared)
    keep(result)
    result = result.head(limit) if limit else result
    if len(result) and not is_compared and not wanted:
        is_named = ~result[keys].isin([labels["missing"]]).all(axis=1)
        ranked = result[is_named] if is_named.any() else result
        answer("first", heads[0], ranked, heads[0], lambda row: " / ".join(str(row[name]) for name in keys))
        first = ranked.iloc[0][heads[0]]
        for row in ranked[ranked[heads[0]] != first].head(TIES - 1).to_dict("records"):
            fact("next", " / ".join(str(row[name]) for name in keys) + ": " + heads[0], row[heads[0]])
    table("groups", title, result)
    if figure_file and len(result):
        drawn = result.head(30)
        if len(result) > 30:
            note("drawn", count=30, total=len(result))
        names = [math_free(" / ".join(str(part) for part in row)) for row in drawn[keys].itertuples(index=False)]
        plt.figure(figsize=(9, 5))
        is_pie = chart == "pie" and (result[heads[0]].fillna(0) >= 0).all() and result[heads[0]].sum() > 0
        if chart == "pie" and not is_pie:
            note("no_pie")
        if is_pie:
            ranked = result.sort_values(heads[0], ascending=False, kind="stable")
            parts = ranked[heads[0]].fillna(0).head(10).tolist()
            names = [math_free(" / ".join(str(part) for part in row)) for row in ranked[keys].head(10).itertuples(index=False)]
            rest = whole - sum(parts)
            if len(ranked) > 10 or rest > 1e-9 * whole:
                note("pie_rest", count=len(parts))
                names, parts = names + [labels["other"]], parts + [rest]
            plt.pie(parts, labels=names, autopct="%.1f%%", startangle=90, counterclock=False)
        elif chart == "line":
            plt.plot(names, drawn[heads[0]], marker="o")
        else:
            plt.bar(names, drawn[heads[0]])
        if not is_pie:
            plt.xticks(rotation=45, ha="right")
        if pareto:
            axis = plt.gca()
            right = axis.twinx()
            right.plot(names, drawn[labels["cumulative"]], color="tab:red", marker="o")
            right.set_ylabel(labels["cumulative"])
            right.set_ylim(0, 105)
            plt.sca(axis)
        figure("" if is_pie else " / ".join(keys), "" if is_pie else heads[0])
