looked_at = chosen[columns] if columns else chosen
rows = []
for name in looked_at.columns:
    values = looked_at[name].dropna()
    counts = values.astype(str).value_counts().sort_index().sort_values(ascending=False, kind="stable")
    usual, often = (counts.index[0], int(counts.iloc[0])) if len(counts) else (None, 0)
    rows.append([str(name), str(looked_at[name].dtype), len(values), int(looked_at[name].isna().sum()),
                 int(values.nunique()), usual, often])
heads = ["column", "type", "present", "missing", "distinct", "most_frequent", "frequency"]
summary = pd.DataFrame(rows, columns=[labels[head] for head in heads])
fact("rows", labels["rows"], len(chosen))
table("columns", labels["column_summary"], summary)
keep(summary)
if len(columns) == 1:
    values = chosen[columns[0]].map(named).astype(str)
    counts = values.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    table("values", labels["frequencies"], pd.DataFrame({columns[0]: counts.index, labels["count"]: counts.to_numpy()}))
