points = pd.DataFrame({"x": numbers(x).loc[chosen.index], "y": numbers(y).loc[chosen.index]})
if points.isna().any(axis=1).any():
    note("left_out", count=int(points.isna().any(axis=1).sum()))
points = points.dropna()
fact("count", labels["points"], len(points))
fact("correlation", labels["correlation"], points["x"].corr(points["y"]) if len(points) > 1 else None)
if len(points):
    drawn = points.sample(20000, random_state=0) if len(points) > 20000 else points
    if len(drawn) < len(points):
        note("drawn", count=len(drawn), total=len(points))
    plt.figure(figsize=(7, 6))
    plt.scatter(drawn["x"], drawn["y"], alpha=0.6)
    figure(x, y)
