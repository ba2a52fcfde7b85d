import { describe, expect, it } from "vitest";
import { openPool } from "../../../archive/postgres/database.ts";
import { PostgresFacts } from "../../../archive/postgres/postgres-facts.ts";
import { migrate } from "../../../archive/postgres/schema.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

describe.skipIf(WITHOUT_POSTGRES !== "")(`facts in PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const open = async () => {
    const url = server().url();
    const [db, other] = await Promise.all([openPool(url), openPool(url)]);
    await migrate(db);
    return { db, one: new PostgresFacts(db), other: new PostgresFacts(other) };
  };
  const keepMs = 60_000;

  it("are those of all processes that note any, also at the same time", async () => {
    const { one, other } = await open();
    const noted = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? one : other).note("c", { facts: { [`fact ${n}`]: `${n}` }, keepMs }),
    );
    await Promise.all(noted);
    expect(Object.keys(await one.read("c"))).toHaveLength(40);
    expect(await other.note("c", { facts: { "fact 3": "other" }, keepMs })).toMatchObject({
      ...{ "fact 3": "other", "fact 4": "4" },
    });
    expect(await one.read("d")).toEqual({});
  });

  it("are taken away by name", async () => {
    const { one, other } = await open();
    await one.note("c", { facts: { a: "", 'b "quoted", \\ ü': "", c: "" }, keepMs });
    const left = await other.note("c", { facts: {}, remove: ["a", 'b "quoted", \\ ü', "none"], keepMs });
    expect(left).toEqual({ c: "" });
  });

  it("are forgotten together when nothing was noted for their time, and not before the longest time of all", async () => {
    const { db, one, other } = await open();
    await one.note("c", { facts: { a: "" }, keepMs });
    await other.note("c", { facts: {}, keepMs: 1 });
    expect(await one.read("c")).toEqual({ a: "" });
    await db.run("UPDATE shared_facts SET until = now() - interval '1 second'");
    expect(await one.read("c")).toEqual({});
    expect(await one.note("c", { facts: { b: "" }, keepMs })).toEqual({ b: "" });
  });
});
