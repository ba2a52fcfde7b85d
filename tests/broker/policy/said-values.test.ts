import { describe, expect, it } from "vitest";
import { isNamed, isOfSaidHost } from "../../../broker/policy/said-values.ts";

const PEOPLE = {
  people: [
    "Carol Jones <carol@partner.test>",
    "Carol Smith <csmith@partner.test>",
    "Dan Brown <dan@partner.test>",
    "emma.weber@example.com",
    "Jean-Luc Picard <jl@example.com>",
    "Landlord <DE02120300000000202051>",
    "DE02500105170137075030",
    "*@wild.test",
    "Zoë <zoe@example.com>",
  ],
};

describe("the bearer of a name in a list", () => {
  it.each<[value: unknown, said: string, wanted: string]>([
    ["dan@partner.test", "tell Dan that we accept", "named"],
    ["DAN@partner.test", "Brown's offer is fine, tell him", "named"],
    ["dan@partner.test", "tell danny that we accept", "unnamed"],
    ["dan@partner.test", "tell Carol Jones that we accept", "unnamed"],
    ["dan@partner.test", "", "unnamed"],
    ["carol@partner.test", "tell Carol that we accept", "ambiguous"],
    ["carol@partner.test", "tell Carol Jones that we accept", "named"],
    ["csmith@partner.test", "tell Carol Jones that we accept", "unnamed"],
    ["csmith@partner.test", "tell Carol Jones, and Carol too", "ambiguous"],
    ["csmith@partner.test", "tell Ms Smith", "named"],
    ["emma.weber@example.com", "ask emma", "named"],
    ["jl@example.com", "ask Jean-Luc's assistant", "named"],
    ["zoe@example.com", "ask ZOË", "named"],
    ["DE02120300000000202051", "pay the landlord", "named"],
    ["DE02500105170137075030", "de, pay it", "unnamed"],
    ["eve@wild.test", "tell eve", "unnamed"],
    ["eve@evil.test", "tell eve", "unnamed"],
    [null, "tell eve", "unnamed"],
  ])("%s, where the user says %j: %s", (value, said, wanted) => {
    expect(isNamed(PEOPLE, "people", value as string, said === "" ? [] : ["hello", said]).kind).toBe(wanted);
  });

  it("is said to be several, where several bear it", () => {
    expect(isNamed(PEOPLE, "people", "carol@partner.test", ["tell Carol"])).toEqual({
      kind: "ambiguous",
      name: "carol",
      bearers: ["carol@partner.test", "csmith@partner.test"],
    });
    expect(isNamed(PEOPLE, "constructor", "carol@partner.test", ["tell Carol"]).kind).toBe("unnamed");
  });
});

describe("a page of a host that the user named", () => {
  it.each([
    ["https://www.dinner.test/menu?day=1", "look at www.dinner.test", true],
    ["www.dinner.test/menu", "look at www.dinner.test", true],
    ["http://www.dinner.test/", "what does https://www.dinner.test/menu say?", true],
    ["https://www.dinner.test/", "see dinner.test.", true],
    ["https://WWW.Dinner.test./", "see (dinner.test)", true],
    ["https://dinner.test/", "see www.dinner.test", false],
    ["https://other.dinner.test/", "see dinner.test", false],
    ["https://dinner.test.evil.test/", "see dinner.test", false],
    ["https://evil.test/dinner.test", "see dinner.test", false],
    ["https://dinner.test@evil.test/", "see dinner.test", false],
    ["https://user@dinner.test/", "see dinner.test", false],
    ["https:\\\\dinner.test\\", "see dinner.test", false],
    ["https://dinner.test:8443/", "see dinner.test", false],
    ["https://dinner.test:8443/", "see dinner.test:8443", true],
    ["https://evil.test/", "write to bob@evil.test", false],
    ["https://evil.test/", "see https://evil.test@dinner.test/", false],
    ["https://readme.md/?q=1", "read README.md", false],
    ["https://www.xn--mnchen-3ya.test/", "see www.münchen.test", true],
    ["ftp://dinner.test/", "see dinner.test", false],
    ["javascript:dinner.test", "see dinner.test", false],
    ["see https://dinner.test/", "see dinner.test", false],
  ])("%s, where the user says %j: %s", (value, said, wanted) => {
    expect(isOfSaidHost(value, ["hello", said])).toBe(wanted);
  });

  it("is nothing else than a text", () => {
    expect(isOfSaidHost(5, ["5"])).toBe(false);
    expect(isOfSaidHost(null, ["null"])).toBe(false);
  });
});
