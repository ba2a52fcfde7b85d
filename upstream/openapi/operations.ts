/** Reads the operations of a description as tools: name, arguments and result of each, and how its request is made. */
import { isObject, writeJson } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import type { ToolProblem } from "../upstream.ts";
import { type ApiCredential, readSecurity } from "./credentials.ts";
import { type ApiDescription, References } from "./description.ts";
import { type Paging, readPaging } from "./pagination.ts";
import { countDeclarations, SchemaWriter } from "./schemas.ts";

type Json = Readonly<Record<string, unknown>>;

/** HTTP methods of path items, except TRACE, which `fetch` does not send. */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const;
const READ_ONLY: ReadonlySet<string> = new Set(["get", "head", "options"]);

const MAX_OPERATIONS = 10_000;
const MAX_NAME_CHARS = 128;
const MAX_PARAMETERS = 500;

/**
 * The maximum size of one schema in characters. In some APIs each type leads to every other, so that each of a thousand operations
 * would contain them all. In that case the types farthest from the root accept anything.
 */
const MAX_SCHEMA_CHARS = 64 * 1024;
/** Schemas of an API with too many types become smaller than that, down to this size. */
const MIN_SCHEMA_CHARS = 2 * 1024;
/**
 * The maximum number of declarations in an API's module, roughly. Type checkers give up on larger ones: pyright analyses no module
 * whose code flow has more than 30,720 nodes, of which each declaration is one.
 */
const MAX_DECLARATIONS = 30_000;

/** Headers that requests have anyway, or that decide how they are interpreted. A description cannot set them. */
const OWN_HEADERS =
  /^(accept|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|sec-.*|te|trailer|transfer-encoding|upgrade|via)$/i;

type ParameterPlace = "path" | "query" | "header" | "cookie";

/** One parameter (OpenAPI 3.1, "Parameter Object"). */
export interface ApiParameter {
  /** The tool's argument. */
  readonly argument: string;
  readonly name: string;
  readonly in: ParameterPlace;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** Whether its value is sent as JSON. */
  readonly isJson: boolean;
}

/** A possible format of a body (OpenAPI 3.1, "Media Type Object"). */
export interface ApiMedia {
  readonly type: string;
  readonly kind: "json" | "form" | "multipart" | "text" | "binary";
  /** How the fields of forms are sent, by name (OpenAPI 3.1, "Encoding Object"). */
  readonly encoding: Json;
}

/** The arguments for the body and for its format. */
export const BODY = "body";
export const CONTENT_TYPE = "content_type";

export interface ApiOperation {
  /** The tool's protocol name. */
  readonly name: string;
  /** In upper case. */
  readonly method: string;
  /** The path template, such as `/orders/{id}`. */
  readonly path: string;
  readonly parameters: readonly ApiParameter[];
  /** The possible formats of its body, the preferred one first; empty if it has no body. */
  readonly media: readonly ApiMedia[];
  readonly paging: Paging;
  /** The alternatives of security schemes that it asks for; `undefined` where the description does not say. */
  readonly security: readonly (readonly string[])[] | undefined;
  /** As a server lists it (MCP 2025-11-25, "Tool"). */
  readonly definition: Json;
}

/** Selects the operations that become tools. In patterns, `*` stands for any characters. */
export interface OperationFilter {
  readonly include?: readonly OperationPattern[] | undefined;
  readonly exclude?: readonly OperationPattern[] | undefined;
}

/** Matches operations for which every given member matches. */
interface OperationPattern {
  readonly tag?: string | undefined;
  readonly path?: string | undefined;
  /** The `operationId`, or the tool's name. */
  readonly operation?: string | undefined;
  readonly method?: string | undefined;
}

/**
 * The operations of a description, in its order. What cannot be read of one is a problem, and takes no other with it. The more types
 * they have in sum, the fewer of them each operation keeps.
 *
 * @param credentials what ptc sends itself, and no tool has as an argument.
 */
export function readOperations(
  description: ApiDescription,
  filter: OperationFilter = {},
  credentials: readonly Pick<ApiCredential, "in" | "name">[] = [],
): ReadOperations {
  for (let maxChars = MAX_SCHEMA_CHARS; ; maxChars /= 2) {
    const read = readWithin(maxChars, description, filter, credentials);
    const schemas = read.operations.flatMap(({ definition }) => [
      definition.inputSchema,
      definition.outputSchema,
    ]);
    if (maxChars <= MIN_SCHEMA_CHARS || countDeclarations(schemas) <= MAX_DECLARATIONS) return read;
  }
}

interface ReadOperations {
  operations: ApiOperation[];
  problems: ToolProblem[];
}

function readWithin(
  maxChars: number,
  { document }: ApiDescription,
  filter: OperationFilter,
  credentials: readonly Pick<ApiCredential, "in" | "name">[],
): ReadOperations {
  const references = new References(document);
  const names = new Set<string>();
  const operations: ApiOperation[] = [];
  const problems: ToolProblem[] = [];
  let cut = 0;
  for (const [path, entry] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    const item = references.resolve(entry);
    if (item === undefined) continue;
    if (!path.startsWith("/")) {
      problems.push({
        message: `the path ${JSON.stringify(path).slice(0, 100)} does not begin with / and is left out`,
      });
      continue;
    }
    for (const method of METHODS) {
      const operation = references.resolve(item[method]);
      if (operation === undefined) continue;
      if (operations.length === MAX_OPERATIONS) {
        problems.push({ message: `it has more than ${MAX_OPERATIONS} operations; the others are left out` });
        return { operations, problems };
      }
      const name = nameOf(operation.operationId, method, path, names);
      names.add(name);
      const facts = { name, path, method, id: operation.operationId, tags: operation.tags };
      if (!isWanted(facts, filter)) continue;
      const reader = new OperationReader(references, maxChars, problems, facts, item, operation, credentials);
      const security = readSecurity(operation.security, document.security);
      operations.push({ ...reader.read(), security });
      if (reader.isCut) cut++;
    }
  }
  if (cut > 0)
    problems.push({
      message: `${countNoun(cut, "operation")} ${cut === 1 ? "leads" : "lead"} to more types than ptc keeps of each; the farthest accept anything`,
    });
  return { operations, problems };
}

function nameOf(id: unknown, method: string, path: string, taken: ReadonlySet<string>): string {
  const plain = (text: string) =>
    text
      .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
      .replaceAll(/^_+|_+$/g, "")
      .slice(0, MAX_NAME_CHARS);
  const own = typeof id === "string" ? plain(id) : "";
  if (own !== "" && !taken.has(own)) return own;
  const made = plain(method + path);
  let name = made;
  for (let n = 2; taken.has(name); n++) name = `${made.slice(0, MAX_NAME_CHARS - 8)}_${n}`;
  return name;
}

interface OperationFacts {
  name: string;
  path: string;
  method: string;
  id: unknown;
  tags: unknown;
}

function isWanted(facts: OperationFacts, { include, exclude }: OperationFilter): boolean {
  if (include !== undefined && !include.some((pattern) => isMatch(facts, pattern))) return false;
  return !(exclude ?? []).some((pattern) => isMatch(facts, pattern));
}

function isMatch({ name, path, method, id, tags }: OperationFacts, pattern: OperationPattern): boolean {
  const fits = (wanted: string | undefined, ...texts: unknown[]) =>
    wanted === undefined || texts.some((text) => typeof text === "string" && isLike(text, wanted));
  return (
    fits(pattern.tag, ...(Array.isArray(tags) ? tags : [])) &&
    fits(pattern.path, path) &&
    fits(pattern.operation, id, name) &&
    fits(pattern.method?.toLowerCase(), method)
  );
}

/** Whether a text matches a pattern with `*`. The time is proportional to the lengths. */
function isLike(text: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return text === pattern;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

/** What the description of a tool says that answers with one page of a list. */
const PAGES_NOTE =
  "Answers with one page; `pages(function, arguments)` iterates over this page and all that follow.";

/** Text or bytes of a file. */
const FILE = {
  anyOf: [
    { type: "string", description: "its text" },
    {
      type: "object",
      description: "its bytes",
      properties: {
        base64: { type: "string", contentEncoding: "base64" },
        filename: { type: "string" },
        content_type: { type: "string" },
      },
      required: ["base64"],
      additionalProperties: false,
    },
  ],
};

class OperationReader {
  /** Whether some types in its schemas accept anything, because there would be too many types. */
  isCut = false;
  readonly #references: References;
  readonly #maxChars: number;
  readonly #problems: ToolProblem[];
  readonly #facts: OperationFacts;
  readonly #item: Json;
  readonly #operation: Json;
  readonly #credentials: readonly Pick<ApiCredential, "in" | "name">[];

  constructor(
    references: References,
    maxChars: number,
    problems: ToolProblem[],
    facts: OperationFacts,
    item: Json,
    operation: Json,
    credentials: readonly Pick<ApiCredential, "in" | "name">[],
  ) {
    this.#references = references;
    this.#maxChars = maxChars;
    this.#problems = problems;
    this.#facts = facts;
    this.#item = item;
    this.#operation = operation;
    this.#credentials = credentials;
  }

  read(): Omit<ApiOperation, "security"> {
    const { name, path, method } = this.#facts;
    const { summary, description } = this.#operation;
    const input = new SchemaWriter(this.#references, "sent", this.#maxChars);
    const properties: Record<string, unknown> = {};
    const required: string[] = [];
    const body = this.#references.resolve(this.#operation.requestBody);
    let media = this.#mediaOf(body);
    // OpenAPI 3.0 ignores it there, and HTTP clients refuse to send it (RFC 9110, section 9.3.1).
    if (media.length > 0 && (method === "get" || method === "head")) {
      this.#problem(`has a body, which no ${method.toUpperCase()} request carries; the body is left out`);
      media = [];
    }
    const parameters = this.#parameters(media.length > 0);
    for (const { parameter, schema, isRequired, about } of parameters) {
      properties[parameter.argument] = described(input.write(schema), about);
      if (isRequired) required.push(parameter.argument);
    }
    if (media.length > 0) {
      const schemas = media.map((each) => this.#bodySchema(each, input));
      const [first] = schemas;
      const about = textOf(body?.description);
      properties[BODY] = described(schemas.length === 1 ? first : { anyOf: distinct(schemas) }, about);
      if (body?.required === true) required.push(BODY);
      if (media.length > 1)
        properties[CONTENT_TYPE] = {
          enum: media.map(({ media: { type } }) => type),
          description: `the form of the body; ${media[0]?.media.type} by default`,
        };
    }
    const inputSchema = input.whole({ type: "object", properties, required, additionalProperties: false });
    const outputSchema = this.#outputSchema();
    this.isCut ||= input.isCut;
    const texts = [textOf(summary), textOf(description)].filter((text) => text !== undefined && text !== "");
    if (this.#operation.deprecated === true) texts.push("Deprecated.");
    const paging = readPaging({
      ...{ references: this.#references, operation: this.#operation, path, method, parameters },
      body: media.find((each) => each.media.kind === "json")?.schema,
    });
    if (paging.isDescribed) texts.push(PAGES_NOTE);
    texts.push(`${method.toUpperCase()} ${path}`);
    return {
      ...{ name, path, method: method.toUpperCase() },
      parameters: parameters.map(({ parameter }) => parameter),
      media: media.map((each) => each.media),
      paging,
      definition: {
        name,
        ...(textOf(summary) === undefined ? {} : { title: textOf(summary) }),
        description: [...new Set(texts)].join("\n\n"),
        inputSchema,
        ...(outputSchema === undefined ? {} : { outputSchema }),
        annotations: annotationsOf(method),
      },
    };
  }

  /** The parameters of the path and the operation. Those of the operation take precedence. */
  #parameters(hasBody: boolean) {
    const all = new Map<string, Json>();
    for (const list of [this.#item.parameters, this.#operation.parameters])
      for (const entry of Array.isArray(list) ? list : []) {
        const found = this.#references.resolve(entry);
        if (found === undefined || typeof found.name !== "string")
          this.#problem("has a parameter that cannot be read");
        else all.set(JSON.stringify([found.in, found.name]), found);
      }
    const taken = new Set(hasBody ? [BODY, CONTENT_TYPE] : []);
    const read = [...all.values()].slice(0, MAX_PARAMETERS).flatMap((entry) => {
      const place = placeOf(entry.in);
      const name = String(entry.name);
      if (place === undefined || (place === "header" && OWN_HEADERS.test(name))) return [];
      if (this.#credentials.some((own) => own.in === place && own.name === name)) return [];
      const argument = taken.has(name) ? `${name}_in_${place}` : name;
      taken.add(argument);
      const [content] = isObject(entry.content) ? Object.values(entry.content) : [];
      const isForm = place === "query" || place === "cookie";
      const style = typeof entry.style === "string" ? entry.style : isForm ? "form" : "simple";
      const parameter: ApiParameter = {
        ...{ argument, name, in: place, style },
        explode: typeof entry.explode === "boolean" ? entry.explode : style === "form",
        allowReserved: entry.allowReserved === true,
        isJson: isObject(content),
      };
      const schema = isObject(content) ? content.schema : entry.schema;
      const isRequired = entry.required === true || place === "path";
      return [{ parameter, schema: schema ?? {}, isRequired, about: textOf(entry.description) }];
    });
    // A path parameter without a description is a text.
    for (const [, name = ""] of this.#facts.path.matchAll(/\{([^{}]+)\}/g)) {
      if (read.some(({ parameter }) => parameter.in === "path" && parameter.name === name)) continue;
      const argument = taken.has(name) ? `${name}_in_path` : name;
      taken.add(argument);
      const rest = { style: "simple", explode: false, allowReserved: false, isJson: false };
      const parameter: ApiParameter = { argument, name, in: "path", ...rest };
      read.push({ parameter, schema: { type: "string" }, isRequired: true, about: undefined });
    }
    return read;
  }

  #mediaOf(body: Json | undefined) {
    const content = isObject(body?.content) ? body.content : {};
    const all = Object.entries(content).flatMap(([type, entry]) => {
      const found = this.#references.resolve(entry);
      const plain = type.split(";")[0]?.trim().toLowerCase() ?? "";
      if (found === undefined || !/^[\w.+*-]+\/[\w.+*-]+$/.test(plain)) return [];
      const encoding = isObject(found.encoding) ? found.encoding : {};
      const kind = kindOf(plain);
      return [{ media: { type: concrete(plain, kind), kind, encoding }, schema: found.schema }];
    });
    const order = ["json", "form", "multipart", "text", "binary"];
    all.sort((a, b) => order.indexOf(a.media.kind) - order.indexOf(b.media.kind));
    // Media types of one kind with equal schemas count as one.
    const seen = new Set<string>();
    return all.filter(({ media, schema }) => {
      const key = writeJson([media.kind, schema, media.kind === "binary" ? media.type : ""]);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    });
  }

  #bodySchema({ media, schema }: { media: ApiMedia; schema: unknown }, input: SchemaWriter): unknown {
    if (media.kind === "binary") return FILE;
    if (media.kind === "text") return { type: "string" };
    if (media.kind !== "multipart") return input.write(schema ?? {});
    const found = this.#references.resolve(schema);
    if (!isObject(found?.properties)) return input.write(schema ?? {});
    // Binary fields of a form become files.
    const written = input.write(found) as Record<string, unknown>;
    const properties = isObject(written.properties) ? written.properties : {};
    const isFile = (field: unknown) => isBinary(this.#references.resolve(field));
    return {
      ...written,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => {
          const own = (found.properties as Json)[name];
          const items = this.#references.resolve(own)?.items;
          if (isFile(own)) return [name, described(FILE, textOf(this.#references.resolve(own)?.description))];
          return [name, isFile(items) ? { type: "array", items: FILE } : field];
        }),
      ),
    };
  }

  /** The schema of successful answers; `undefined` if it is not known, or they are bytes. */
  #outputSchema(): unknown {
    const responses = isObject(this.#operation.responses) ? this.#operation.responses : {};
    const successes = Object.keys(responses).filter((status) => /^2(\d\d|XX)$/i.test(status));
    const statuses =
      successes.length > 0 ? successes : Object.keys(responses).filter((key) => key === "default");
    if (this.#facts.method === "head") return { type: "null" };
    const output = new SchemaWriter(this.#references, "received", this.#maxChars);
    const schemas: unknown[] = [];
    for (const status of statuses) {
      const response = this.#references.resolve(responses[status]);
      const content = isObject(response?.content) ? Object.entries(response.content) : [];
      if (content.length === 0) {
        schemas.push({ type: "null" });
        continue;
      }
      const json = content.find(
        ([type]) => kindOf(type.split(";")[0]?.trim().toLowerCase() ?? "") === "json",
      );
      const isText = content.every(([type]) => /^text\//i.test(type));
      if (json === undefined && !isText) return undefined;
      const schema = json === undefined ? { type: "string" } : this.#references.resolve(json[1])?.schema;
      if (schema === undefined) return undefined;
      schemas.push(output.write(schema));
    }
    const all = distinct(schemas);
    if (all.length === 0) return undefined;
    const whole = output.whole(all.length === 1 ? all[0] : { anyOf: all });
    this.isCut = output.isCut;
    return whole;
  }

  #problem(message: string): void {
    this.#problems.push({ tool: this.#facts.name, message });
  }
}

/** The MCP annotations that follow from an HTTP method (RFC 9110, section 9.2). All others have MCP's defaults. */
function annotationsOf(method: string): Json {
  if (READ_ONLY.has(method)) return { readOnlyHint: true, openWorldHint: true };
  const idempotent = method === "put" || method === "delete" ? { idempotentHint: true } : {};
  const destructive = method === "delete" ? { destructiveHint: true } : {};
  return { readOnlyHint: false, ...destructive, ...idempotent, openWorldHint: true };
}

/** The kind of a media type, which must be in lower case and without parameters. */
export function kindOf(type: string): ApiMedia["kind"] {
  if (/[/+]json$/.test(type) || type === "application/*") return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type.startsWith("multipart/")) return "multipart";
  return type.startsWith("text/") || /[/+](xml|yaml|x-yaml|javascript|graphql|x-ndjson)$/.test(type)
    ? "text"
    : "binary";
}

/** A concrete media type for one with `*`. */
function concrete(type: string, kind: ApiMedia["kind"]): string {
  if (!type.includes("*")) return type;
  const usual = { json: "application/json", text: "text/plain", multipart: "multipart/form-data" };
  return { ...usual, form: "application/x-www-form-urlencoded", binary: "application/octet-stream" }[kind];
}

function placeOf(value: unknown): ParameterPlace | undefined {
  return value === "path" || value === "query" || value === "header" || value === "cookie"
    ? value
    : undefined;
}

/** Whether a schema stands for bytes, in the notation of OpenAPI 3.0 or 3.1. */
function isBinary(schema: Json | undefined): boolean {
  if (schema === undefined) return false;
  const isString = schema.type === "string" || schema.type === undefined;
  return (
    isString &&
    (schema.format === "binary" ||
      (schema.contentMediaType !== undefined && schema.contentEncoding === undefined))
  );
}

function described(schema: unknown, about: string | undefined): unknown {
  if (about === undefined || about === "" || !isObject(schema)) return schema;
  return typeof schema.description === "string" && schema.description !== ""
    ? schema
    : { ...schema, description: about };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function distinct(schemas: readonly unknown[]): unknown[] {
  const seen = new Map(schemas.map((schema) => [writeJson(schema), schema]));
  return [...seen.values()];
}
