import { describe, expect, it, test } from "vitest";
import { ArchiveError } from "../../../archive/archive-error.ts";
import { openPool, patiently } from "../../../archive/postgres/database.ts";

test.each([
  ["postgres://ada:secret@db.test/runs", "PostgreSQL (runs at db.test)"],
  ["postgres://ada:secret@db.test:5433/runs", "PostgreSQL (runs at db.test:5433)"],
  ["postgresql://ada@db.test/my%20runs?sslmode=require", "PostgreSQL (my runs at db.test)"],
  ["postgres://ada@db.test/", "PostgreSQL (ada at db.test)"],
  ["postgres:///runs?host=/run/postgresql", "PostgreSQL (runs at /run/postgresql)"],
  ["postgres://ada@/runs?host=%2Frun%2Fpostgresql", "PostgreSQL (runs at /run/postgresql)"],
])("a database is named without the password of its user: %s", async (url, place) => {
  const db = await openPool(url);
  expect(db.place).toBe(place);
  await db.close();
});

test("what is no URL is refused without a word of it", async () => {
  await expect(openPool("ada secret")).rejects.toMatchObject({
    code: "unwritable",
    message: "storage.url is not a URL of PostgreSQL",
  });
});

describe("work on a database", () => {
  const failing = async (error: Error, times: number, patienceMs: number) => {
    const tried: number[] = [];
    const done = patiently(async (tries) => {
      tried.push(tries);
      if (tries < times) throw error;
      return "done";
    }, patienceMs);
    return { tried, outcome: await done.catch((cause: unknown) => cause) };
  };

  it.each(["unreachable", "busy"] as const)("is repeated where it was %s", async (code) => {
    const error = new ArchiveError(code, "later");
    expect(await failing(error, 2, 60_000)).toEqual({ tried: [0, 1, 2], outcome: "done" });
  });

  it("is given up when patience is at its end, and no earlier than after a second try", async () => {
    const error = new ArchiveError("unreachable", "later");
    expect(await failing(error, 9, 0)).toEqual({ tried: [0, 1], outcome: error });
  });

  it.each([new ArchiveError("full", "never"), new Error("never")])(
    "is not repeated after %s",
    async (error) => {
      expect(await failing(error, 1, 60_000)).toEqual({ tried: [0], outcome: error });
    },
  );
});
