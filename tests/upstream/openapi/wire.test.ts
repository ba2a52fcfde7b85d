/**
 * What ptc sends for generated arguments is what a reference client sends, and what a server that goes by the same description
 * takes: for operations of GitHub's API.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OpenAPIBackend } from "openapi-backend";
import createClient from "openapi-fetch";
import { expect, test } from "vitest";
import { isObject } from "../../../base/json.ts";
import { type ApiDescription, parseDescription, References } from "../../../upstream/openapi/description.ts";
import { type ApiOperation, readOperations } from "../../../upstream/openapi/operations.ts";
import { Random } from "../../fuzz/random.ts";
import { openDescribed, serveApi } from "./serve-api.ts";

const FILE = join(
  import.meta.dirname,
  "../../../node_modules/@octokit/openapi/generated/api.github.com.json",
);
const INPUTS = 300;

/** A value that a schema accepts, more or less: one that a server that checks may refuse is not counted. */
function valueFor(schema: unknown, random: Random, references: References, levels = 4): unknown {
  const found = references.resolve(schema);
  if (found === undefined) return "a";
  if (found.default !== undefined && random.chance(0.3)) return found.default;
  if (Array.isArray(found.enum)) return random.pick(found.enum);
  if (found.const !== undefined) return found.const;
  const [one] = [found.oneOf, found.anyOf].filter(Array.isArray);
  if (one !== undefined && one.length > 0 && found.type === undefined)
    return valueFor(random.pick(one), random, references, levels - 1);
  const type = Array.isArray(found.type) ? found.type[0] : found.type;
  switch (type) {
    case "integer":
      return random.between(1, 50);
    case "number":
      return random.between(1, 50) + 0.5;
    case "boolean":
      return random.chance(0.5);
    case "array":
      return Array.from({ length: levels < 0 ? 0 : random.between(1, 3) }, () =>
        valueFor(found.items, random, references, levels - 1),
      );
    case "object": {
      const properties = Object.entries(isObject(found.properties) ? found.properties : {});
      const required = Array.isArray(found.required) ? found.required : [];
      const chosen = properties.filter(
        ([name]) => required.includes(name) || (levels > 0 && random.chance(0.3)),
      );
      return Object.fromEntries(
        chosen.map(([name, each]) => [name, valueFor(each, random, references, levels - 1)]),
      );
    }
    default:
      return random.pick(["a", "a b", "ä/ö", "x&y=z", "100%", "#1", "a+b", "2026-01-02T03:04:05Z"]);
  }
}

/** Arguments as ptc takes them, and as the reference client does. */
function argumentsFor(operation: ApiOperation, description: ApiDescription, random: Random) {
  const references = new References(description.document);
  const item = (description.document.paths as Record<string, Record<string, unknown>>)[operation.path] ?? {};
  const described = item[operation.method.toLowerCase()] as { requestBody?: unknown; parameters?: unknown[] };
  const given: Record<string, unknown> = {};
  const params: Record<string, Record<string, unknown>> = { path: {}, query: {}, header: {} };
  for (const parameter of operation.parameters) {
    const found = [...(described.parameters ?? []), ...((item.parameters as unknown[]) ?? [])]
      .map((each) => references.resolve(each))
      .find((each) => each?.name === parameter.name && each.in === parameter.in);
    if (parameter.in !== "path" && found?.required !== true && random.chance(0.5)) continue;
    const value = valueFor(found?.schema, random, references);
    given[parameter.argument] = value;
    Object.assign(params[parameter.in] ?? {}, { [parameter.name]: value });
  }
  const content = references.resolve(described.requestBody)?.content as
    | Record<string, { schema?: unknown }>
    | undefined;
  const body =
    content?.["application/json"] === undefined
      ? undefined
      : valueFor(content["application/json"].schema, random, references);
  if (body !== undefined) given.body = body;
  return { given, params, body };
}

test(`${INPUTS} generated inputs are the same on the wire as those of openapi-fetch, and fit the description`, async () => {
  const text = readFileSync(FILE, "utf8");
  const description = parseDescription(text, FILE);
  const { operations } = readOperations(description);
  const usable = operations.filter(
    ({ media, parameters }) =>
      media.every(({ kind }) => kind === "json") && parameters.every(({ isJson }) => !isJson),
  );
  const random = new Random("wire", 7, 0);
  const api = await serveApi();
  const { call } = openDescribed(text, api.url);
  const client = createClient<Record<string, never>>({ baseUrl: api.url }) as unknown as {
    request(method: string, path: string, init: object): Promise<unknown>;
  };
  const judge = new OpenAPIBackend({
    ajvOpts: { logger: false },
    definition: withoutBareNullable(text),
    quick: true,
    validate: true,
    strict: false,
  });
  await judge.init();
  let fitting = 0;
  for (let n = 0; n < INPUTS; n++) {
    const operation = random.pick(usable);
    const { given, params, body } = argumentsFor(operation, description, random);
    await call(operation.name, given);
    await client.request(operation.method.toLowerCase(), operation.path, {
      params,
      ...(body === undefined ? {} : { body }),
    });
    const [ours, theirs] = api.asked.splice(0);
    const plain = (url = "") => {
      const { pathname, searchParams } = new URL(url, api.url);
      return [pathname.split("/").map((part) => decodeURIComponent(part)), [...searchParams]];
    };
    const name = operation.name;
    expect({ name, url: plain(ours?.url) }).toEqual({ name, url: plain(theirs?.url) });
    expect({ name, method: ours?.method, body: ours?.body.toString() }).toEqual({
      name,
      method: theirs?.method,
      body: theirs?.body.toString(),
    });
    for (const header of Object.keys(params.header ?? {}))
      expect(ours?.headers[header.toLowerCase()]).toBe(theirs?.headers[header.toLowerCase()]);
    const request = {
      method: ours?.method ?? "",
      path: new URL(ours?.url ?? "", api.url).pathname,
      query: Object.fromEntries(new URL(ours?.url ?? "", api.url).searchParams),
      headers: ours?.headers as Record<string, string>,
      body: ours?.body.length === 0 ? undefined : ours?.body.toString(),
    };
    const { valid } = judge.validateRequest(request, judge.getOperation(idOf(description, operation)));
    if (valid) fitting++;
  }
  // The others hold values that the generator made without looking at formats and lengths.
  expect(fitting).toBeGreaterThan(INPUTS * 0.6);
});

/** A description in which `nullable` has a type beside it, without which the judge reads no schema. */
function withoutBareNullable(text: string) {
  return JSON.parse(text, (_, value: unknown) => {
    if (!isObject(value) || value.nullable === undefined || value.type !== undefined) return value;
    const { nullable: _nullable, ...rest } = value;
    return rest;
  });
}

function idOf({ document }: ApiDescription, { path, method }: ApiOperation): string {
  const item = (document.paths as Record<string, Record<string, { operationId?: string }>>)[path];
  return item?.[method.toLowerCase()]?.operationId ?? "";
}
