import { describe, expect, it, onTestFinished } from "vitest";
import { openPool } from "../../../archive/postgres/database.ts";
import {
  migrate,
  monthAfter,
  monthOf,
  partitionOf,
  schemaVersion,
} from "../../../archive/postgres/schema.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const [ONE, TWO, THREE] = ["one", "two", "three"].map((name) => `CREATE TABLE ${name} (id integer)`) as [
  string,
  string,
  string,
];

describe.skipIf(WITHOUT_POSTGRES !== "")(`tables in PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const open = async (url = server().url()) => {
    const db = await openPool(url);
    onTestFinished(() => db.close());
    return db;
  };

  it("are migrated from whatever version they have, each step once", async () => {
    const db = await open();
    expect(await schemaVersion(db)).toBe(0);
    expect(await migrate(db, [ONE])).toBe(0);
    expect(await migrate(db, [ONE, TWO, THREE])).toBe(1);
    expect(await migrate(db, [ONE, TWO, THREE])).toBe(3);
    expect(await schemaVersion(db, [ONE, TWO, THREE])).toBe(3);
    for (const table of ["one", "two", "three"]) await db.run(`INSERT INTO ${table} VALUES (1)`);
  });

  it("are migrated by one of several that begin at once", async () => {
    const url = server().url();
    const pools = await Promise.all([open(url), open(url), open(url)]);
    const before = await Promise.all(pools.map((db) => migrate(db, [ONE, TWO])));
    expect(before.sort()).toEqual([0, 2, 2]);
  });

  it("of a newer ptc are left alone", async () => {
    const db = await open();
    await migrate(db, [ONE, TWO]);
    await expect(schemaVersion(db, [ONE])).rejects.toMatchObject({ code: "newer" });
    await expect(migrate(db, [ONE])).rejects.toMatchObject({ code: "newer" });
    expect(await schemaVersion(db, [ONE, TWO])).toBe(2);
  });

  it("of another program are left alone, and named as such", async () => {
    const db = await open();
    await migrate(db, [ONE]);
    await db.run("DROP TABLE ptc_schema");
    await expect(migrate(db, [TWO, ONE])).rejects.toMatchObject({ code: "foreign" });
    expect(await schemaVersion(db)).toBe(0);
    await expect(db.run("INSERT INTO two VALUES (1)")).rejects.toThrow(/two/);
  });

  it("stay as they were when a step fails", async () => {
    const db = await open();
    await expect(migrate(db, [ONE, "no step"])).rejects.not.toMatchObject({ code: "foreign" });
    expect(await schemaVersion(db)).toBe(0);
    expect(await migrate(db, [ONE])).toBe(0);
    await expect(migrate(db, [ONE, TWO, ONE])).rejects.not.toMatchObject({ code: "foreign" });
    expect(await schemaVersion(db)).toBe(1);
  });
});

it.each([
  ["1970-01-01T00:00:00.000Z", "1970-02-01T00:00:00.000Z", "runs_1970_01", [0, -5, 31 * 86_400_000 - 1]],
  ["2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z", "runs_2028_02", [Date.UTC(2028, 1, 29, 23, 59)]],
  ["2029-12-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z", "runs_2029_12", [Date.UTC(2029, 11, 31)]],
])("a month begins at %s and ends at %s: %s", (begins, ends, partition, times) => {
  for (const time of times) expect(new Date(monthOf(time)).toISOString()).toBe(begins);
  expect(new Date(monthAfter(Date.parse(begins))).toISOString()).toBe(ends);
  expect(partitionOf("runs", Date.parse(begins))).toBe(partition);
});
