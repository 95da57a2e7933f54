values = numbers(x).loc[chosen.index]
names = chosen[keys].map(named).astype(str).agg(" / ".join, axis=1) if keys else pd.Series(x, index=chosen.index)
frame = pd.DataFrame({"name": names, "value": values}).dropna(subset=["value"])
if len(frame) < len(chosen):
    note("left_out", count=len(chosen) - len(frame))
rows = []
for name, part in frame.groupby("name")["value"]:
    low, middle, high = part.quantile([0.25, 0.5, 0.75])
    reach = 1.5 * (high - low)
    outside = int(((part < low - reach) | (part > high + reach)).sum())
    rows.append([name, len(part), part.min(), low, middle, high, part.max(), outside])
heads = ["group", "count", "min", "quarter", "median", "three_quarters", "max", "outliers"]
summary = pd.DataFrame(rows, columns=[labels[head] for head in heads])
fact("count", labels["present"], len(frame))
fact("outliers", labels["outliers"], int(summary[labels["outliers"]].sum()))
table("box", labels["distribution"], summary)
keep(summary)
if len(summary):
    drawn = list(summary[labels["group"]].head(30))
    if len(summary) > 30:
        note("drawn", count=30, total=len(summary))
    plt.figure(figsize=(9, 5))
    plt.boxplot([frame.loc[frame["name"] == name, "value"] for name in drawn])
    plt.xticks(range(1, len(drawn) + 1), [math_free(name) for name in drawn], rotation=45, ha="right")
    figure(" / ".join(keys), x)
