"""Join: what customers have ordered, by country. Customers go into a database, orders come from a file."""
import csv
import io
import json
import re

from servers.files import read_text_file
from servers.sqlite import executeQuery, executeSafeQuery


def rows_of(name):
    return list(csv.DictReader(io.StringIO(read_text_file(path=name)["content"])))


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


executeQuery(query="CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY, name TEXT, country TEXT)")
values = ", ".join(f"({c['id']}, {quoted(c['name'])}, {quoted(c['country'])})" for c in rows_of("customers.csv"))
executeQuery(query=f"INSERT OR REPLACE INTO customers VALUES {values}")

answer = executeSafeQuery(query="SELECT id, country FROM customers")
country = {row["id"]: row["country"] for row in json.loads(re.search(r"<rows>(.*)</rows>", answer)[1])}

totals = {}
for order in rows_of("orders.csv"):
    where = country[int(order["customer"])]
    totals[where] = round(totals.get(where, 0) + float(order["amount"]), 2)
result = dict(sorted(totals.items(), key=lambda each: -each[1]))
