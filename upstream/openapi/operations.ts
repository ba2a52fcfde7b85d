/** Reads the operations of a description as tools: name, arguments and result of each, and how its request is made. */
import { isObject, writeJson } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine } from "../../base/visible-text.ts";
import type { ToolProblem } from "../upstream.ts";
import { readSecurity, type SentAlways } from "./credentials.ts";
import { type ApiDescription, References, successesIn } from "./description.ts";
import { concreteType, kindOf, type MediaKind, plainType } from "./media-types.ts";
import { isIgnoredHeader, isOwnField, isOwnHeader } from "./own-headers.ts";
import { type Paging, readPaging } from "./pagination.ts";
import { type PathTemplate, plainEscapes, readPathTemplate } from "./paths.ts";
import { assembleSchema, type ChosenSchema, SchemaLibrary } from "./schemas.ts";
import { serverUrls } from "./servers.ts";

type Json = Readonly<Record<string, unknown>>;

/** HTTP methods of path items, except TRACE, which `fetch` does not send. */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const;
const READ_ONLY: ReadonlySet<string> = new Set(["get", "head", "options"]);

const MAX_OPERATIONS = 10_000;
const MAX_NAME_CHARS = 128;
const MAX_PARAMETERS = 500;

/**
 * The maximum size of one schema in bytes, as it is printed. In some APIs each type leads to every other, so that each of a thousand
 * operations would contain them all. In that case the types farthest from the root accept anything.
 */
const MAX_SCHEMA_BYTES = 64 * 1024;
/** Schemas of an API with too many types become smaller than that, down to this size. */
const MIN_SCHEMA_BYTES = 2 * 1024;
/** The maximum size of all schemas of an API in bytes, where smaller ones help. */
const MAX_ALL_SCHEMAS_BYTES = 24 * 1024 * 1024;
/** The longest text about a tool, and the longest name of a parameter. */
const MAX_ABOUT_CHARS = 16 * 1024;
const MAX_PARAMETER_CHARS = 256;
/**
 * The maximum number of declarations in an API's module, roughly. Type checkers give up on larger ones: pyright analyses no module
 * whose code flow has more than 30,720 nodes, of which each declaration is one.
 */
const MAX_DECLARATIONS = 30_000;

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
  readonly kind: MediaKind;
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
  /** The query that each request has: names and values, with templates as in paths. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The URLs of its own servers, the best first; `undefined` where it has those of the description (OpenAPI 3.1, "Server Object"). */
  readonly servers: readonly string[] | undefined;
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

/** An operation with what its schemas are made of. */
export interface PreparedOperation extends ApiOperation {
  readonly input: Schemas;
  /** `undefined` if it is not known, or bytes. */
  readonly output: Schemas | undefined;
}
type Schemas = Pick<ChosenSchema, "schema" | "kept" | "stubs">;

/** The operations of a description, and the definitions that their schemas have, each once. */
export interface PreparedOperations {
  readonly operations: readonly PreparedOperation[];
  readonly sent: ReadonlyMap<string, unknown>;
  readonly received: ReadonlyMap<string, unknown>;
  readonly problems: readonly ToolProblem[];
}

/** The operations of a description as tools. See `prepareOperations`. */
export function readOperations(
  description: ApiDescription,
  filter: OperationFilter = {},
  always: SentAlways = [],
): { operations: ApiOperation[]; problems: readonly ToolProblem[] } {
  const prepared = prepareOperations(description, filter, always);
  return {
    operations: prepared.operations.map((each) => wholeOperation(each, prepared)),
    problems: prepared.problems,
  };
}

/** An operation with its schemas. */
export function wholeOperation(
  { input, output, definition, ...rest }: PreparedOperation,
  { sent, received }: Pick<PreparedOperations, "sent" | "received">,
): ApiOperation {
  const { annotations, ...about } = definition;
  return {
    ...rest,
    definition: {
      ...about,
      inputSchema: assembleSchema(input, sent),
      ...(output === undefined ? {} : { outputSchema: assembleSchema(output, received) }),
      annotations,
    },
  };
}

/**
 * The operations of a description, in its order. What cannot be read of one is a problem, and takes no other with it. The more types
 * they have in sum, the fewer of them each operation keeps.
 *
 * @param always what ptc sends itself.
 */
export function prepareOperations(
  { document }: ApiDescription,
  filter: OperationFilter,
  always: SentAlways,
): PreparedOperations {
  const problems: ToolProblem[] = [];
  const references = new References(document);
  const sent = new SchemaLibrary(references, "sent");
  const received = new SchemaLibrary(references, "received");
  const context = { references, sent, received, problems, always };
  const read = readAll(document, filter, context);
  const schemas = read.flatMap(({ input, output }) => [
    { library: sent, schema: input },
    ...(output === undefined ? [] : [{ library: received, schema: output }]),
  ]);
  let chosen: ChosenSchema[] | undefined;
  for (let maxBytes = MAX_SCHEMA_BYTES; chosen === undefined; maxBytes /= 2)
    chosen = chooseWithin(schemas, maxBytes, maxBytes <= MIN_SCHEMA_BYTES);
  const definitions = { sent: new Map<string, unknown>(), received: new Map<string, unknown>() };
  let cut = 0;
  let at = 0;
  const take = (of: "sent" | "received"): ChosenSchema => {
    const own = chosen[at++] as ChosenSchema;
    const library = of === "sent" ? sent : received;
    for (const name of own.kept)
      if (!definitions[of].has(name)) definitions[of].set(name, library.definition(name).written);
    return own;
  };
  const operations = read.map(({ operation, output }): PreparedOperation => {
    const input = take("sent");
    const answer = output === undefined ? undefined : take("received");
    if (input.isCut || answer?.isCut === true) cut++;
    const plain = ({ schema, kept, stubs }: ChosenSchema) => ({ schema, kept, stubs });
    return { ...operation, input: plain(input), output: answer && plain(answer) };
  });
  if (cut > 0)
    problems.push({
      message: `${countNoun(cut, "operation")} ${cut === 1 ? "leads" : "lead"} to more types than ptc keeps of each; the farthest accept anything`,
    });
  return { operations, ...definitions, problems };
}

/** Chooses the definitions of all schemas; `undefined` if they have more of them than type checkers take, unless they may. */
function chooseWithin(
  schemas: readonly { library: SchemaLibrary; schema: unknown }[],
  maxBytes: number,
  mayBeMore: boolean,
): ChosenSchema[] | undefined {
  const known = new Map<SchemaLibrary, Set<string>>();
  const chosen: ChosenSchema[] = [];
  let bytes = 0;
  let declarations = 0;
  for (const { library, schema } of schemas) {
    const names = known.get(library) ?? new Set();
    known.set(library, names);
    const one = library.choose(schema, maxBytes, names);
    chosen.push(one);
    bytes += one.bytes;
    declarations += one.declarations;
    if (!mayBeMore && (bytes > MAX_ALL_SCHEMAS_BYTES || declarations > MAX_DECLARATIONS)) return undefined;
  }
  return chosen;
}

/** What the operations of one description share while they are read. */
interface Reading {
  readonly references: References;
  readonly sent: SchemaLibrary;
  readonly received: SchemaLibrary;
  readonly problems: ToolProblem[];
  readonly always: SentAlways;
}

interface ReadOperation {
  readonly operation: ApiOperation;
  readonly input: unknown;
  readonly output: unknown;
}

type Unplaced = Omit<ApiOperation, "security" | "servers">;

function readAll(document: Json, filter: OperationFilter, reading: Reading): ReadOperation[] {
  const { references, problems } = reading;
  const names = new Set<string>();
  const operations: ReadOperation[] = [];
  const root = serverUrls(document.servers);
  for (const [key, entry] of Object.entries(isObject(document.paths) ? document.paths : {})) {
    const item = references.resolve(entry);
    if (item === undefined) continue;
    const template = readPathTemplate(key);
    if (typeof template === "string") {
      const path = visibleLine(JSON.stringify(key).slice(0, 100));
      if (!key.startsWith("x-")) problems.push({ message: `the path ${path} ${template}, and is left out` });
      continue;
    }
    for (const method of METHODS) {
      const operation = references.resolve(item[method]);
      if (operation === undefined) continue;
      if (operations.length === MAX_OPERATIONS) {
        problems.push({ message: `it has more than ${MAX_OPERATIONS} operations; the others are left out` });
        return operations;
      }
      const name = nameOf(operation.operationId, method, key, names);
      names.add(name);
      const facts = { name, key, template, method, id: operation.operationId, tags: operation.tags };
      if (!isWanted(facts, filter)) continue;
      const security = readSecurity(operation.security, document.security);
      const servers = serversOf(operation) ?? ofSchemes(operation, root) ?? serversOf(item);
      const read = new OperationReader(reading, facts, item, operation).read();
      if (read !== undefined)
        operations.push({ ...read, operation: { ...read.operation, security, servers } });
    }
  }
  return operations;
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
  /** As the description has its path. */
  key: string;
  template: PathTemplate;
  method: string;
  id: unknown;
  tags: unknown;
}

function isWanted(facts: OperationFacts, { include, exclude }: OperationFilter): boolean {
  const { readings } = facts.template;
  if (include !== undefined && !include.some((pattern) => isMatch(facts, pattern, isIncluded))) return false;
  return !(exclude ?? []).some((pattern) => isMatch(facts, pattern, isExcluded));

  // A path is chosen in whatever way a server reads it, and left out in any way, whatever its case.
  function isIncluded(pattern: string): boolean {
    const [first = "", ...others] = readings;
    const withQuery = others.filter((each) => each.includes("?"));
    const isOne = (path: string) => isLike(path, pattern);
    return (
      others.every((each) => each.includes("?") || isOne(each)) && (isOne(first) || withQuery.some(isOne))
    );
  }
  function isExcluded(pattern: string): boolean {
    return readings.some((each) => isLike(each.toLowerCase(), pattern.toLowerCase()));
  }
}

function isMatch(
  { name, method, id, tags }: OperationFacts,
  pattern: OperationPattern,
  isPath: (pattern: string) => boolean,
): boolean {
  const fits = (wanted: string | undefined, ...texts: unknown[]) =>
    wanted === undefined || texts.some((text) => typeof text === "string" && isLike(text, wanted));
  return (
    fits(pattern.tag, ...(Array.isArray(tags) ? tags : [])) &&
    (pattern.path === undefined || isPath(plainEscapes(pattern.path))) &&
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
  readonly #reading: Reading;
  readonly #references: References;
  readonly #facts: OperationFacts;
  readonly #item: Json;
  readonly #operation: Json;

  constructor(reading: Reading, facts: OperationFacts, item: Json, operation: Json) {
    this.#reading = reading;
    this.#references = reading.references;
    this.#facts = facts;
    this.#item = item;
    this.#operation = operation;
  }

  /** `undefined` if no request for it can be built, which is a problem then. */
  read(): (Omit<ReadOperation, "operation"> & { operation: Unplaced }) | undefined {
    const { name, key, method, template } = this.#facts;
    const { summary, description } = this.#operation;
    const { sent: input } = this.#reading;
    const properties: Record<string, unknown> = {};
    const required: string[] = [];
    const body = this.#references.resolve(this.#operation.requestBody);
    let media = this.#mediaOf(body);
    // OpenAPI 3.0 ignores it there, and HTTP clients refuse to send it (RFC 9110, section 9.3.1).
    if (media.length > 0 && (method === "get" || method === "head")) {
      this.#problem(`has a body, which no ${method.toUpperCase()} request carries; the body is left out`);
      media = [];
    }
    const found = this.#parameters(media.length > 0);
    if (found === undefined) return undefined;
    const { parameters, query } = found;
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
    const wholeInput = { type: "object", properties, required, additionalProperties: false };
    const texts = [textOf(summary), textOf(description)].filter((text) => text !== undefined && text !== "");
    if (this.#operation.deprecated === true) texts.push("Deprecated.");
    const paging = readPaging({
      references: this.#references,
      operation: this.#operation,
      path: key,
      method,
      parameters,
      body: media.find((each) => each.media.kind === "json")?.schema,
    });
    if (paging.isDescribed) texts.push(PAGES_NOTE);
    texts.push(`${method.toUpperCase()} ${key}`);
    return {
      operation: {
        name,
        path: template.path,
        query,
        method: method.toUpperCase(),
        parameters: parameters.map(({ parameter }) => parameter),
        media: media.map((each) => each.media),
        paging,
        definition: {
          name,
          ...(textOf(summary) === undefined ? {} : { title: cutText(textOf(summary) ?? "") }),
          description: [...new Set(texts)].map((text = "") => cutText(text)).join("\n\n"),
          annotations: annotationsOf(method),
        },
      },
      input: wholeInput,
      output: this.#outputSchema(),
    };
  }

  /**
   * The parameters of the path and the operation, of which those of the operation take precedence, and the fixed query of the path;
   * `undefined` if the operation needs a parameter that no argument may be.
   */
  #parameters(hasBody: boolean) {
    const all = new Map<string, Json>();
    for (const list of [this.#item.parameters, this.#operation.parameters])
      for (const entry of Array.isArray(list) ? list : []) {
        const found = this.#references.resolve(entry);
        if (found === undefined || typeof found.name !== "string")
          this.#problem("has a parameter that cannot be read");
        else {
          const name = found.in === "header" ? found.name.toLowerCase() : found.name;
          all.set(JSON.stringify([found.in, name]), found);
        }
      }
    const { path, query: said } = this.#facts.template;
    const isTemplate = (value: string) => /^\{[^{}]*\}$/.test(value);
    // `?q={q}` names a parameter of the query, as some descriptions write it.
    const query = said.filter(
      ([name, value]) =>
        !isTemplate(value) ||
        !(all.has(JSON.stringify(["query", value.slice(1, -1)])) || all.has(JSON.stringify(["query", name]))),
    );
    if (query.some(([name]) => isOwnField(name))) {
      this.#problem("has a query that would make another request of it; the operation is left out");
      return undefined;
    }
    const taken = new Set(hasBody ? [BODY, CONTENT_TYPE] : []);
    const nameArgument = (name: string, place: ParameterPlace) => {
      let argument = taken.has(name) ? `${name}_in_${place}` : name;
      for (let n = 2; taken.has(argument); n++) argument = `${name}_in_${place}_${n}`;
      taken.add(argument);
      return argument;
    };
    if (all.size > MAX_PARAMETERS)
      this.#problem(`has more than ${MAX_PARAMETERS} parameters; the others are left out`);
    const read = [];
    for (const entry of [...all.values()].slice(0, MAX_PARAMETERS)) {
      const place = placeOf(entry.in);
      const name = String(entry.name);
      if (place === undefined || this.#isSentAlways(place, name)) continue;
      if (place === "query" && query.some(([fixed]) => fixed === name)) continue;
      const isOwn = place === "header" ? isOwnHeader(name) : place === "query" && isOwnField(name);
      const isRequired = entry.required === true || place === "path";
      if (isOwn || name.length > MAX_PARAMETER_CHARS) {
        const shown = `the parameter ${visibleLine(JSON.stringify(name.slice(0, 60)))} in the ${place}`;
        const why = isOwn
          ? `${shown} may decide how a request is read or who asks, and is left out`
          : `${shown} has a name that is too long, and is left out`;
        if (!(place === "header" && isIgnoredHeader(name))) this.#problem(why);
        continue;
      }
      const argument = nameArgument(name, place);
      const [content] = isObject(entry.content) ? Object.values(entry.content) : [];
      const isForm = place === "query" || place === "cookie";
      const style = typeof entry.style === "string" ? entry.style : isForm ? "form" : "simple";
      const parameter: ApiParameter = {
        argument,
        name,
        in: place,
        style,
        explode: typeof entry.explode === "boolean" ? entry.explode : style === "form",
        allowReserved: entry.allowReserved === true,
        isJson: isObject(content),
      };
      const schema = isObject(content) ? content.schema : entry.schema;
      read.push({ parameter, schema: schema ?? {}, isRequired, about: textOf(entry.description) });
    }
    // A parameter of the path without a description is a text.
    const templates = [path, ...query.map(([, value]) => value)].join("/").matchAll(/\{([^{}]+)\}/g);
    for (const [, name = ""] of templates) {
      if (read.some(({ parameter }) => parameter.in === "path" && parameter.name === name)) continue;
      const argument = nameArgument(name, "path");
      const rest = { style: "simple", explode: false, allowReserved: false, isJson: false };
      const parameter: ApiParameter = { argument, name, in: "path", ...rest };
      read.push({ parameter, schema: { type: "string" }, isRequired: true, about: undefined });
    }
    return { parameters: read, query };
  }

  /** Whether ptc sends it itself: a key, or a header that ptc.yaml names. */
  #isSentAlways(place: ParameterPlace, name: string): boolean {
    const isSame = (other: string) =>
      place === "header" ? other.toLowerCase() === name.toLowerCase() : other === name;
    return this.#reading.always.some((own) =>
      // Cookies of ptc.yaml are a header, beside which no other is sent.
      own.in === "header" && own.name.toLowerCase() === "cookie" && place === "cookie"
        ? true
        : own.in === place && isSame(own.name),
    );
  }

  #mediaOf(body: Json | undefined) {
    const content = isObject(body?.content) ? body.content : {};
    const all = Object.entries(content).flatMap(([type, entry]) => {
      const found = this.#references.resolve(entry);
      const plain = plainType(type);
      if (found === undefined || !/^[\w.+*-]+\/[\w.+*-]+$/.test(plain)) return [];
      const encoding = isObject(found.encoding) ? found.encoding : {};
      const kind = this.#kindOf(plain, found.schema);
      return [{ media: { type: concreteType(plain, kind), kind, encoding }, schema: found.schema }];
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

  #bodySchema({ media, schema }: { media: ApiMedia; schema: unknown }, input: SchemaLibrary): unknown {
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

  /** The kind of a media type. One of a range is what its schema says: values are JSON, and bytes are bytes. */
  #kindOf(type: string, schema: unknown): MediaKind {
    if (type !== "*/*" && type !== "application/*") return kindOf(type);
    const found = this.#references.resolve(schema);
    return found === undefined || isBinary(found) ? "binary" : "json";
  }

  /** The schema of successful answers; `undefined` if it is not known, or they are bytes. */
  #outputSchema(): unknown {
    if (this.#facts.method === "head") return { type: "null" };
    const schemas: unknown[] = [];
    for (const [, answer] of successesIn(this.#operation.responses)) {
      const response = this.#references.resolve(answer);
      const content = isObject(response?.content) ? Object.entries(response.content) : [];
      if (content.length === 0) {
        schemas.push({ type: "null" });
        continue;
      }
      const all = content.map(([type, entry]) => {
        const schema = this.#references.resolve(entry)?.schema;
        return { kind: this.#kindOf(plainType(type), schema), isText: /^text\//i.test(type), schema };
      });
      const json = all.find(({ kind }) => kind === "json");
      if (json === undefined && !all.every(({ isText }) => isText)) return undefined;
      const schema = json === undefined ? { type: "string" } : json.schema;
      if (schema === undefined) return undefined;
      schemas.push(this.#reading.received.write(schema));
    }
    const all = distinct(schemas);
    if (all.length === 0) return undefined;
    return all.length === 1 ? all[0] : { anyOf: all };
  }

  #problem(message: string): void {
    this.#reading.problems.push({ tool: this.#facts.name, message });
  }
}

/** The MCP annotations that follow from an HTTP method (RFC 9110, section 9.2). All others have MCP's defaults. */
function annotationsOf(method: string): Json {
  if (READ_ONLY.has(method)) return { readOnlyHint: true, openWorldHint: true };
  const idempotent = method === "put" || method === "delete" ? { idempotentHint: true } : {};
  const destructive = method === "delete" ? { destructiveHint: true } : {};
  return { readOnlyHint: false, ...destructive, ...idempotent, openWorldHint: true };
}

/** The servers of an operation that names schemes of its own (Swagger 2.0, "Operation Object"). */
function ofSchemes({ schemes }: Json, root: readonly string[]): string[] | undefined {
  if (!Array.isArray(schemes) || schemes.length === 0) return undefined;
  const own = schemes.filter((scheme) => scheme === "http" || scheme === "https");
  return own.flatMap((scheme) => root.map((url) => url.replace(/^https?(?=:)/i, scheme)));
}

/** The servers of an operation or a path; `undefined` where it has none of its own. */
function serversOf({ servers }: Json): string[] | undefined {
  const own = serverUrls(servers);
  return own.length > 0 ? own : undefined;
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

function cutText(text: string): string {
  return text.length > MAX_ABOUT_CHARS
    ? text.slice(0, MAX_ABOUT_CHARS).replace(/[\uD800-\uDBFF]$/, "")
    : text;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function distinct(schemas: readonly unknown[]): unknown[] {
  const seen = new Map(schemas.map((schema) => [writeJson(schema), schema]));
  return [...seen.values()];
}
