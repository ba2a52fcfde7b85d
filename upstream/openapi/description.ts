/**
 * Reads the description of an HTTP API: OpenAPI 3.0, 3.1 or Swagger 2.0, in JSON or YAML. The text is not trusted. Older versions are
 * converted to OpenAPI 3.1, whose schemas are JSON Schema.
 */
import { upgrade } from "@scalar/openapi-upgrader";
import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, parseDocument, visit } from "yaml";
import { ForeignJsonError, isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { UpstreamError } from "../upstream-error.ts";
import { serverUrls } from "./servers.ts";

/** The maximum size of a description. That of GitHub has 11 MB. */
export const MAX_DESCRIPTION_BYTES = 64 * 1024 * 1024;
/** YAML takes a hundred times as long to read as JSON. */
const MAX_YAML_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 400;
/** Bounded because an alias may expand to much. */
const MAX_ALIASES = 10_000;
/** Members that merge keys bring, in sum. */
const MAX_MERGED = 1_000_000;
const MAX_REFERENCE_STEPS = 100;

type Json = Readonly<Record<string, unknown>>;

/** A description in OpenAPI 3.1 form. */
export interface ApiDescription {
  readonly document: Json;
  readonly title: string;
  readonly version: string;
  /** The URLs of its servers, with the defaults of their variables. */
  readonly servers: readonly string[];
}

/**
 * Reads a description. Its members are unchecked except for the version.
 *
 * @param text JSON or YAML.
 * @throws UpstreamError `protocol_error`, which says what is wrong and where the text comes from.
 */
export function parseDescription(text: string, from: string): ApiDescription {
  const wrong = (what: string, cause?: unknown): never => {
    throw new UpstreamError("protocol_error", `the OpenAPI description ${from} ${what}`, { cause });
  };
  const own = text.replace(/^\ufeff/, "");
  const parsed = own.trimStart().startsWith("{") ? parseJson(own, wrong) : parseYaml(own, wrong);
  if (!isObject(parsed)) return wrong("is no mapping; it must begin with `openapi:` or `swagger:`");
  const said = parsed.openapi ?? parsed.swagger;
  const version = versionOf(parsed);
  if (version === undefined)
    return wrong(
      said === undefined
        ? 'says no version; it must begin with `openapi: 3.1.0`, `openapi: 3.0.3` or `swagger: "2.0"`'
        : `is of version ${JSON.stringify(said)?.slice(0, 40)}; ptc reads OpenAPI 3 and Swagger 2.0`,
    );
  let document: unknown;
  try {
    document = upgrade({ ...parsed, ...version }, "3.1");
  } catch (cause) {
    return wrong("cannot be turned into OpenAPI 3.1", cause);
  }
  if (!isObject(document)) return wrong("cannot be turned into OpenAPI 3.1");
  const info = isObject(document.info) ? document.info : {};
  return {
    document,
    title: textOr(info.title, "an HTTP API"),
    version: textOr(info.version, "unknown"),
    servers: rootServers(document.servers),
  };
}

/** The version of a description, as the conversion reads it. An unquoted one is a number in YAML, where 3.0 is 3. */
function versionOf({ openapi, swagger }: Json): { openapi: string } | { swagger: string } | undefined {
  const text = (value: unknown) =>
    typeof value === "number" && Number.isInteger(value) ? `${value}.0` : String(value ?? "").trim();
  const [, minor] = /^3\.([012])0?(?:[.-].*)?$/.exec(text(openapi)) ?? [];
  if (minor !== undefined) return { openapi: `3.${minor}.0` };
  return openapi === undefined && /^2\.0(?:\.0)?$/.test(text(swagger)) ? { swagger: "2.0" } : undefined;
}

/** Without servers, the API is where its description is (OpenAPI 3.1, "OpenAPI Object"). */
function rootServers(servers: unknown): string[] {
  return serverUrls(Array.isArray(servers) && servers.length > 0 ? servers : [{ url: "/" }]);
}

type Wrong = (what: string, cause?: unknown) => never;

function parseJson(text: string, wrong: Wrong): unknown {
  try {
    return parseForeignJson(text, { maxBytes: MAX_DESCRIPTION_BYTES, maxDepth: MAX_DEPTH });
  } catch (cause) {
    const isOther = cause instanceof ForeignJsonError && cause.code !== "not_json";
    return wrong(isOther ? visibleLine(cause.message) : "is not valid JSON", cause);
  }
}

function parseYaml(text: string, wrong: Wrong): unknown {
  if (Buffer.byteLength(text) > MAX_YAML_BYTES)
    return wrong(`is larger than ${MAX_YAML_BYTES / 1024 ** 2} MiB; write it as JSON`);
  const parsed = parseDocument(text, {
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: true,
    merge: true,
    // Whole numbers keep their digits. Few descriptions have long ones, and BigInts take longer.
    intAsBigInt: /\d{16}/.test(text),
  });
  if (parsed.errors.length > 0) return wrong("is neither JSON nor YAML", parsed.errors[0]);
  const merged = whyNotMerged(parsed);
  if (merged !== undefined) return wrong(merged);
  let json: string;
  try {
    json = writeJson(parsed.toJS({ maxAliasCount: MAX_ALIASES }));
  } catch (cause) {
    return wrong("has aliases that stand for too much", cause);
  }
  // The same bounds as for JSON apply after aliases are expanded.
  return parseJson(json, wrong);
}

/**
 * Why the merge keys (`<<`) of a document cannot be followed; `undefined` if they can. They are measured before, because a merge copies
 * members, and each of many may bring many.
 */
function whyNotMerged(document: Document.Parsed): string | undefined {
  const sizes = new Map<unknown, number>();
  let all = 0;
  let problem: string | undefined;
  const anchors = new Map<string, unknown>();
  const resolved = (node: unknown) => (isAlias(node) ? anchors.get(node.source) : node);
  const isMerge = ({ key }: Pair) =>
    isScalar(key) && (typeof key.value === "symbol" || (key.type === "PLAIN" && key.value === "<<"));
  /** The members that a map has after its merges. */
  const sizeOf = (node: unknown): number => {
    const source = resolved(node);
    if (isSeq(source)) return source.items.reduce<number>((sum, each) => sum + sizeOf(each), 0);
    if (!isMap(source)) {
      problem ??= "has a merge key (`<<`) with something other than mappings";
      return 0;
    }
    const known = sizes.get(source);
    if (known !== undefined) return known;
    // A mapping that merges itself adds nothing.
    sizes.set(source, 0);
    const size = source.items.reduce((sum, pair) => sum + (isMerge(pair) ? sizeOf(pair.value) : 1), 0);
    sizes.set(source, size);
    return size;
  };
  visit(document, {
    Value(_, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
    Pair(_, pair) {
      if (!isMerge(pair)) return undefined;
      all += sizeOf(pair.value);
      if (all > MAX_MERGED) problem ??= "has merge keys (`<<`) that stand for too much";
      return problem === undefined ? undefined : visit.BREAK;
    },
  });
  return problem;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Resolves `$ref`s. Only those within the document are followed. */
export class References {
  readonly #document: Json;

  constructor(document: Json) {
    this.#document = document;
  }

  /** The value at a JSON pointer in a URI fragment (RFC 6901, section 6), such as `#/components/schemas/Order`. */
  at(reference: string): unknown {
    if (!reference.startsWith("#")) return undefined;
    let value: unknown = this.#document;
    for (const part of reference.slice(1).split("/").slice(1)) {
      const key = decodePointer(part);
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
      value = (value as Json)[key];
    }
    return value;
  }

  /** An object, or the object that its `$ref` leads to; `undefined` for anything else. */
  resolve(value: unknown): Json | undefined {
    let found = value;
    for (let steps = 0; steps < MAX_REFERENCE_STEPS; steps++) {
      if (!isObject(found)) return undefined;
      if (typeof found.$ref !== "string") return found;
      found = this.at(found.$ref);
    }
    return undefined;
  }
}

/** One part of a JSON pointer in a URI fragment. Never throws. */
export function decodePointer(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // It is used as written.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The answers of an operation that are no failures, by their keys: exact ones first, then `2XX`; `default` where there are none. */
export function successesIn(responses: unknown): [key: string, response: unknown][] {
  const all = Object.entries(isObject(responses) ? responses : {});
  const successes = all.filter(([key]) => /^2(\d\d|XX)$/i.test(key));
  return successes.length > 0 ? successes : all.filter(([key]) => key.toLowerCase() === "default");
}
