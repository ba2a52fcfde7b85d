import { describe, expect, onTestFinished, test } from "vitest";
import { readJson } from "../../../base/json.ts";
import { checkAgainstSchema } from "../../../broker/schemas/schema-check.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";

const BIG = "1234567890123456789";

/** Schemas and values as JSON texts, with what is wrong, or undefined. */
const CASES: [schema: string, value: string, problem: string | undefined][] = [
  ['{"type":"integer"}', BIG, undefined],
  ['{"type":"number"}', BIG, undefined],
  ['{"type":["null","integer"]}', BIG, undefined],
  ['{"type":"string"}', BIG, `must be string, not ${BIG}`],
  ['{"type":"object","properties":{"type":{"type":"integer"}}}', `{"type":${BIG}}`, undefined],
  ['{"properties":{"id":{"type":"boolean"}}}', `{"id":${BIG}}`, `must be boolean, not ${BIG}`],
  ['{"minimum":9007199254740993}', "9007199254740993", undefined],
  ['{"minimum":9007199254740994}', "9007199254740993", "must be >= 9007199254740994"],
  ['{"maximum":9223372036854775807}', "9223372036854775807", undefined],
  ['{"maximum":9223372036854775807}', "9223372036854775808", "must be <= 9223372036854775807"],
  ['{"maximum":18446744073709551615}', "5", undefined],
  ['{"maximum":10}', BIG, "must be <= 10"],
  ['{"exclusiveMinimum":9007199254740992}', "9007199254740993", undefined],
  ['{"exclusiveMaximum":9007199254740993}', "9007199254740993", "must be < 9007199254740993"],
  ['{"multipleOf":2}', "9007199254740994", undefined],
  ['{"multipleOf":2}', "9007199254740993", "must be multiple of 2"],
  [`{"const":${BIG}}`, BIG, undefined],
  [`{"const":${BIG}}`, "1234567890123456788", `must be ${BIG}, not 1234567890123456788`],
  [`{"enum":[1,${BIG}]}`, BIG, undefined],
  [`{"enum":[1,${BIG}]}`, "1234567890123456790", `must be one of 1, ${BIG}, not 1234567890123456790`],
  [`{"enum":[1,${BIG}]}`, "2", `must be one of 1, ${BIG}, not 2`],
  ['{"const":{"type":"integer","minimum":1}}', '{"type":"integer","minimum":1}', undefined],
  ['{"uniqueItems":true}', "[9007199254740992,9007199254740993]", undefined],
  [
    '{"uniqueItems":true}',
    "[9007199254740993,9007199254740993]",
    "must NOT have duplicate items (items ## 0 and 1 are identical)",
  ],
  ['{"anyOf":[{"type":"string"},{"type":"integer"}]}', BIG, undefined],
  [
    '{"$ref":"#/$defs/id","$defs":{"id":{"type":"integer","maximum":9007199254740993}}}',
    "9007199254740994",
    "must be <= 9007199254740993",
  ],
  ['{"type":"integer","nullable":true,"maximum":9007199254740993}', "9007199254740993", undefined],
  ['{"if":{"minimum":9007199254740993},"then":false}', "9007199254740992", undefined],
];

describe("a whole number beyond 2^53", () => {
  test.each(CASES)("is checked by %s with all digits: %s", (schema, value, problem) => {
    expect(checkAgainstSchema(schema, readJson(value))?.message).toBe(problem);
  });

  test("is checked the same in a thread and in a process", async () => {
    const validator = new IsolatingValidator();
    onTestFinished(() => validator.close());
    for (const filler of [0, 200_000]) {
      const schema = readJson(
        `{"properties":{"id":{"type":"integer","maximum":9007199254740993},"text":{"pattern":"^(a+)+$"}}}`,
      );
      const value = (id: string) => readJson(`{"id":${id},"rest":"${"x".repeat(filler)}"}`);
      expect(await validator.check(schema, value("9007199254740993"))).toBeUndefined();
      expect(await validator.check(schema, value("9007199254740994"))).toMatchObject({
        message: "must be <= 9007199254740993",
      });
    }
  });
});
