result = chosen
if order_column is not None:
    rank = (dates(order_column) if order_is_date else numbers(order_column)).loc[chosen.index]
    places = rank.sort_values(ascending=order == "ascending", kind="stable").index
    result = chosen.loc[places]
    if len(result) and pd.notna(rank.loc[places[0]]):
        equal = int((rank == rank.loc[places[0]]).sum())
        others = [name for name in result.columns if name != order_column][:4]
        row = result.iloc[0]
        fact("first", order_column + ": " + plain_text(rank.loc[places[0]]), ", ".join(name + " " + plain_text(row[name]) for name in others))
        if equal > 1:
            note("ties", count=equal)
else:
    fact("rows", labels["rows"], len(result))
keep(result)
table("rows", title, result.head(limit) if limit else result)
