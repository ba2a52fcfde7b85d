import { expect, test } from "vitest";
import {
  continuing,
  describePrincipal,
  type Identified,
  identityOf,
  owns,
  wayOf,
} from "../../protocol/run-context.ts";

const ADA = "https://login.example.com#ada";

test("people are named by their principal, with what their login says beside it", () => {
  expect(describePrincipal({ principal: ADA })).toBe(ADA);
  expect(describePrincipal({ principal: ADA, name: ADA })).toBe(ADA);
  const named = { principal: "https://login.example.com#eve", name: ADA };
  expect(describePrincipal(named)).toBe(`https://login.example.com#eve (named "${ADA}" by the login)`);
  expect(wayOf("HTTP", named)).toBe(`HTTP, by a login that says "${ADA}"`);
  expect(wayOf("HTTP", { principal: ADA })).toBe("HTTP");
});

test("a run is its person's own, but for their tokens that lack a group which it had", () => {
  const of = { principal: "eve", groups: ["finance"] };
  const token = { principal: "eve", withOwnToken: true } as const;
  const viewers: [Identified, boolean][] = [
    [{ principal: "eve" }, true],
    [{ principal: "ada", groups: ["finance"] }, false],
    [{ ...token, groups: ["finance", "staff"] }, true],
    [{ ...token, groups: ["staff"] }, false],
    [{ ...token, boundGroups: ["finance"] }, false],
  ];
  for (const [viewer, isOwn] of viewers) expect([viewer, owns(viewer, of)]).toEqual([viewer, isOwn]);
  expect(owns(token, { principal: "eve" })).toBe(true);
});

test("whoever continues a run is permitted what is permitted to both, and bound by what binds either", () => {
  const context = { principal: "eve", source: "serve", groups: ["a", "b"], boundGroups: ["c"] } as const;
  const began = { principal: "eve", groups: ["b", "c", "d"] };
  expect(continuing(context, began)).toMatchObject({ groups: ["b"], boundGroups: ["a", "c", "d"] });
  expect(continuing(context, identityOf(context))).toBe(context);
});
