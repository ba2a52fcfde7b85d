import { expect, it } from "vitest";
import { pages } from "../../../../runner-image/node/functions/pages.ts";

it("Pages are called for one by one, with the arguments that the one before names.", async () => {
  const asked: unknown[] = [];
  const result = async (args?: unknown) => {
    asked.push(args);
    const _meta = asked.length < 3 ? { "ptc/next": { n: asked.length } } : {};
    return { ok: true, data: asked.length, raw: { _meta } };
  };
  const all: unknown[] = [];
  for await (const page of pages({ result }, { n: 0 })) {
    expect(asked).toHaveLength(all.length + 1);
    all.push(page);
  }
  expect(all).toEqual([1, 2, 3]);
  expect(asked).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
});

it("Pages end with the error of a call that fails, and what is no tool's function is refused.", async () => {
  const error = new Error("gone");
  const failing = pages({ result: async () => ({ ok: false, error }) });
  await expect(failing.next()).rejects.toBe(error);
  await expect(pages(Promise.resolve() as never).next()).rejects.toThrow("pass getX, args, not getX(args)");
});
