import { expect, it } from "vitest";
import type { Admitted, Counters, CountRequest, Take } from "../../archive/counters.ts";

const MINUTE: Take = { name: "programs", span: "minute", limit: 3, need: 1, want: 1 };
const HELD: Take = { name: "at a time", span: "held", limit: 2, need: 1, want: 1 };

const request = (holder: string, rest: Partial<CountRequest> = {}): CountRequest => ({
  ...{ holder, holds: {}, settle: [], admissions: [] },
  ...rest,
});

/** Two processes that count in one place; of counts of one process alone, the same twice. */
export function countersContract(open: () => Promise<readonly [Counters, Counters]>): void {
  const admit = async (
    counters: Counters,
    holder: string,
    takes: Take[],
    rest: Partial<CountRequest> = {},
  ) => {
    const [admitted] = await counters.count(request(holder, { admissions: [takes], ...rest }));
    return admitted as Admitted;
  };

  it("takes no more than there is, and says how much was used and when there is more", async () => {
    const [a, b] = await open();
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => admit(n % 2 === 0 ? a : b, "x", [{ ...MINUTE, limit: 5 }])),
    );
    expect(all.filter(({ isGranted }) => isGranted)).toHaveLength(5);
    const refused = all.find(({ isGranted }) => !isGranted);
    expect(refused?.counts).toMatchObject([{ used: 5, granted: 0 }]);
    const { moreInMs = 0, began = 0 } = refused?.counts[0] ?? {};
    expect(moreInMs).toBeGreaterThan(0);
    expect(moreInMs).toBeLessThanOrEqual(60_000);
    expect(began % 60_000).toBe(0);
  });

  it("takes all of an admission or nothing", async () => {
    const [a] = await open();
    const full = { ...MINUTE, name: "other", limit: 1, need: 2 };
    expect((await admit(a, "x", [MINUTE, full])).isGranted).toBe(false);
    expect((await admit(a, "x", [MINUTE])).counts[0]?.used).toBe(0);
  });

  it("gives what is left where less is left than is wanted", async () => {
    const [a] = await open();
    const { counts } = await admit(a, "x", [{ ...MINUTE, limit: 5, want: 4 }]);
    expect(counts[0]).toMatchObject({ used: 0, granted: 4 });
    expect((await admit(a, "x", [{ ...MINUTE, limit: 5, want: 4 }])).counts[0]).toMatchObject({ granted: 1 });
    expect((await admit(a, "x", [{ ...MINUTE, limit: 5, want: 4 }])).isGranted).toBe(false);
  });

  it("settles what was used, and takes back what was not, of the same minute alone", async () => {
    const [a, b] = await open();
    const take = { ...MINUTE, limit: 10, want: 8 };
    const { began = 0 } = (await admit(a, "x", [take])).counts[0] ?? {};
    const settle = [
      { name: "programs", span: "minute", amount: -6, began },
      { name: "programs", span: "minute", amount: -1, began: began - 60_000 },
      { name: "bytes", span: "day", amount: 70 },
      { name: "bytes", span: "day", amount: 30 },
    ] as const;
    await a.count(request("x", { settle }));
    const probe = [
      { ...take, want: 0 },
      { ...take, name: "bytes", span: "day" as const, limit: 100, need: 0, want: 0 },
    ];
    expect((await admit(b, "y", probe)).counts.map(({ used }) => used)).toEqual([2, 100]);
  });

  it("counts several admissions of one request one after the other", async () => {
    const [a] = await open();
    const all = await a.count(request("x", { admissions: [[MINUTE], [MINUTE], [MINUTE], [MINUTE]] }));
    expect(all.map(({ isGranted }) => isGranted)).toEqual([true, true, true, false]);
    expect(all.map(({ counts }) => counts[0]?.used)).toEqual([0, 1, 2, 3]);
  });

  it("counts as held what its holder says that it holds, and no more once it does not", async () => {
    const [a] = await open();
    expect((await admit(a, "x", [HELD])).isGranted).toBe(true);
    expect((await admit(a, "x", [HELD], { holds: { "at a time": 1 } })).isGranted).toBe(true);
    const third = await admit(a, "x", [HELD], { holds: { "at a time": 2 } });
    expect(third).toMatchObject({ isGranted: false, counts: [{ used: 2, granted: 0, moreInMs: 0 }] });
    expect((await admit(a, "x", [HELD], { holds: { "at a time": 1 } })).isGranted).toBe(true);
    expect((await admit(a, "x", [HELD])).counts[0]?.used).toBe(0);
  });

  it("takes any text for a name", async () => {
    const [a] = await open();
    const name = JSON.stringify(["\0", "https://issuer|ü \u2028 '$1"]);
    expect((await admit(a, "x", [{ ...MINUTE, name }])).isGranted).toBe(true);
    expect((await admit(a, "x", [{ ...MINUTE, name }])).counts[0]?.used).toBe(1);
  });
}
