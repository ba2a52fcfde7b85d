import fc from "fast-check";
import { expect, it } from "vitest";
import type { Tool } from "../../../catalog/tool.ts";
import { LateValues } from "../../../execution/plan/late-reads.ts";
import { Renaming } from "../../../execution/plan/renaming.ts";

it("gives words with digits others of the same form, everywhere the same", () => {
  const renaming = new Renaming();
  const { a, b, n } = renaming.rename({
    a: "Code 582913 for att-91f2",
    b: ["https://x.test/att-91f2"],
    n: 582913,
  }) as { a: string; b: string[]; n: number };
  expect(a).toMatch(/^Code \d{6} for att-[1-9]\df\d$/);
  expect(a).not.toContain("582913");
  expect(b[0]).toBe(`https://x.test/${a.split(" ").at(-1)}`);
  expect(String(n)).toBe(a.split(" ")[1]);
});

it("leaves what is known, short or a time", () => {
  const renaming = new Renaming();
  renaming.know("order A1001");
  renaming.know({ total: 4200 });
  const value = {
    ...{
      order: "A1001",
      total: 4200,
      page: 12,
      version: "v2",
      at: "2026-05-01T10:20:30Z",
      created_at: 1767225600,
    },
    text: "at 10:20 on 2026-05-01, no digits",
    is: true,
  };
  expect(renaming.rename(value)).toEqual(value);
  expect(renaming.rename({ is: true }, true)).toEqual({ is: false });
});

const lateRead = (answer: unknown, other: unknown, isInvented = false) => ({
  ...{ seq: 1, tool: {} as Tool, arguments: {}, after: 1, isInvented, answer, other },
});

it("keeps the form of what a server answers, also where it looks invented", () => {
  const answer = { id: "standin-4711", n: 4_000_000_123, text: "see standin-9911 at example.invalid/77" };
  const other = { id: "standin-5822", n: 5_111_111_234, text: "see standin-3344 at example.invalid/66" };
  const late = new LateValues([lateRead(answer, other)]);
  const part = { seq: 1, path: ["id"], type: "string" };
  expect(late.whole(answer.id, other.id)).toEqual({ ...part, shape: ["standin-", { digits: 4 }] });
  expect(late.whole(answer.n, other.n)).toMatchObject({ path: ["n"], shape: [{ digits: 10 }] });
  expect(late.pieces("a standin-4711", "a standin-5822")?.[1]).toMatchObject({ shape: expect.anything() });
  expect(late.pieces("a standin-9911", "a standin-3344")?.[1]).toMatchObject({ nth: 1, path: ["text"] });
  expect(late.pieces("example.invalid/77", "example.invalid/66")?.[0]).toMatchObject({ path: ["text"] });

  const invented = new LateValues([lateRead(answer, other, true)]);
  expect(invented.whole(answer.id, other.id)).toEqual(part);
  expect(invented.whole(answer.n, other.n)).toEqual({ seq: 1, path: ["n"], type: "number" });
  expect(invented.pieces("a standin-4711", "a standin-5822")).toEqual(["a ", part]);
  expect(invented.pieces("a standin-9911", "a standin-3344")).toBeUndefined();
  expect(invented.pieces("example.invalid/77", "example.invalid/66")).toBeUndefined();
});

it("finds the place of a piece that was passed on, and of no other", () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,8}( [0-9]{4,8}){0,2}$/), { minLength: 1, maxLength: 6 }),
      fc.nat(),
      (texts, chosen) => {
        const answer = { items: texts.map((text) => ({ text })) };
        const other = new Renaming().rename(answer) as typeof answer;
        const late = new LateValues([lateRead(answer, other)]);
        const codes = answer.items.flatMap(({ text }, index) =>
          [...text.matchAll(/\d+/g)].map((match) => ({ one: match[0], at: match.index, index })),
        );
        const code = codes[chosen % Math.max(codes.length, 1)];
        if (code === undefined) return;
        const two = other.items[code.index]?.text.slice(code.at, code.at + code.one.length) ?? "";
        const [before, part, after] = late.pieces(`see ${code.one}!`, `see ${two}!`) ?? [];
        expect([before, after]).toEqual(["see ", "!"]);
        const { path = [] } = typeof part === "object" ? part : {};
        expect(answer.items[path[1] as number]?.text).toContain(code.one);
      },
    ),
    { numRuns: 200 },
  );
});
