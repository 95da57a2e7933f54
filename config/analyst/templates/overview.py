fact("rows", labels["rows"], len(chosen))
fact("columns", labels["columns"], len(chosen.columns))
fact("missing", labels["missing_cells"], int(chosen.isna().sum().sum()))
fact("duplicates", labels["duplicates"], int(chosen.duplicated().sum()))
summary = pd.DataFrame({
    labels["column"]: [str(name) for name in chosen.columns],
    labels["type"]: [str(dtype) for dtype in chosen.dtypes],
    labels["present"]: chosen.notna().sum().to_numpy(),
    labels["missing"]: chosen.isna().sum().to_numpy(),
    labels["distinct"]: [chosen[name].nunique() for name in chosen.columns],
})
table("columns", labels["column_summary"], summary)
statistics = chosen.select_dtypes("number")
if len(statistics.columns) and len(chosen):
    spread = statistics.agg(["mean", "std", "min", "median", "max"]).T.reset_index()
    spread.columns = [labels[name] for name in ["column", "mean", "std", "min", "median", "max"]]
    table("statistics", labels["statistics"], spread)
