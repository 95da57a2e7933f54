points = pd.DataFrame({"x": numbers(x).loc[chosen.index], "y": numbers(y).loc[chosen.index]})
if points.isna().any(axis=1).any():
    note("left_out", count=int(points.isna().any(axis=1).sum()))
line = points.dropna().groupby("x")["y"].mean().reset_index()
fact("count", labels["points"], len(line))
line.columns = [x, labels["mean"] + ": " + y]
table("line", title, line)
keep(line)
if len(line):
    plt.figure(figsize=(9, 5))
    plt.plot(line.iloc[:, 0], line.iloc[:, 1], marker="o")
    figure(x, y)
