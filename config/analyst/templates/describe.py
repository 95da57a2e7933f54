rows = []
for name in columns:
    values = numbers(name).loc[chosen.index]
    rows.append([name, int(values.count()), int(values.isna().sum()), values.mean(), values.std(), values.min(),
                 values.quantile(0.25), values.median(), values.quantile(0.75), values.max()])
heads = ["column", "present", "missing", "mean", "std", "min", "quarter", "median", "three_quarters", "max"]
summary = pd.DataFrame(rows, columns=[labels[head] for head in heads])
for name, mean, low, high in summary.iloc[:, [0, 3, 5, 9]].itertuples(index=False, name=None):
    if len(columns) <= 2:
        fact("mean", name + ": " + labels["mean"], mean)
        fact("min", name + ": " + labels["min"], low)
        fact("max", name + ": " + labels["max"], high)
fact("rows", labels["rows"], len(chosen))
table("statistics", labels["statistics"], summary)
keep(summary)
