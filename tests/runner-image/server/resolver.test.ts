import fc from "fast-check";
import { expect, test } from "vitest";
import { answer, readQuestion } from "../../../runner-image/server/resolver.ts";
import { tries } from "../../tries.ts";

/** A query for a name (RFC 1035, section 4.1). */
function query(name: string, type = 1): Buffer {
  const labels = name.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1]);
}

test("a question is answered with its address, without one for another type, and as no such name", () => {
  const question = readQuestion(query("API.example.com"));
  expect(question).toMatchObject({ id: 0x1234, name: "api.example.com", type: 1 });
  if (question === undefined) return;
  const found = answer(question, "127.128.0.7");
  expect([...found.subarray(0, 12)]).toEqual([0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  expect([...found.subarray(-4)]).toEqual([127, 128, 0, 7]);
  expect([...answer({ ...question, type: 28 }, "127.128.0.7").subarray(2, 8)]).toEqual([
    0x81, 0x80, 0, 1, 0, 0,
  ]);
  expect([...answer(question, undefined).subarray(2, 8)]).toEqual([0x81, 0x83, 0, 1, 0, 0]);
});

test("what is no question is not answered, whatever it is", () => {
  const whole = query("a.example.com");
  for (let length = 0; length < whole.length; length++)
    expect(readQuestion(whole.subarray(0, length)), String(length)).toBeUndefined();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      const found = readQuestion(Buffer.from(bytes));
      expect(found === undefined || found.name.length <= 600).toBe(true);
    }),
    { numRuns: tries(200) },
  );
});
