looked_at = chosen[columns] if columns else chosen
counts = looked_at.isna().sum()
fact("missing", labels["missing_cells"], int(counts.sum()))
fact("rows_with_missing", labels["rows_with_missing"], int(looked_at.isna().any(axis=1).sum()))
summary = pd.DataFrame({
    labels["column"]: [str(name) for name in counts.index],
    labels["missing"]: counts.to_numpy(),
    labels["missing_share"]: (counts / max(len(looked_at), 1) * 100).to_numpy(),
}).sort_values(labels["missing"], ascending=False, kind="stable")
table("missing", labels["missing_values"], summary)
keep(summary)
shown = summary.head(30)
plt.figure(figsize=(8, 4.5))
plt.bar([math_free(name) for name in shown[labels["column"]]], shown[labels["missing"]])
plt.xticks(rotation=45, ha="right")
figure(labels["column"], labels["missing"])
