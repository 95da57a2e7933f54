compared_columns = columns or None
again = chosen.duplicated(subset=compared_columns)
alike = chosen.duplicated(subset=compared_columns, keep=False)
fact("duplicates", labels["duplicates"], int(again.sum()))
fact("rows_alike", labels["rows_alike"], int(alike.sum()))
found = chosen[alike]
if columns:
    found = found.sort_values(columns, kind="stable")
if len(found):
    table("duplicates", labels["duplicate_rows"], found)
keep(found)
