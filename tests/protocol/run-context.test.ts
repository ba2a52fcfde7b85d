import { expect, test } from "vitest";
import { describePrincipal, wayOf } from "../../protocol/run-context.ts";

const ADA = "https://login.example.com#ada";

test("people are named by their principal, with what their login says beside it", () => {
  expect(describePrincipal({ principal: ADA })).toBe(ADA);
  expect(describePrincipal({ principal: ADA, name: ADA })).toBe(ADA);
  const named = { principal: "https://login.example.com#eve", name: ADA };
  expect(describePrincipal(named)).toBe(`https://login.example.com#eve (named "${ADA}" by the login)`);
  expect(wayOf("HTTP", named)).toBe(`HTTP, by a login that says "${ADA}"`);
  expect(wayOf("HTTP", { principal: ADA })).toBe("HTTP");
});
