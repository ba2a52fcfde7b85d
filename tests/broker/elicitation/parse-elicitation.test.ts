import { describe, expect, it } from "vitest";
import { readFormValues } from "../../../broker/elicitation/form-values.ts";
import { parseElicitation } from "../../../broker/elicitation/parse-elicitation.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);

const redact = (text: string) => text.replaceAll("s3cret", "[redacted]");
const form = (properties: object, required: string[] = []) => ({
  message: "m",
  requestedSchema: { type: "object", properties, required },
});
const fieldsOf = (params: unknown) => {
  const parsed = parseElicitation(params, redact);
  if (!parsed.ok || parsed.elicitation.mode !== "form") throw new Error("it is no form");
  return parsed.elicitation.fields;
};
const problemOf = (params: unknown) => {
  const parsed = parseElicitation(params, redact);
  return parsed.ok ? undefined : parsed.problem;
};

describe("what a server asks", () => {
  it("has no default where a server says an empty one", () => {
    const fields = fieldsOf(
      form({ a: { type: "string", default: "Ann" }, b: { type: "string", default: "" } }),
    );
    expect(fields.map(({ byDefault }) => byDefault)).toEqual(["Ann", undefined]);
  });

  it("is read with every kind of field that the protocol knows", () => {
    const fields = fieldsOf(
      form(
        {
          text: { type: "string", title: "T", description: "D", minLength: 1, maxLength: 5, format: "email" },
          number: { type: "number", minimum: 0, maximum: 9, default: 1 },
          whole: { type: "integer" },
          yes: { type: "boolean", default: true },
          one: { type: "string", enum: ["a", "b"], enumNames: ["A"], default: "b" },
          titled: { type: "string", oneOf: [{ const: "x", title: "X" }] },
          some: {
            type: "array",
            minItems: 1,
            items: { anyOf: [{ const: "p", title: "P" }] },
            default: ["p", "q"],
          },
        },
        ["text"],
      ),
    );
    expect(fields.map(({ kind, isRequired, byDefault }) => [kind, isRequired, byDefault])).toEqual([
      ["text", true, undefined],
      ["number", false, 1],
      ["number", false, undefined],
      ["boolean", false, true],
      ["choice", false, "b"],
      ["choice", false, undefined],
      ["choices", false, ["p"]],
    ]);
    const common = { title: undefined, description: undefined, isRequired: false };
    const a = { value: "a", title: "A" };
    expect(fields).toMatchObject([
      { name: "text", title: "T", description: "D", minLength: 1, maxLength: 5, format: "email" },
      { ...common, name: "number", isInteger: false, minimum: 0, maximum: 9 },
      { ...common, name: "whole", isInteger: true, minimum: undefined, maximum: undefined },
      { ...common, name: "yes" },
      { ...common, name: "one", options: [a, { value: "b", title: "b" }] },
      { ...common, name: "titled", options: [{ value: "x", title: "X" }] },
      { ...common, name: "some", options: [{ value: "p", title: "P" }], minItems: 1, maxItems: undefined },
    ]);
  });

  it("is read without bounds, formats and defaults that are none", () => {
    const fields = fieldsOf(
      form({
        text: { type: "string", minLength: -1, maxLength: 1.5, format: "colour", default: 5 },
        number: { type: "number", minimum: "0", maximum: null, default: "1" },
        yes: { type: "boolean", default: "true" },
        one: { type: "string", enum: ["a"], enumNames: "A", default: "c" },
        some: { type: "array", items: { enum: ["a"] }, default: "a", minItems: "1" },
      }),
    );
    const none = { byDefault: undefined };
    expect(fields).toMatchObject([
      { ...none, kind: "text", minLength: undefined, maxLength: undefined, format: undefined },
      { ...none, kind: "number", minimum: undefined, maximum: undefined },
      { ...none, kind: "boolean" },
      { ...none, kind: "choice", options: [{ value: "a", title: "a" }] },
      { ...none, kind: "choices", minItems: undefined },
    ]);
  });

  it("may have names, titles, choices and defaults up to a length, beyond which nobody reads them", () => {
    const named = (name: number, choice: number, text: number) => {
      const properties = {
        ["n".repeat(name)]: { type: "boolean", title: "t".repeat(500), description: "d".repeat(900) },
        one: { type: "string", enum: ["c".repeat(choice)] },
        text: { type: "string", default: "x".repeat(text) },
      };
      const parsed = parseElicitation(form(properties), redact);
      return parsed.ok ? undefined : parsed.problem.replace(/^.*: /, "");
    };
    expect(named(128, 200, 10_000)).toBeUndefined();
    expect(named(129, 200, 10_000)).toBe("a name of a field is longer than 128 characters");
    expect(named(128, 201, 10_000)).toBe("a value to choose is longer than 200 characters");
    expect(named(128, 200, 10_001)).toBe("a default of a field is longer than 10000 characters");
    const [field] = fieldsOf(
      form({ a: { type: "boolean", title: "t".repeat(500), description: "d".repeat(900) } }),
    );
    expect([field?.title?.length, field?.description?.length]).toEqual([200, 500]);
    const options = Array.from({ length: 101 }, (_, i) => `o${i}`);
    const ofOptions = (count: number) => form({ a: { type: "string", enum: options.slice(0, count) } });
    expect(fieldsOf(ofOptions(100))).toHaveLength(1);
    expect(problemOf(ofOptions(101))).toMatch(/a choice in its form is not one of 1 to 100$/);
  });

  it("may have 32 fields", () => {
    const names = Array.from({ length: 32 }, (_, i) => [`f${i}`, { type: "boolean" }]);
    expect(fieldsOf(form(Object.fromEntries(names)))).toHaveLength(32);
  });

  it("has its texts made visible, cut, and without secrets", () => {
    const message = `a\u001b[2Jb s3cret ${"x".repeat(5_000)}`;
    const parsed = parseElicitation({ ...form({}), message }, redact);
    if (!parsed.ok) throw new Error(parsed.problem);
    expect(parsed.elicitation.message).toMatch(/^a\\u\{1b\}\[2Jb \[redacted\] x+ \.\.\.$/);
    expect(parsed.elicitation.message.length).toBeLessThanOrEqual(2_000);
  });

  it("names the host of an address, and no other than one of the web", () => {
    const url = (address: string) => parseElicitation({ mode: "url", message: "", url: address }, redact);
    expect(url("https://user@evil.example:8443/?a=https://bank.example")).toMatchObject({
      elicitation: { host: "evil.example:8443" },
    });
    for (const address of ["javascript:alert(1)", "file:///etc/passwd", "nothing", "https://a/?k=s3cret"]) {
      expect(url(address)).toMatchObject({ ok: false });
    }
  });

  it.each([
    ...rows<[unknown, string]>("refused questions"),
    [undefined, "it says nothing that can be read"],
    [
      form(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`f${i}`, { type: "boolean" }]))),
      "its form has more than 32 fields",
    ],
  ])("cannot be put to a person when it is %j", (params, why) => {
    expect(problemOf(params)).toBe(`asked something that cannot be put to a person: ${why}`);
  });
});

describe("the values of a form", () => {
  const fields = fieldsOf(
    form(
      {
        name: { type: "string", minLength: 2 },
        at: { type: "string", format: "date" },
        age: { type: "integer", maximum: 9 },
        some: { type: "array", maxItems: 1, items: { type: "string", enum: ["p", "q"] } },
      },
      ["name"],
    ),
  );
  it.each<[Record<string, unknown>, string]>(rows("refused values"))(
    "are refused when they are %j",
    (content, problem) => {
      expect(readFormValues(fields, content)).toEqual({ ok: false, problem });
    },
  );

  it("are those of the fields and no others", () => {
    const content = { name: "ann", at: "", age: 9, more: 1 };
    expect(readFormValues(fields, content)).toEqual({ ok: true, values: { name: "ann", age: 9 } });
  });
});
