import { describe, expect, it } from "vitest";
import { describeProblem } from "../../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { NumberedMarks, PiiMasks } from "../../../secrets/pii/pii-mask.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { ModelConnection, type ModelConnectionOptions } from "../../../upstream/model/model-connection.ts";
import { eventually } from "../../eventually.ts";
import { toolCall } from "../upstream-fixtures.ts";
import {
  completion,
  type ModelRequest,
  type ScriptedAnswer,
  scriptedModel,
  toolUse,
} from "./scripted-model.ts";

const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};
const ADA = { name: "Ada", age: 36 };
const MISFIT = 'value.age must be integer, not "old"';

type Answers = readonly (ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer))[];

async function connect(answers: Answers, more: Partial<ModelConnectionOptions> = {}) {
  const { url, requests } = await scriptedModel(answers);
  const validator = new IsolatingValidator();
  const redactor = new Redactor(["a-configured-secret"]);
  const connection = new ModelConnection({
    url: `${url}/v1/chat/completions`,
    model: "small",
    api: "openai",
    headers: { authorization: "Bearer the-key" },
    maxInputBytes: 1_000,
    version: "1",
    withhold: async () => {
      const marks = new NumberedMarks(new PiiMasks({ kinds: ["email", "ip"], countries: [] }).mask());
      const masking = redactor.with(marks);
      return {
        redact: (value) => masking.redactValue(value).value,
        restore: (value) => marks.restore(value),
        hasMarks: () => marks.size > 0,
      };
    },
    async findMisfit(schema, value) {
      const problem = await validator.check(schema, value);
      return problem && describeProblem("value", problem);
    },
    onClose: () => validator.close(),
    ...more,
  });
  const extract = (value: unknown, schema: unknown = PERSON, options = {}) =>
    connection.callTool(toolCall("extract", { value, schema }, { timeoutMs: 60_000, ...options }));
  return { connection, requests, extract, url };
}

const failed = (text: string | RegExp) =>
  expect.objectContaining({
    isError: true,
    content: [{ type: "text", text: typeof text === "string" ? text : expect.stringMatching(text) }],
  });

describe("a model that is asked to coerce a text", () => {
  it("gives a value of the type over OpenAI's API, and is given the schema", async () => {
    const { extract, requests } = await connect([completion({ value: ADA })]);
    expect(await extract("Ada, aged 36")).toEqual({
      content: [],
      structuredContent: ADA,
      _meta: { "ptc/extract": { model: "small", requests: 1, input_tokens: 10, output_tokens: 5 } },
    });
    const [{ path, headers, body } = expect.fail()] = requests;
    expect(path).toBe("/v1/chat/completions");
    expect(headers).toMatchObject({ authorization: "Bearer the-key", "content-type": "application/json" });
    expect(body).toMatchObject({
      model: "small",
      messages: [{ role: "system" }, { role: "user", content: "<text>\nAda, aged 36\n</text>" }],
      response_format: {
        type: "json_schema",
        json_schema: { strict: true, schema: { properties: { value: PERSON }, required: ["value"] } },
      },
    });
  });

  it("gives one over Anthropic's API, which has a tool for it", async () => {
    const wrong = toolUse({ value: { name: "Ada" } });
    const more = { api: "anthropic", headers: { "x-api-key": "the-key" } } as const;
    const { extract, requests } = await connect([wrong, toolUse({ value: ADA })], more);
    expect(await extract({ who: "Ada", age: "36" })).toMatchObject({
      structuredContent: ADA,
      _meta: { "ptc/extract": { requests: 2, input_tokens: 14, output_tokens: 6 } },
    });
    const [first, second] = requests;
    expect(first?.headers).toMatchObject({ "x-api-key": "the-key", "anthropic-version": "2023-06-01" });
    expect(first?.body).toMatchObject({
      messages: [{ role: "user", content: '<text>\n{"who":"Ada","age":"36"}\n</text>' }],
      tool_choice: { type: "tool", name: "give" },
      tools: [{ name: "give", input_schema: { properties: { value: PERSON } } }],
    });
    expect(second?.body.messages.slice(1)).toMatchObject([
      { role: "assistant", content: [{ type: "tool_use", input: { value: { name: "Ada" } } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", is_error: true }] },
    ]);
  });

  it("is asked once to repair an answer that does not fit, and then fails", async () => {
    const bad = completion({ value: { name: "Ada", age: "old" } });
    const mended = await connect([bad, completion({ value: ADA })]);
    expect(await mended.extract("Ada")).toMatchObject({ structuredContent: ADA });
    expect(mended.requests[1]?.body.messages.slice(2)).toEqual([
      { role: "assistant", content: '{"value":{"name":"Ada","age":"old"}}' },
      { role: "user", content: `That does not fit: ${MISFIT}. Give all of it again, so that it fits.` },
    ]);
    const stubborn = await connect([bad]);
    expect(await stubborn.extract("Ada")).toEqual(
      failed(`the model's answer does not fit the type, even after a repair: ${MISFIT}`),
    );
    expect(stubborn.requests).toHaveLength(2);
    for (const nonsense of ["no JSON", '{"other": 1}', "[]", "null"]) {
      const { extract } = await connect([completion(nonsense), completion({ value: ADA })]);
      expect(await extract("Ada")).toMatchObject({ structuredContent: ADA });
    }
    const fenced = await connect([completion(`\`\`\`json\n{"value": ${JSON.stringify(ADA)}}\n\`\`\``)]);
    expect(await fenced.extract("Ada")).toMatchObject({ _meta: { "ptc/extract": { requests: 1 } } });
    const talks = { body: { content: [{ type: "text", text: "Hm" }] } };
    const unforced = await connect([talks, toolUse({ value: ADA })], { api: "anthropic" });
    expect(await unforced.extract("Ada")).toMatchObject({ structuredContent: ADA });
  });

  it("is sent no secret, and not more than the bound", async () => {
    const { extract, requests } = await connect([completion({ value: "x" })]);
    const schema = { type: "string", description: "not a-configured-secret" };
    const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    await extract({ "a-configured-secret": [`a-configured-secret ${token}`] }, schema);
    const sent = JSON.stringify(requests[0]?.body);
    expect(sent).not.toMatch(/a-configured-secret|ghp_0123456789/);
    expect(sent).toContain("REDACTED");
    const tooMuch = failed(/^the value is 1001 bytes, and at most 1000 are sent/);
    expect(await extract("x".repeat(1_001))).toEqual(tooMuch);
    expect(requests).toHaveLength(1);
  });

  it("is sent marks for personal data, and what it gives of them is what they stand for, checked as that", async () => {
    const people = {
      type: "object",
      properties: {
        to: { type: "array", items: { type: "string", format: "email" } },
        owner: { enum: ["ada@example.com", "bob@example.com"] },
        count: { type: "integer" },
      },
    };
    const first = { to: ["[REDACTED:email:1]"], owner: "[REDACTED:email:2]", count: "two" };
    const answers = [completion({ value: first }), completion({ value: { ...first, count: 2 } })];
    const { extract, requests } = await connect(answers);
    const from = "from ada@example.com";
    const mail = { [from]: "to bob@example.com and ada@example.com at 203.0.113.7, [REDACTED:email:9]" };
    const marked =
      '{"from [REDACTED:email:1]":"to [REDACTED:email:2] and [REDACTED:email:1] at [REDACTED:ip:3], [REDACTED:email:9]"}';
    expect(await extract(mail, people)).toMatchObject({
      structuredContent: { to: ["ada@example.com"], owner: "bob@example.com", count: 2 },
    });
    const sent = JSON.stringify(requests);
    expect(requests).toHaveLength(2);
    expect(sent).not.toMatch(/ada@|bob@|203\.0/);
    expect(requests[0]?.body.messages).toMatchObject([
      { content: expect.stringContaining("give the mark as it is") },
      { content: `<text>\n${marked}\n</text>` },
    ]);
    // The repair does not show it either.
    const wrong = completion({ value: { to: "[REDACTED:email:1]" } });
    const stubborn = await connect([wrong]);
    const misfit = failed(/value\.to must be array, not "ada@example\.com"/);
    expect(await stubborn.extract(mail, people)).toEqual(misfit);
    expect(JSON.stringify(stubborn.requests)).not.toMatch(/ada@|bob@/);
    const other = await connect([toolUse({ value: "[REDACTED:email:1]" })], { api: "anthropic" });
    expect(await other.extract("ada@example.com", { type: "string" })).toMatchObject({
      structuredContent: "ada@example.com",
    });
    expect(JSON.stringify(other.requests[0]?.body)).toContain("give the mark as it is");
  });

  it("is not asked for a type that cannot be checked", async () => {
    const { extract, requests } = await connect([completion({ value: 1 })]);
    const refused: [schema: unknown, message: RegExp][] = [
      [{ type: "text" }, /^the type's type must be one of object, array/],
      [{ properties: { a: { required: "a" } } }, /^the type's properties\.a\.required must be a list/],
      [{ minimum: "1" }, /^the type's minimum must be a number/],
      [{ pattern: "(" }, /^the type's pattern must be a regular expression/],
      [{ not: { type: "string" } }, /^the type has 'not', which extract does not take/],
      [{ $ref: "https://elsewhere.example/s" }, /^the type has a \$ref that leads to none of its \$defs/],
      [{ $ref: "#" }, /^the type has a \$ref/],
      [{ description: "x".repeat(70_000) }, /^the type is larger than 65536 characters/],
    ];
    for (const [schema, message] of refused) expect(await extract("x", schema)).toEqual(failed(message));
    expect(requests).toHaveLength(0);
    const shared = { $defs: { tag: { type: "string" } }, type: "array", items: { $ref: "#/$defs/tag" } };
    const { extract: ask, requests: asked } = await connect([completion({ value: ["a"] })]);
    expect(await ask("x", shared)).toMatchObject({ structuredContent: ["a"] });
    expect(asked[0]?.body.response_format).toMatchObject({
      json_schema: { schema: { $defs: shared.$defs, properties: { value: { type: "array" } } } },
    });
    // What may be left out, a provider that enforces forms does not take.
    const loose = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
    await ask("x", loose);
    expect(JSON.stringify(asked[1]?.body.response_format)).not.toContain("strict");
  });

  it("is asked to keep to the form where every object requires all that it names, and only then", async () => {
    const { extract, requests } = await connect([completion({ value: 1 })]);
    const closed = (properties: object, more: object = {}) => ({
      ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
      ...more,
    });
    const open = { type: "object" };
    const A = { a: { type: "string" } };
    const cases: [schema: unknown, isStrict: boolean][] = [
      [{ type: "string" }, true],
      [closed(A), true],
      [{ ...closed(A), type: undefined }, true],
      [closed({}), true],
      [open, false],
      [{ properties: A, required: ["a"] }, false],
      [closed(A, { required: [] }), false],
      [closed(A, { required: undefined }), false],
      [closed(A, { additionalProperties: true }), false],
      [closed(A, { additionalProperties: { type: "string" } }), false],
      [{ type: "array", items: closed(A) }, true],
      ...[
        ...[{ items: open }, { prefixItems: [closed(A), open] }, { $defs: { x: open } }],
        ...[{ anyOf: [open] }, { oneOf: [open] }, { allOf: [open] }, closed({ b: open })],
      ].map((schema): [unknown, boolean] => [schema, false]),
    ];
    for (const [index, [schema, isStrict]] of cases.entries()) {
      await extract("1", schema);
      const format = requests[requests.length - 1]?.body.response_format;
      expect(format, `${index} ${JSON.stringify(schema)}`).toMatchObject({
        json_schema: isStrict ? { strict: true } : expect.not.objectContaining({ strict: expect.anything() }),
      });
    }
  });

  it("is charged with what was asked, also of an answer that does not fit, and with nothing where nothing was asked", async () => {
    const stubborn = await connect([completion({ value: "x" })]);
    expect(await stubborn.extract("Ada")).toMatchObject({
      isError: true,
      _meta: { "ptc/extract": { model: "small", requests: 2, input_tokens: 20, output_tokens: 10 } },
    });
    const never = await stubborn.extract("Ada", { not: {} });
    expect(never).toEqual({ isError: true, content: [{ type: "text", text: expect.any(String) }] });
    const { connection } = stubborn;
    expect(await connection.callTool(toolCall("distill", { value: "x", schema: {} }, {}))).toEqual({
      isError: true,
      content: [{ type: "text", text: "there is no tool 'distill'" }],
    });
    expect(await stubborn.extract("Ada", true)).toEqual(failed("the type is no JSON Schema"));
  });

  it("takes references to what the type defines, in every place, and no others", async () => {
    const { extract, requests } = await connect([completion({ value: 1 })]);
    const $defs = { tag: {}, "a.b": {} };
    for (const $ref of ["#/$defs/tag", "#/$defs/a.b"]) await extract("1", { $defs, items: { $ref } });
    expect(requests).toHaveLength(2);
    const foreign = [5, "#/$defs/other", "#/$defs/tag/x", "x#/$defs/tag", "#/$defs/", "#/$defs/constructor"];
    for (const $ref of foreign)
      for (const schema of [{ items: { $ref } }, { anyOf: [{}, { properties: { a: { $ref } } }] }])
        expect(await extract("1", { $defs, ...schema }), `${$ref}`).toEqual(failed(/^the type/));
    expect(requests).toHaveLength(2);
    const odd = await extract("1", { ["k".repeat(65)]: 1 });
    expect(odd).toEqual(failed(`the type has '${"k".repeat(64)}', which extract does not take`));
  });

  it("fails in one line where its endpoint does, and is asked at no other address", async () => {
    const elsewhere = await scriptedModel([completion({ value: ADA })]);
    const location = `${elsewhere.url}/v1/chat/completions`;
    const limited = (wait: string, body: unknown) => ({
      status: 429,
      headers: { "retry-after": wait },
      body,
    });
    const failures: [answer: ScriptedAnswer, code: string, retryable: boolean, message: RegExp][] = [
      [
        { status: 401, body: { error: { message: "bad\nkey" } } },
        ...(["remote_error", false] as const),
        /^the model at 127\.0\.0\.1:\d+ refused \(HTTP 401\): bad key$/,
      ],
      [limited("7", "x"), "remote_error", true, / refused \(HTTP 429\); it can be asked again in 7 s$/],
      [limited("-1 x", { error: "y" }), "remote_error", true, / refused \(HTTP 429\)$/],
      [{ status: 503, body: "x".repeat(100_000) }, "remote_error", true, / refused \(HTTP 503\)$/],
      [
        { status: 307, headers: { location }, body: "" },
        ...(["remote_error", false] as const),
        /sent ptc to another address \(HTTP 307\), which is not followed/,
      ],
      [{ body: "<html>" }, "protocol_error", false, /something that is no JSON/],
      [{ body: { choices: [] } }, "protocol_error", false, /does not speak openai's API/],
      [
        { body: `"${"x".repeat(5 * 1024 * 1024)}"` },
        ...(["protocol_error", false] as const),
        /answered with more than 4194304 bytes/,
      ],
      ["hang up", "disconnected", true, /could not be asked/],
    ];
    for (const [answer, code, retryable, message] of failures) {
      const { extract, requests } = await connect([answer]);
      const error = { code, retryable, message: expect.stringMatching(message) };
      await expect(extract("Ada")).rejects.toMatchObject(error);
      expect(requests).toHaveLength(1);
    }
    expect(elsewhere.requests).toEqual([]);
    const [cut, refused] = [/was cut off because it is too long/, /^the model refused$/];
    const final: [api: "openai" | "anthropic", answer: ScriptedAnswer, message: RegExp][] = [
      ["openai", completion("", { finish_reason: "length" }), cut],
      ["openai", completion("", { message: { content: null, refusal: "I cannot" } }), refused],
      [
        "openai",
        completion("", { finish_reason: "content_filter" }),
        /^the model's provider held its answer back$/,
      ],
      ["anthropic", toolUse({}, { stop_reason: "max_tokens" }), cut],
      ["anthropic", toolUse({}, { stop_reason: "refusal", content: [] }), refused],
    ];
    for (const [api, answer, message] of final) {
      const { extract, requests } = await connect([answer], { api });
      expect(await extract("Ada")).toEqual(failed(message));
      expect(requests).toHaveLength(1);
    }
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const busy = await connect([{ status: 529, body: overloaded }], { api: "anthropic" });
    await expect(busy.extract("Ada")).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining("refused (HTTP 529): Overloaded"),
    });
    const { connection, extract } = await connect([], { url: "http://127.0.0.1:9/" });
    await expect(extract("Ada")).rejects.toMatchObject({ code: "disconnected", retryable: true });
    await connection.close();
  });

  it("is not waited for longer than a call may take, nor when the run has ended", async () => {
    const dripping = await connect(["drip"]);
    const late = { code: "call_timeout", message: "the model gave no answer within 0.3 s" };
    await expect(dripping.extract("Ada", PERSON, { timeoutMs: 300 })).rejects.toMatchObject(late);
    const { extract, requests, connection } = await connect(["silence"]);
    await expect(extract("Ada", PERSON, { timeoutMs: 300 })).rejects.toMatchObject(late);
    const run = new AbortController();
    const cancelled = extract("Ada", PERSON, { signal: run.signal });
    await eventually(() => expect(requests).toHaveLength(2));
    run.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    const closed = extract("Ada");
    closed.catch(() => {});
    await eventually(() => expect(requests).toHaveLength(3));
    await connection.close();
    await expect(closed).rejects.toMatchObject({ code: "cancelled" });
  });
});
