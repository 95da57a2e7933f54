values = pd.DataFrame({name: numbers(name).loc[chosen.index] for name in columns})
if len(columns) > len(named_columns) and len(columns) > 10:
    spread = values.drop(columns=named_columns).var().sort_values(ascending=False, kind="stable")
    values = values[named_columns + list(spread.index[:max(10 - len(named_columns), 0)])]
    note("widest_columns", count=len(values.columns))
matrix = values.corr()
pairs = [(one, other, matrix.loc[one, other], int(values[[one, other]].dropna().shape[0]))
         for at, one in enumerate(matrix.columns) for other in matrix.columns[at + 1:]]
heads = [labels["column"], labels["other_column"], labels["correlation"], labels["rows"]]
ranked = pd.DataFrame(pairs, columns=heads)
ranked = ranked.sort_values(labels["correlation"], key=lambda one: one.abs(), ascending=False, kind="stable")
if len(ranked) and pd.notna(ranked.iloc[0][labels["correlation"]]):
    fact("strongest", labels["strongest"] + ": " + ranked.iloc[0, 0] + " - " + ranked.iloc[0, 1], ranked.iloc[0, 2])
table("correlation", labels["correlation"], ranked)
whole = matrix.reset_index()
whole.columns = [labels["column"]] + list(matrix.columns)
keep(whole)
plt.figure(figsize=(1.2 + len(matrix), 0.8 + 0.9 * len(matrix)) if len(matrix) > 4 else (6, 5))
names = [math_free(name) for name in matrix.columns]
sns.heatmap(matrix, annot=True, fmt=".2f", vmin=-1, vmax=1, cmap="coolwarm", xticklabels=names, yticklabels=names)
figure("", "")
