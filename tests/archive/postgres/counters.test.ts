import { describe, expect, it } from "vitest";
import type { Counters } from "../../../archive/counters.ts";
import { openPool } from "../../../archive/postgres/database.ts";
import { PostgresCounters } from "../../../archive/postgres/postgres-counters.ts";
import { migrate } from "../../../archive/postgres/schema.ts";
import { countersContract } from "../counters-contract.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

describe.skipIf(WITHOUT_POSTGRES !== "")(`counts in PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  const open = async () => {
    const url = server().url();
    const [one, other] = await Promise.all([openPool(url), openPool(url)]);
    await migrate(one);
    return [one, other] as const;
  };

  countersContract(async () => {
    const [one, other] = await open();
    return [new PostgresCounters(one), new PostgresCounters(other)];
  });

  const take = (name: string) => ({ name, span: "held", limit: 3, need: 1, want: 1 }) as const;
  const admit = async (counters: Counters, holder: string, holds: Record<string, number> = {}) =>
    (await counters.count({ holder, holds, settle: [], admissions: [[take("n")]] }))[0]?.isGranted;

  it("hold what each of several processes holds, until one is not heard of any more", async () => {
    const [one, other] = await open();
    const [a, b] = [new PostgresCounters(one), new PostgresCounters(other)];
    expect(await admit(a, "a")).toBe(true);
    expect(await admit(b, "b")).toBe(true);
    expect(await admit(b, "b", { n: 1 })).toBe(true);
    expect(await admit(a, "a", { n: 1 })).toBe(false);
    await one.run("UPDATE limit_holds SET until = now() - interval '1 second' WHERE holder = 'b'");
    expect(await admit(a, "a", { n: 1 })).toBe(true);
  });

  it("never have two processes wait for each other", async () => {
    const [one, other] = await open();
    const names = ["a", "b", "c", "d"];
    const work = async (counters: Counters, holder: string, order: readonly string[]) => {
      for (let round = 0; round < 40; round++) {
        const takes = order.map(
          (name) => ({ ...take(`${name}${round % 3}`), span: "minute", limit: 1e6 }) as const,
        );
        await counters.count({ holder, holds: { [`${round}`]: 1 }, settle: [], admissions: [takes] });
      }
    };
    const all = [one, other, one, other].map((db, n) =>
      work(new PostgresCounters(db), `h${n}`, n % 2 === 0 ? names : names.toReversed()),
    );
    await Promise.all(all);
    const probe = { ...take("a0"), span: "minute", limit: 1e6, want: 0 } as const;
    const [found] = await new PostgresCounters(one).count({
      ...{ holder: "x", holds: {}, settle: [], admissions: [[probe]] },
    });
    expect(found?.counts[0]?.used).toBe(4 * 14);
  });
});
