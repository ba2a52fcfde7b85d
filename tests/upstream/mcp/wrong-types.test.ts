import { afterAll, describe, expect, it } from "vitest";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { toolParameters } from "../../../catalog/arguments.ts";
import { renderOffer } from "../../../catalog/parse-tool.ts";
import { planGeneration } from "../../../generation/generate-plan.ts";
import { listingOf } from "../../codegen/list-tools.ts";
import { connect, toolCall } from "../upstream-fixtures.ts";
import { readJson } from "./hostile-http-servers.ts";
import { listen } from "./upstream-http-servers.ts";

/** Values that no member of a definition has. The objects cannot be turned into text: their methods are data. */
const WRONG: readonly unknown[] = [
  { toString: "x" },
  { toString: "x", valueOf: "x", toJSON: "x", length: 1e9 },
  [{ toString: "x", valueOf: 1 }],
  [],
  7,
  true,
  null,
  "",
];

const ROOT = { type: "object", properties: { a: { type: "string", "x-mcp-header": "A" } }, required: ["a"] };

/** Where a value of the wrong type can stand in a definition. */
const PLACES = [
  ..."title description inputSchema outputSchema annotations icons _meta execution method".split(" "),
  ..."destructiveHint readOnlyHint title".split(" ").map((hint) => `annotations.${hint}`),
  ..."type properties required $schema $ref $id $defs allOf anyOf description properties.a"
    .split(" ")
    .map((keyword) => `inputSchema.${keyword}`),
  ..."type format enum const default pattern items maxLength x-mcp-header title"
    .split(" ")
    .map((keyword) => `inputSchema.properties.a.${keyword}`),
];

/** A definition with a value at a place. */
function withValue(definition: Record<string, unknown>, [key = "", ...rest]: string[], value: unknown) {
  const inner = (definition[key] ?? {}) as Record<string, unknown>;
  const changed: unknown = rest.length === 0 ? value : withValue(inner, rest, value);
  return { ...definition, [key]: changed };
}

const GOOD = { name: "good", inputSchema: ROOT };

/** A server that lists these, has resources and prompts, and answers every call. */
function serveListing(tools: readonly unknown[]): Promise<string> {
  return listen(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = await readJson(request);
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {}, prompts: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools },
      "tools/call": { content: [{ type: "text", text: "called" }] },
      "resources/list": { resources: [{ uri: "mem://a", name: "a" }] },
      "prompts/list": { prompts: [{ name: "p" }] },
    };
    const result = results[method];
    const answer = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
}

const validator = new IsolatingValidator();
afterAll(() => validator.close());

const connectTo = async (origin: string) =>
  connect({ name: "x", transport: "http", url: `${origin}/mcp`, headers: {} });

describe("a value of the wrong type in a listing takes no other tool along", () => {
  it.each(WRONG.map((wrong) => [JSON.stringify(wrong), wrong]))("where a name is %s", async (_, wrong) => {
    const connection = await connectTo(await serveListing([{ ...GOOD, name: wrong }, wrong, GOOD]));
    const tools = (await connection.list()).tools;
    const { catalog } = await planGeneration({ listings: [listingOf(tools)] });
    expect(catalog.servers[0]?.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["good", "prompts/get", "resources/read"]),
    );
    expect(renderOffer(tools)).toMatch(/tools?, resources, prompts$/);
  });

  it.each(PLACES)("where the value of %s is wrong", async (place) => {
    const odd = WRONG.map((wrong, index) =>
      withValue({ name: `odd${index}`, inputSchema: ROOT }, place.split("."), wrong),
    );
    const connection = await connectTo(await serveListing([...odd, GOOD]));
    const tools = (await connection.list()).tools;
    const { catalog } = await planGeneration({ listings: [listingOf(tools)] });
    const names = catalog.servers[0]?.tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["good", ...odd.map(({ name }) => name)]));
    for (const definition of tools as Record<string, unknown>[]) {
      if (!String(definition.name).startsWith("odd")) continue;
      // Whatever the check says, it is about this tool, and no exception.
      await validator.check(definition.inputSchema, { a: "x" }, "x");
      toolParameters(definition.inputSchema);
      const result = await connection.callTool(toolCall(String(definition.name), { a: "x" }, { definition }));
      expect(result).toMatchObject({ content: [{ text: "called" }] });
    }
  });
});
