result = chosen
if order_column is not None:
    rank = dates(order_column) if order_is_date else numbers(order_column)
    places = rank.loc[chosen.index].sort_values(ascending=order == "ascending", kind="stable").index
    result = chosen.loc[places]
fact("rows", labels["rows"], len(result))
keep(result)
table("rows", title, result.head(limit) if limit else result)
