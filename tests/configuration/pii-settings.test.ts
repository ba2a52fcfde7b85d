import { expect, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";

const parse = (text: string) =>
  parseConfiguration(text, { file: "ptc.yaml", directory: "/project", environment: {} });
const server = (pii: string) => `servers:\n  - name: crm\n    command: x\n    pii: ${pii}\n`;

test("personal data is left alone unless kinds are named", () => {
  expect(parse("").pii).toBeUndefined();
  expect(parse("pii:\n").pii).toBeUndefined();
  expect(parse("pii: [email, ip]").pii).toEqual({ kinds: ["email", "ip"], countries: [] });
  expect(parse("pii:\n  redact: [phone, national_id]\n  countries: [DE, US]").pii).toEqual({
    kinds: ["phone", "national_id"],
    countries: ["DE", "US"],
  });
  expect(parse(server("{ allow: [email] }")).servers[0]?.piiAllowed).toEqual(["email"]);
  expect(parse(server("")).servers[0]?.piiAllowed).toEqual([]);
});

const KINDS = "email, phone, card, iban, national_id, ip";

test.each([
  ["pii: email", "1: pii: must be a list of kinds, or a mapping with redact and countries"],
  ["pii: [mail]", `1: pii.redact[0]: must be one of ${KINDS}`],
  ["pii:\n  kinds: [email]", "2: pii.kinds: is not a known key; known here: redact, countries"],
  ["pii:\n  redact: email", `2: pii.redact: must be a list such as [email, phone], of ${KINDS}`],
  [
    "pii:\n  redact: [phone]\n  countries: [de]",
    "3: pii.countries[0]: must be the two capital letters of a country, such as DE or US (ISO 3166-1)",
  ],
  [
    "pii:\n  redact: [phone]\n  countries: [no]",
    "3: pii.countries[0]: must be the two capital letters of a country",
  ],
  [
    "pii:\n  redact: [phone]\n  countries: [false]",
    "3: pii.countries[0]: must be the code of a country; put it in quotes",
  ],
  ["pii:\n  countries: [DE]", "2: pii.countries: says nothing without `redact`; add the kinds to redact"],
  [
    "pii: [national_id]",
    "1: pii.redact: lists national_id, and `countries` does not say whose; add them, such as countries: [DE, US]",
  ],
  [
    "pii:\n  redact: [national_id]\n  countries: [DE, JP]",
    "3: pii.countries[1]: national ids of JP are not known; remove it, or national_id from `redact` (known: AD AI",
  ],
  [server("[email]"), "4: servers[0].pii: must be a mapping of keys to values"],
  [server("{ allow: [all] }"), `4: servers[0].pii.allow[0]: must be one of ${KINDS}`],
])("%j is refused in one line", (text, message) => {
  let thrown: unknown;
  try {
    parse(text);
  } catch (error) {
    thrown = error;
  }
  expect(String(thrown)).toContain(`ptc.yaml:${message}`);
  expect(String(thrown)).not.toContain("\n");
});
