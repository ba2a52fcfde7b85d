import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isListed,
  matchesValue,
  mayMatchValue,
  placesIn,
  withThoseAbove,
} from "../../../broker/policy/value-lists.ts";

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
    ["*@example.com", "eve@evil.test <ada@example.com>", false],
    ["*@example.com", "Ada <ada@example.com>, eve@evil.test", false],
    ["*@example.com", "Ada <ada@example.com> Eve", false],
    ["Ada Lovelace", "ada lovelace", true],
    ["see https://a.example", "See https://a.example", true],
    ["https://*.example.com/*", "https://docs.example.com/a", true],
    ["https://*.example.com/*", "https://evil.test/https://docs.example.com/a", false],
    ["https://*.example.com/*", "https://docs.example.com@evil.test/", false],
    ["https://*.example.com/*", "https://user@docs.example.com/", false],
    ["https://*.example.com/*", "http://docs.example.com/", false],
    ["https://*.example.com/*", "https://docs.example.com.evil.test/", false],
    ["https://*.example.com/*", "https:\\\\evil.test\\.example.com/", false],
    ["https://a.example/public/*", "https://a.example/public/%2e%2e/secret", false],
    ["https://a.example/*", "https://a.example/a/../b", false],
    ["https://a.example/*", "https://a.example/a/.%2E/b", false],
    ["https://a.example/*", "https://a.example/a/..", false],
    ["https://a.example/*", "https://a.example/a/./..b/c../d", true],
    ["https://a.example/*", "https://:secret@a.example/", false],
    ["https://a.example/*", "https://", false],
    ["https://a.example", "https://a.example/any/path", true],
    ["https://a.example/ab", "https://a.example/ab", true],
    ["https://a.example/ab", "https://a.example/abc", false],
    ["https://a.example/ab\n*", "https://a.example/ab", false],
    ["HTTPS://A.Example/*", "https://a.example/", true],
    ["https://a.example/*", "https://a.example./", true],
    ["https://a.example:8443/*", "https://a.example.:8443/", true],
    ["https://a.example:8443/*", "https://a.example/", false],
    ["https://a.example/*", "https://a.example:8443/", false],
    ["https://a.example:*/*", "https://a.example:8443/", true],
    ["https://a.example:*/*", "https://a.example/", true],
    ["https://a.example:443/*", "https://a.example/", true],
    ["https://a.example:80/*", "https://a.example/", false],
    ["http://a.example:*/*", "http://a.example/", true],
    ["http://a.example:80/*", "http://a.example/", true],
    ["http://a.example:443/*", "http://a.example/", false],
    ["https://[2001:db8::443]/*", "https://[2001:db8::443]/", true],
    ["http://[2001:db8::80]/*", "http://[2001:db8::80]/", true],
    ["DE02120300000000202051", "DE02120300000000202051", true],
    ["5", 5, true],
    ["/downloads/*", "/downloads/a/b.txt", true],
    ["/downloads/*", "/downloads//a", true],
    ["/downloads/*", "/downloads/a/./b", true],
    ["/downloads/*", "/downloads/a b", false],
    ["/downloads/*", "/downloads/a%20b", true],
    ["/downloads/*", "/downloads/../system/.ssh", false],
    ["/downloads/*", "/downloads/%2e%2e/system", false],
    ["/downloads/*", "/downloads/%252e%252e/system", false],
    ["/downloads/*", "/downloads/..%2fsystem", false],
    ["/downloads/*", "/downloads/..\\system", false],
    ["/downloads/*", "/downloads/..%5csystem", false],
    ["/downloads/*", "/downloads/..;/system", false],
    ["/downloads/*", "/system/../downloads/a", false],
    ["/downloads/*", "/downloads/..", false],
    ["/downloads/*", "//downloads/a", false],
    ["downloads/*", "downloads/../../a", false],
    ["*/a", "../a", false],
    ["../shared/*", "../shared/a", true],
    ["../shared/*", "../../shared/a", false],
    ["*.example.com", "evil.test%2f.example.com", true],
    ["/a/../b", "/a/../b", true],
    ["https://a.example/public/*", "https://a.example/public/..%2fsecret", false],
    ["https://a.example/public/*", "https://a.example/public/%252e%252e/secret", false],
    ["https://a.example/public/*", "https://a.example/public/..%5csecret", false],
    ["https://a.example/public/*", "https://a.example//public/a", false],
    ["https://a.example/x/../public/*", "https://a.example/public/a", true],
    ["https://*.münchen.test/*", "https://www.MÜNCHEN.test/", true],
    ["Carol Jones <carol@partner.test>", "carol@partner.test", true],
    ["Landlord <DE02120300000000202051>", "DE02120300000000202051", true],
    ["INV-*", null, false],
    ["null", null, false],
    ["*", null, false],
  ])("%s, %s: %s", (pattern, value, wanted) => {
    expect(matchesValue(pattern, value)).toBe(wanted);
  });

  it("is in a list when one of its patterns means it", () => {
    expect(isListed({ a: ["x", "y*"] }, "a", "yes")).toBe(true);
    expect(isListed({ a: ["x", "y*"] }, "a", "no")).toBe(false);
  });

  it("is in no list that there is not", () => {
    expect(isListed({ a: ["x"] }, "constructor", "x")).toBe(false);
  });
});

it.each([
  ["/inbox/*", "/inbox/a", true],
  ["/inbox/*", "/sent/../inbox/a", true],
  ["/inbox/*", "//inbox/a", true],
  ["/inbox/*", "/sent/%2e%2e/inbox/a", true],
  ["/inbox/*", "\\inbox\\a", true],
  ["/inbox", "/inbox/", true],
  ["/inbox/*", "/sent/a", false],
  ["*@evil.test", "eve@evil.test, ada@example.com", true],
  ["*@evil.test", "Eve <eve@evil.test>", true],
  ["evil.test", "EVIL.test.", true],
  ["https://evil.test/*", "https://EVIL.test./a", true],
  ["https://evil.test/*", "https://user@evil.test/a", true],
  ["https://evil.test/*", "evil.test/a", true],
  ["https://evil.test/*", "//evil.test/a", true],
  ["https://evil.test/*", "https:\\\\evil.test\\a", true],
  ["https://evil.test/*", "see https://evil.test/a", true],
  ["https://evil.test/in/*", "https://evil.test/out/..%2fin/a", true],
  ["https://evil.test/*", "https://example.com/?evil.test", false],
  ["*", null, false],
])("may match a pattern in one of the ways in which it may be read: %s, %s: %s", (pattern, value, wanted) => {
  expect(mayMatchValue(pattern, value)).toBe(wanted);
});

function placesOf(args: unknown) {
  const places = placesIn(args, 100);
  if (places === undefined) throw new Error("there are too many places");
  return places;
}

/** What the places of texts mean, said by patterns that would take too long for long texts. */
function placesByPatterns(text: string): { hosts: string[]; domains: string[] } {
  const link = /[a-z][a-z0-9+.-]*:[\\/]{2}[^\s<>"'`]*/gi;
  const address = /[^\s<>,;:"'()[\]@]+@([^\s<>,;:"'()[\]@]+)/g;
  const rest = text.replace(link, " ");
  const domains = [...rest.matchAll(address)].map(([, domain = ""]) =>
    domain.toLowerCase().replace(/\.$/, ""),
  );
  if (rest.split("@").length - 1 > domains.length) domains.push(rest.trim());
  return { hosts: [...text.matchAll(link)].map(([found]) => found), domains };
}

it("names the same places as patterns would that look at every character", () => {
  const piece = fc.constantFrom("a", "B.", "1", "@", "://", ":\\\\", "x@y", " ", "<", "h-1+", ":", "/", ".");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const text = pieces.join("");
      const { hosts, domains } = placesByPatterns(text);
      const named = placesOf({ to: text });
      expect([...(named.domains.get("to") ?? [])]).toEqual([...new Set(domains)]);
      expect(named.hosts.get("to")?.size ?? 0).toBe(new Set(hosts.map(hostIn)).size);
    }),
    { numRuns: 2_000 },
  );
});

function hostIn(link: string): string {
  if (link.includes("\\") || !URL.canParse(link)) return link;
  return new URL(link).hostname.replace(/\.$/, "") || link;
}

it("names hosts and domains by path, and what cannot be read as it is written", () => {
  const { hosts, domains } = placesOf({
    to: ["ada@example.com", "Eve <eve@EVIL.test.>"],
    text: "see https://docs.example.com@evil.test/a and http:\\\\odd",
    cc: " nobody@ ",
    links: ["https://a.test.:8443/x", "file:///etc/passwd", "mailto:bob@b.test"],
    amount: 5,
  });
  expect(Object.fromEntries([...domains].map(([path, set]) => [path, [...set]]))).toEqual({
    to: ["example.com", "evil.test"],
    "to[0]": ["example.com"],
    "to[1]": ["evil.test"],
    cc: ["nobody@"],
    links: ["b.test"],
    "links[2]": ["b.test"],
  });
  expect([...(hosts.get("links") ?? [])]).toEqual(["a.test", "file:///etc/passwd"]);
  expect([...(hosts.get("text") ?? [])]).toEqual(["evil.test", "http:\\\\odd"]);
});

it.each([
  ["to", ["to"]],
  ["to[12].name", ["to[12].name", "to[12]", "to"]],
  ['a["b.c]\\"d"].e', ['a["b.c]\\"d"].e', 'a["b.c]\\"d"]', "a"]],
  ['["x"][0]', ['["x"][0]', '["x"]']],
])("goes from %s up to what contains it", (path, wanted) => {
  expect(withThoseAbove(path)).toEqual(wanted);
});
