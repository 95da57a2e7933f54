when = dates(date).loc[chosen.index]
if when.isna().any():
    note("no_date", column=date, count=int(when.isna().sum()))
period = when.dt.to_period(grain)
frame = pd.DataFrame({name: chosen[name].map(named) for name in keys}, index=chosen.index)
frame["@period"] = period.astype(str).where(when.notna())
for column, how, label in measures:
    if column is None:
        frame["@" + label] = 1
    else:
        frame["@" + label] = chosen[column] if how in ("count", "unique") else numbers(column).loc[chosen.index]
groups = frame.dropna(subset=["@period"]).groupby(["@period"] + keys, dropna=False)
parts = {}
for column, how, label in measures:
    values = groups["@" + label]
    parts["@" + label] = (values.sum(min_count=1) if how == "sum" else
                          values.nunique() if how == "unique" else getattr(values, how)())
heads = [label for _, _, label in measures]
result = pd.DataFrame(parts).reset_index().rename(columns={"@" + label: label for label in heads})
result = result.rename(columns={"@period": labels["period"]})
fact("periods", labels["periods"], result[labels["period"]].nunique())
if len(result) and not keys:
    first, last = result.iloc[0], result.iloc[-1]
    highest = result.loc[result[heads[0]].idxmax()] if result[heads[0]].notna().any() else last
    fact("first", first[labels["period"]] + ": " + heads[0], first[heads[0]])
    fact("last", last[labels["period"]] + ": " + heads[0], last[heads[0]])
    fact("highest", labels["highest"] + " " + highest[labels["period"]] + ": " + heads[0], highest[heads[0]])
table("trend", title, result)
keep(result)
if len(result):
    plt.figure(figsize=(9, 5))
    if keys:
        wide = result.pivot_table(index=labels["period"], columns=keys, values=heads[0], aggfunc="first")
        biggest = wide.sum().sort_values(ascending=False, kind="stable").index[:10]
        if len(wide.columns) > 10:
            note("drawn", count=10, total=len(wide.columns))
        for name in biggest:
            shown = " / ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
            plt.plot(wide.index, wide[name], marker="o", label=math_free(shown))
        plt.legend()
    elif chart == "bar":
        plt.bar(result[labels["period"]], result[heads[0]])
    else:
        plt.plot(result[labels["period"]], result[heads[0]], marker="o")
    places = sorted(result[labels["period"]].unique())
    plt.xticks(places[::max(1, len(places) // 24)], rotation=45, ha="right")
    figure(labels["period"], heads[0])
