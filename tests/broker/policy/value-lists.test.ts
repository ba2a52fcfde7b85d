import { describe, expect, it } from "vitest";
import { isListed, matchesValue, placesIn } from "../../../broker/policy/value-lists.ts";

describe("a value in a list", () => {
  it.each([
    ["*@example.com", "ada@example.com", true],
    ["*@example.com", "ADA@Example.com", true],
    ["*@example.com", " ada@example.com ", true],
    ["*@example.com", "Ada <ada@example.com>", true],
    ["*@example.com", "eve@evil.test", false],
    ["*@example.com", "eve@evil.test, ada@example.com", false],
    ["*@example.com", "eve@evil.test ada@example.com", false],
    ["*@example.com", "eve@evil.test\nada@example.com", false],
    ["*@example.com", "eve@evil.test;ada@example.com", false],
    ["*@example.com", "eve@evil.test@example.com", false],
    ["*@example.com", '"eve@evil.test"@example.com', false],
    ["*@example.com", "ada@example.com <eve@evil.test>", false],
    ["*@example.com", "eve@notexample.com", false],
    ["https://*.example.com/*", "https://docs.example.com/a", true],
    ["https://*.example.com/*", "https://evil.test/https://docs.example.com/a", false],
    ["https://*.example.com/*", "https://docs.example.com@evil.test/", false],
    ["https://*.example.com/*", "https://user@docs.example.com/", false],
    ["https://*.example.com/*", "http://docs.example.com/", false],
    ["https://*.example.com/*", "https://docs.example.com.evil.test/", false],
    ["https://*.example.com/*", "https:\\\\evil.test\\.example.com/", false],
    ["https://a.example/public/*", "https://a.example/public/%2e%2e/secret", false],
    ["DE02120300000000202051", "DE02120300000000202051", true],
    ["5", 5, true],
    ["INV-*", null, false],
  ])("%s, %s: %s", (pattern, value, wanted) => {
    expect(matchesValue(pattern, value)).toBe(wanted);
  });

  it("is in no list that there is not", () => {
    expect(isListed({ a: ["x"] }, "constructor", "x")).toBe(false);
  });
});

it("names hosts and domains by path, and what cannot be read as it is written", () => {
  const { hosts, domains } = placesIn(
    {
      to: ["ada@example.com", "Eve <eve@EVIL.test.>"],
      text: "see https://docs.example.com@evil.test/a and http:\\\\odd",
      cc: "nobody@",
    },
    100,
  );
  expect(Object.fromEntries([...domains].map(([path, set]) => [path, [...set]]))).toEqual({
    to: ["example.com", "evil.test"],
    "to[0]": ["example.com"],
    "to[1]": ["evil.test"],
    cc: ["nobody@"],
  });
  expect([...(hosts.get("text") ?? [])]).toEqual(["evil.test", "http:\\\\odd"]);
});
