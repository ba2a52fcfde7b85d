/**
 * Reads the description of an HTTP API: OpenAPI 3.0, 3.1 or Swagger 2.0, in JSON or YAML. The text is not trusted. Older versions are
 * converted to OpenAPI 3.1, whose schemas are JSON Schema.
 */
import { upgrade } from "@scalar/openapi-upgrader";
import { parseDocument } from "yaml";
import { isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { UpstreamError } from "../upstream-error.ts";

/** The maximum size of a description. That of GitHub has 11 MB. */
export const MAX_DESCRIPTION_BYTES = 64 * 1024 * 1024;
/** YAML takes a hundred times as long to read as JSON. */
const MAX_YAML_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 400;
/** Bounded because an alias may expand to much. */
const MAX_ALIASES = 10_000;
const MAX_REFERENCE_STEPS = 100;

type Json = Readonly<Record<string, unknown>>;

/** A description in OpenAPI 3.1 form. */
export interface ApiDescription {
  readonly document: Json;
  readonly title: string;
  readonly version: string;
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
  const version = parsed.openapi ?? parsed.swagger;
  const isKnown =
    typeof parsed.openapi === "string" ? /^3\.[012](\.|$)/.test(parsed.openapi) : version === "2.0";
  if (!isKnown)
    return wrong(
      version === undefined
        ? 'says no version; it must begin with `openapi: 3.1.0`, `openapi: 3.0.3` or `swagger: "2.0"`'
        : `is of version ${JSON.stringify(version)?.slice(0, 40)}; ptc reads OpenAPI 3 and Swagger 2.0`,
    );
  let document: unknown;
  try {
    document = upgrade(parsed, "3.1");
  } catch (cause) {
    return wrong("cannot be turned into OpenAPI 3.1", cause);
  }
  if (!isObject(document)) return wrong("cannot be turned into OpenAPI 3.1");
  const info = isObject(document.info) ? document.info : {};
  return {
    document,
    title: textOr(info.title, "an HTTP API"),
    version: textOr(info.version, "unknown"),
  };
}

type Wrong = (what: string, cause?: unknown) => never;

function parseJson(text: string, wrong: Wrong): unknown {
  try {
    return parseForeignJson(text, { maxBytes: MAX_DESCRIPTION_BYTES, maxDepth: MAX_DEPTH });
  } catch (cause) {
    return wrong("is not valid JSON, or nests too deep", cause);
  }
}

function parseYaml(text: string, wrong: Wrong): unknown {
  if (Buffer.byteLength(text) > MAX_YAML_BYTES)
    return wrong(`is larger than ${MAX_YAML_BYTES / 1024 ** 2} MiB; write it as JSON`);
  const parsed = parseDocument(text, {
    ...{ prettyErrors: false, uniqueKeys: false, stringKeys: true },
    // Whole numbers keep their digits. Few descriptions have long ones, and BigInts take longer.
    intAsBigInt: /\d{16}/.test(text),
  });
  if (parsed.errors.length > 0) return wrong("is neither JSON nor YAML", parsed.errors[0]);
  let json: string;
  try {
    json = writeJson(parsed.toJS({ maxAliasCount: MAX_ALIASES }));
  } catch (cause) {
    return wrong("has aliases that stand for too much", cause);
  }
  // The same bounds as for JSON apply after aliases are expanded.
  return parseJson(json, wrong);
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
