import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { renderConfiguration } from "../../configuration/write-file.ts";
import { printSchema } from "../../scripts/docs/print-schema.ts";

const isValid = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(JSON.parse(printSchema()));
const accepts = (text: string) => isValid(parse(text)) || isValid.errors;

describe("the JSON Schema of ptc.yaml", () => {
  it("accepts every key that ptc init shows", () => {
    const text = renderConfiguration([]).replaceAll(/^# ?(?=[a-z]+:| {2})/gm, "");
    expect(Object.keys(parse(text)).length).toBeGreaterThan(15);
    expect(accepts(text)).toBe(true);
  });

  it.each([
    "execution:",
    "tools: {block: }",
    "policy: [rules.cedar]",
    "pii: [email]",
    "host: off",
    "audit: strict",
    "sessions: true",
    "learn: off",
    "servers: [{name: x, command: y, args: [8080]}]",
    "servers: [{name: x, url: http://x, auth: none, headers: {A: {keyring: k}}}]",
  ])("accepts %s", (text) => {
    expect(accepts(text)).toBe(true);
  });

  it.each([
    "server: []",
    "servers: [{command: x}]",
    "execution: {memory_mb: 0}",
    "execution: {typecheck: of}",
    "execution: {memroy_mb: 512}",
    "audit: {strict: strict}",
    "servers: [{name: x, auth: basic}]",
  ])("refuses %s", (text) => {
    expect(accepts(text)).not.toBe(true);
  });
});
