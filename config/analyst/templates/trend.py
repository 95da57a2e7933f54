when = dates(date).loc[chosen.index]
if when.isna().any():
    note("no_date", column=date, count=int(when.isna().sum()))
days = [labels[day] for day in ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]]
comes_again = grain in ("weekday", "hour")
head = labels["day"] if grain == "weekday" else labels["hour"] if grain == "hour" else labels["period"]
period = when.dt.day_of_week if grain == "weekday" else when.dt.hour if grain == "hour" else when.dt.to_period(grain)
frame = pd.DataFrame({name: chosen[name].map(named) for name in keys}, index=chosen.index)
frame["@period"] = (period if comes_again else period.astype(str)).where(when.notna())
for column, how, label in measures:
    frame["@" + label] = measured(column, how)
frame = frame.dropna(subset=["@period"])
groups = frame.groupby(["@period"] + keys, dropna=False)
parts = {"@" + label: computed(groups["@" + label], how) for _, how, label in measures}
heads = [label for _, _, label in measures]
result = pd.DataFrame(parts).reset_index().rename(columns={"@" + label: label for label in heads})
if grain == "weekday":
    result["@period"] = result["@period"].map(lambda day: days[int(day)])
elif grain == "hour":
    result["@period"] = result["@period"].map(lambda hour: f"{int(hour):02d}:00")
result = result.rename(columns={"@period": head})
in_time = list(dict.fromkeys(result[head]))
if share:
    whole = result[heads[0]].sum()
    result[labels["share"]] = result[heads[0]] / whole * 100 if whole else np.nan
ranked = result.sort_values(heads[0], ascending=order == "ascending", kind="stable")
shown = lambda row: " / ".join(str(row[name]) for name in [head] + keys)
if is_compared and len(result):
    for row in result.head(TIES).to_dict("records"):
        fact("answer", shown(row) + ": " + heads[0], row[heads[0]])
    if len(result) == 2:
        fact("difference", labels["difference"], result[heads[0]].iloc[1] - result[heads[0]].iloc[0])
    fact("together", labels["all_together"] + ": " + heads[0], computed(frame["@" + heads[0]], measures[0][1]))
elif len(result) and order:
    answer("answer", heads[0], ranked, heads[0], shown)
fact("periods", labels["periods"], result[head].nunique())
if len(result) and not keys and not is_compared:
    best = result.sort_values(heads[0], ascending=False, kind="stable")
    if not order:
        answer("highest", heads[0], best, heads[0], lambda row: labels["highest"] + " " + str(row[head]))
    if comes_again and not order:
        least = result.sort_values(heads[0], kind="stable")
        answer("lowest", heads[0], least, heads[0], lambda row: labels["lowest"] + " " + str(row[head]))
    elif not comes_again:
        first, last = result.iloc[0], result.iloc[-1]
        fact("first", first[head] + ": " + heads[0], first[heads[0]])
        fact("last", last[head] + ": " + heads[0], last[heads[0]])
listed = ranked if order else result
listed = listed.head(limit) if limit else listed
table("trend", title, listed)
keep(listed)
if len(result):
    plt.figure(figsize=(9, 5))
    is_pie = chart == "pie" and (result[heads[0]].fillna(0) >= 0).all() and result[heads[0]].sum() > 0
    if chart == "pie" and not is_pie:
        note("no_pie")
    if keys:
        wide = result.pivot_table(index=head, columns=keys, values=heads[0], aggfunc="first").reindex(in_time)
        biggest = wide.sum().sort_values(ascending=False, kind="stable").index[:10]
        if len(wide.columns) > 10:
            note("drawn", count=10, total=len(wide.columns))
        for name in biggest:
            called = " / ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
            plt.plot(wide.index, wide[name], marker="o", label=math_free(called))
        plt.legend()
    elif is_pie:
        plt.pie(result[heads[0]].fillna(0), labels=[str(name) for name in result[head]], autopct="%.1f%%", startangle=90, counterclock=False)
    elif chart == "bar" or (comes_again and chart != "line"):
        plt.bar(result[head], result[heads[0]])
    else:
        plt.plot(result[head], result[heads[0]], marker="o")
    if not is_pie:
        plt.xticks(in_time[::max(1, len(in_time) // 24)], rotation=45, ha="right")
    figure("" if is_pie else head, "" if is_pie else heads[0])
