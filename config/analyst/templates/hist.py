values = numbers(x).loc[chosen.index]
if values.isna().any():
    note("left_out", count=int(values.isna().sum()))
values = values.dropna()
fact("count", labels["present"], len(values))
for how in ["mean", "median", "min", "max"]:
    fact(how, labels[how], getattr(values, how)() if len(values) else None)
if len(values):
    counts, edges = np.histogram(values, bins=min(30, max(5, int(np.ceil(np.sqrt(len(values)))))))
    bins = pd.DataFrame({labels["from"]: edges[:-1], labels["to"]: edges[1:], labels["count"]: counts})
    table("histogram", labels["distribution"], bins)
    keep(bins)
    plt.figure(figsize=(8, 5))
    plt.hist(values, bins=edges, edgecolor="white")
    figure(x, labels["count"])
