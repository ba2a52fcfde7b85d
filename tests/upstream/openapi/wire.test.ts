/**
 * What ptc sends for generated arguments is what a reference client sends, and what a server that goes by the same description
 * takes: paths, queries, headers, JSON, forms and bodies of several parts.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OpenAPIBackend } from "openapi-backend";
import createClient, { createQuerySerializer } from "openapi-fetch";
import { expect, test } from "vitest";
import { isObject } from "../../../base/json.ts";
import { type ApiDescription, parseDescription, References } from "../../../upstream/openapi/description.ts";
import {
  type ApiOperation,
  type ApiParameter,
  readOperations,
} from "../../../upstream/openapi/operations.ts";
import { Random } from "../../fuzz/random.ts";
import { tries } from "../../tries.ts";
import { type Asked, openDescribed, serveApi } from "./serve-api.ts";

const PACKAGES = join(import.meta.dirname, "../../../node_modules");
const APIS = [
  { of: "GitHub", file: "@octokit/openapi/generated/api.github.com.json", inputs: tries(100), fit: 0.6 },
  {
    of: "Deep objects in queries (rclone)",
    file: "rclone-openapi/openapi.json",
    inputs: tries(75),
    fit: 0.6,
  },
  {
    of: "Forms (Star Trek)",
    file: "@readme/oas-examples/3.0/json/star-trek.json",
    inputs: tries(75),
    fit: 0.6,
  },
  // The judge reads no objects in paths, and only lists where values are not exploded.
  {
    of: "Every style",
    file: "@readme/oas-examples/3.1/json/parameters-style.json",
    inputs: tries(300),
    fit: 0.5,
  },
];

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
  const [type] = [found.type ?? (isObject(found.properties) ? "object" : undefined)].flat();
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
      // Where no member is named, any may be there.
      if (found.properties === undefined && found.additionalProperties !== false)
        return {
          "a b": isObject(found.additionalProperties)
            ? valueFor(found.additionalProperties, random, references, levels - 1)
            : "x&y",
        };
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
    let value = valueFor(found?.schema, random, references);
    for (let tries = 0; tries < 20 && !isStyledByBoth(parameter, value); tries++)
      value = valueFor(found?.schema, random, references);
    if (!isStyledByBoth(parameter, value)) continue;
    given[parameter.argument] = value;
    Object.assign(params[parameter.in] ?? {}, { [parameter.name]: value });
  }
  const content = references.resolve(described.requestBody)?.content as
    | Record<string, { schema?: unknown; encoding?: Record<string, { style?: string; explode?: boolean }> }>
    | undefined;
  const { schema, encoding = {} } = content?.[operation.media[0]?.type ?? ""] ?? {};
  let body = schema === undefined ? undefined : valueFor(schema, random, references);
  // A form has fields, also where nothing is said of them: those that both style.
  if (operation.media[0]?.kind !== "json" && body !== undefined)
    body = Object.fromEntries(
      Object.entries(isObject(body) ? body : { field: body }).filter(([name, value]) =>
        isStyledByBoth({ in: "query", style: encoding[name]?.style ?? "form", explode: true }, value),
      ),
    );
  if (body !== undefined) given.body = body;
  return { given, params, body, encoding };
}

/** Whether openapi-fetch makes something of a value in a style: of some that OpenAPI defines it does not. */
function isStyledByBoth(
  { in: place, style }: Pick<ApiParameter, "in" | "style" | "explode">,
  value: unknown,
): boolean {
  if (!isObject(value) && !Array.isArray(value)) return style !== "deepObject";
  if (Object.values(value).some((each) => typeof each === "object")) return false;
  if (Array.isArray(value)) return style !== "deepObject";
  return Object.keys(value).length > 0 && place !== "header" && !style.endsWith("Delimited");
}

test.for(APIS)(
  "$of: $inputs generated inputs are the same on the wire as those of openapi-fetch, and fit the description",
  async ({ file, inputs, fit }) => {
    const text = readFileSync(join(PACKAGES, file), "utf8");
    const description = parseDescription(text, file);
    const { operations } = readOperations(description);
    const usable = operations.filter(isSentByBoth);
    const random = new Random("wire", 7, 0);
    const api = await serveApi();
    const { call } = openDescribed(text, api.url);
    const client = createClient<Record<string, never>>({ baseUrl: api.url }) as unknown as {
      request(method: string, path: string, init: object): Promise<unknown>;
    };
    const judge = new OpenAPIBackend({
      ajvOpts: { logger: false },
      definition: judgeable(text),
      quick: true,
      validate: true,
      strict: false,
    });
    await judge.init();
    let fitting = 0;
    for (let n = 0; n < inputs; n++) {
      const operation = random.pick(usable);
      const { given, params, body, encoding } = argumentsFor(operation, description, random);
      expect(JSON.stringify(await call(operation.name, given))).not.toContain('"isError":true');
      const [media] = operation.media;
      await client.request(operation.method.toLowerCase(), styledPath(operation), {
        params,
        querySerializer: serializerOf(operation),
        ...(body === undefined ? {} : { body }),
        ...(body === undefined || media?.kind !== "form" ? {} : { headers: { "Content-Type": media.type } }),
        ...(media?.kind === "multipart" ? { bodySerializer: partsOf(encoding) } : {}),
      });
      const [ours, theirs] = api.asked.splice(0);
      const plain = (url = "") => {
        const { pathname, searchParams } = new URL(url, api.url);
        return [pathname.split("/").map((part) => decodeURIComponent(part)), [...searchParams]];
      };
      const name = operation.name;
      expect({ name, url: plain(ours?.url) }).toEqual({ name, url: plain(theirs?.url) });
      expect({ name, method: ours?.method, body: await readBody(ours) }).toEqual({
        name,
        method: theirs?.method,
        body: await readBody(theirs),
      });
      // Lists in headers are the same with and without spaces (RFC 9110, section 5.6.1).
      const listed = (value: unknown) => String(value).split(/, ?/);
      for (const header of Object.keys(params.header ?? {}))
        expect(listed(ours?.headers[header.toLowerCase()])).toEqual(
          listed(theirs?.headers[header.toLowerCase()]),
        );
      const { pathname, search } = new URL(ours?.url ?? "", api.url);
      const request = {
        method: ours?.method ?? "",
        path: pathname,
        query: search,
        headers: ours?.headers as Record<string, string>,
        // It reads no forms. What a form holds is compared above.
        body: media?.kind === "json" ? (ours?.body.length === 0 ? undefined : ours?.body.toString()) : body,
      };
      const { valid } = judge.validateRequest(request as never, judge.getOperation(idOf(operation)));
      if (valid) fitting++;
    }
    // The others hold values that the generator made without looking at formats and lengths.
    expect(fitting).toBeGreaterThan(inputs * fit);
  },
);

/** Whether openapi-fetch sends what an operation takes: it has no cookies, no objects in headers, and no files. */
function isSentByBoth({ media, parameters, path }: ApiOperation): boolean {
  return (
    media.every(({ kind }) => kind === "json" || kind === "form" || kind === "multipart") &&
    parameters.every(({ isJson, in: place }) => !isJson && place !== "cookie") &&
    !path.includes("#")
  );
}

/** The path with the styles of its parameters, as openapi-fetch reads them (RFC 6570). */
function styledPath({ path, parameters }: ApiOperation): string {
  return path.replaceAll(/\{([^{}]*)\}/g, (all, name: string) => {
    const found = parameters.find((each) => each.in === "path" && each.name === name);
    if (found === undefined) return all;
    const mark = { label: ".", matrix: ";" }[found.style] ?? "";
    return `{${mark}${name}${found.explode ? "*" : ""}}`;
  });
}

/** Each query parameter by its own style, which openapi-fetch takes for all of a request. */
function serializerOf({ parameters }: ApiOperation) {
  return (query: Record<string, unknown>): string =>
    Object.entries(query)
      .map(([name, value]) => {
        const found = parameters.find((each) => each.in === "query" && each.name === name);
        return styled(name, value, found?.style, found?.explode);
      })
      .filter((part) => part !== "")
      .join("&");
}

function styled(name: string, value: unknown, style = "form", explode = style === "form"): string {
  return createQuerySerializer({
    array: { style: style as "form", explode },
    object: { style: style === "deepObject" ? "deepObject" : "form", explode },
  })({ [name]: value } as never);
}

/** The body of several parts that the documentation of openapi-fetch has its users write, with the styles of parts. */
function partsOf(encoding: Readonly<Record<string, { style?: string; explode?: boolean }>>) {
  return (body: Record<string, unknown>): FormData => {
    const form = new FormData();
    for (const [name, value] of Object.entries(body)) {
      const { style, explode } = encoding[name] ?? {};
      if (style !== undefined)
        for (const [part, said] of new URLSearchParams(styled(name, value, style, explode)))
          form.append(part, said);
      else
        for (const each of [value].flat())
          if (typeof each === "object")
            form.append(name, new Blob([JSON.stringify(each)], { type: "application/json" }), name);
          else form.append(name, String(each));
    }
    return form;
  };
}

/** What a body says, whatever its boundary and its escapes are. */
async function readBody(asked: Asked | undefined): Promise<unknown> {
  const type = asked?.headers["content-type"] ?? "";
  const text = asked?.body.toString() ?? "";
  if (type.startsWith("application/x-www-form-urlencoded"))
    return { type, fields: [...new URLSearchParams(text)] };
  if (!type.startsWith("multipart/")) return text;
  const form = await new Response(text, { headers: { "content-type": type } }).formData();
  return Promise.all(
    [...form].map(async ([name, part]) => [
      name,
      typeof part === "string" ? part : [part.name, part.type, await part.text()],
    ]),
  );
}

/**
 * A description as the judge can read it: `nullable` has a type beside it, without which it reads no schema, and each operation has a
 * name.
 */
function judgeable(text: string) {
  const document = JSON.parse(text, (_, value: unknown) => {
    if (!isObject(value) || value.nullable === undefined || value.type !== undefined) return value;
    const { nullable: _nullable, ...rest } = value;
    return rest;
  });
  for (const [path, item] of Object.entries(document.paths as Record<string, Record<string, unknown>>))
    for (const [method, operation] of Object.entries(item))
      if (isObject(operation)) item[method] = { ...operation, operationId: idOf({ path, method }) };
  return document;
}

function idOf({ path, method }: Pick<ApiOperation, "path" | "method">): string {
  return `${method.toUpperCase()} ${path}`;
}
