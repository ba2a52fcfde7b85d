/** Builds an operation's request from the arguments of a call (OpenAPI 3.1, "Parameter Object" and "Media Type Object"). */
import { isObject, isWellFormed, writeJson } from "../../base/json.ts";
import { type ApiMedia, type ApiOperation, type ApiParameter, BODY, CONTENT_TYPE } from "./operations.ts";
import { isOwnField, isOwnHeader } from "./own-headers.ts";
import { folderOf, hasDotSegment } from "./paths.ts";

type Json = Readonly<Record<string, unknown>>;

/** Arguments from which no request can be built. The message names the argument. */
export class UnusableArguments extends Error {
  override readonly name = "UnusableArguments";
}

export interface ApiRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | FormData | Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Builds the request of one call.
 *
 * @param base the URL of the API. Whatever the description and the arguments say, the request goes to a path below it.
 * @throws UnusableArguments
 */
export function buildRequest(operation: ApiOperation, args: Json, base: URL): ApiRequest {
  const given = operation.parameters.flatMap((parameter) => {
    const value = args[parameter.argument];
    if (value === null && parameter.in === "path")
      throw new UnusableArguments(`'${parameter.argument}' is null, which cannot stand in a path`);
    // Null has no form there (RFC 6570, section 2.3): what is null is not there.
    return value === undefined || value === null
      ? []
      : [{ parameter, value: parameter.isJson ? value : withoutNull(value) }];
  });
  const at = (place: ApiParameter["in"]) => given.filter(({ parameter }) => parameter.in === place);
  const url = new URL(base);
  const path = joinPath(base, operation.path, at("path"));
  url.pathname = path;
  if (hasDotSegment(path) || !url.pathname.startsWith(folderOf(base.pathname)))
    throw new UnusableArguments("the path leads out of the API");
  const fixed = operation.query.map(
    ([name, value]) => `${encode(name)}=${encode(filled(value, at("path")))}`,
  );
  const query = at("query").flatMap(({ parameter, value }) => queryParts(parameter, value));
  const own = base.search.slice(1);
  url.search = [own, ...fixed, ...query].filter((part) => part !== "").join("&");
  if ([...url.searchParams.keys()].some(isOwnField))
    throw new UnusableArguments("a part of the query would make another request of it");
  const headers = new Headers();
  for (const { parameter, value } of at("header")) {
    if (isOwnHeader(parameter.name))
      throw new UnusableArguments(`'${parameter.argument}' is a header that no argument may set`);
    setHeader(headers, parameter, value);
  }
  const cookies = at("cookie").flatMap(({ parameter, value }) => queryParts(parameter, value));
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  const { method } = operation;
  const body = bodyOf(operation, args, headers);
  return { url, method, headers, body };
}

/** A list or an object without members that are null. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNull);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(entries.map(([name, each]) => [name, withoutNull(each)]));
}

type Given = { parameter: ApiParameter; value: unknown }[];

const TEMPLATE = /\{([^{}]*)\}/g;

/** A value of the fixed query, with the arguments for its templates. */
function filled(value: string, given: Given): string {
  return value.replaceAll(TEMPLATE, (_, name: string) => scalar(givenFor(name, given).value));
}

function givenFor(name: string, given: Given): Given[number] {
  const found = given.find(({ parameter }) => parameter.name === name);
  if (found === undefined) throw new UnusableArguments(`'${name}' is missing, which the path needs`);
  return found;
}

function joinPath(base: URL, template: string, given: Given): string {
  const path = template.replaceAll(TEMPLATE, (_, name: string) => {
    const found = givenFor(name, given);
    const text = pathText(found.parameter, found.value);
    // Such a segment would be interpreted as a folder.
    if (/^\.{1,2}$/.test(text) || text === "")
      throw new UnusableArguments(`'${found.parameter.argument}' cannot stand in a path as it is`);
    return text;
  });
  return folderOf(base.pathname) + path.slice(1);
}

/** A value as text, before it is encoded. */
function scalar(value: unknown): string {
  if (value === null) return "";
  if (typeof value === "object") return writeJson(value);
  return String(value);
}

/** Encodes all except unreserved characters (RFC 3986, section 2.3) and, if allowed, reserved ones. */
function encode(text: string, allowReserved = false): string {
  if (!isWellFormed(text)) throw new UnusableArguments("a name or a value holds half a character");
  const encoded = encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  if (!allowReserved) return encoded;
  return encoded.replaceAll(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/gi, (each) =>
    decodeURIComponent(each),
  );
}

/** The encoded members of an array or an object, or another value itself. */
function members(parameter: ApiParameter, value: unknown): { keys: string[] | undefined; texts: string[] } {
  const text = (each: unknown) => encode(scalar(each));
  if (parameter.isJson) return { keys: undefined, texts: [encode(writeJson(value))] };
  if (Array.isArray(value)) return { keys: undefined, texts: value.map(text) };
  if (!isObject(value)) return { keys: undefined, texts: [text(value)] };
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return { keys: entries.map(([key]) => encode(key)), texts: entries.map(([, each]) => text(each)) };
}

/** Styles of paths: simple, label and matrix (RFC 6570, sections 3.2.2, 3.2.5 and 3.2.7). */
function pathText(parameter: ApiParameter, value: unknown): string {
  const { keys, texts } = members(parameter, value);
  const { style, explode } = parameter;
  const isMany = keys !== undefined || Array.isArray(value);
  const pairs = (separator: string) =>
    keys === undefined ? texts : texts.map((text, index) => `${keys[index]}${separator}${text}`);
  const flat = keys === undefined ? texts : texts.flatMap((text, index) => [keys[index] ?? "", text]);
  const name = encode(parameter.name);
  switch (style) {
    case "label":
      return `.${(explode ? pairs("=") : flat).join(explode && isMany ? "." : ",")}`;
    case "matrix":
      if (!isMany || !explode) return `;${name}=${flat.join(",")}`;
      return keys === undefined
        ? texts.map((text) => `;${name}=${text}`).join("")
        : `;${pairs("=").join(";")}`;
    default:
      return (explode ? pairs("=") : flat).join(",");
  }
}

/** Styles of queries and cookies: form, spaceDelimited, pipeDelimited and deepObject. */
function queryParts(parameter: ApiParameter, value: unknown): string[] {
  const { name, style, explode, allowReserved, isJson } = parameter;
  const text = (each: unknown) => encode(scalar(each), allowReserved);
  const key = encode(name);
  if (isJson) return [`${key}=${encode(writeJson(value), allowReserved)}`];
  if (style === "deepObject" && isComposite(value)) return deepParts(key, value);
  const separator = { spaceDelimited: "%20", pipeDelimited: "%7C" }[style] ?? ",";
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    if (explode) return value.map((each) => `${key}=${text(each)}`);
    return [`${key}=${value.map(text).join(separator)}`];
  }
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    if (explode) return entries.map(([each, of]) => `${encode(each)}=${text(of)}`);
    return entries.length === 0
      ? []
      : [`${key}=${entries.flatMap(([each, of]) => [encode(each), text(of)]).join(separator)}`];
  }
  return [`${key}=${text(value)}`];
}

/**
 * For example `filter[status]=open`. OpenAPI does not define lists and deeper members; they are sent as most servers with such parameters
 * expect: `filter[status][]=open`, and `lines[0][sku]=a` where a list has members of its own.
 */
function deepParts(place: string, value: unknown): string[] {
  if (!isComposite(value)) return [`${place}=${encode(scalar(value))}`];
  if (!Array.isArray(value))
    return Object.entries(value).flatMap(([name, each]) => deepParts(`${place}[${encode(name)}]`, each));
  const isNumbered = value.some(isComposite);
  return value.flatMap((each, index) => deepParts(`${place}[${isNumbered ? index : ""}]`, each));
}

function isComposite(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function setHeader(headers: Headers, parameter: ApiParameter, value: unknown): void {
  const { isJson, explode, name, argument } = parameter;
  const text = scalar;
  const pairs = isObject(value) ? Object.entries(value) : [];
  const written = isJson
    ? writeJson(value)
    : Array.isArray(value)
      ? value.map(text).join(",")
      : isObject(value)
        ? pairs.map(([key, each]) => `${key}${explode ? "=" : ","}${text(each)}`).join(",")
        : text(value);
  // A list or an object without members has no form.
  if (written === "" && isComposite(value)) return;
  try {
    headers.set(name, written);
  } catch {
    throw new UnusableArguments(`'${argument}' holds a character that no HTTP header may`);
  }
}

function bodyOf({ media }: ApiOperation, args: Json, headers: Headers): ApiRequest["body"] {
  const [preferred] = media;
  const value = args[BODY];
  if (preferred === undefined || value === undefined) return undefined;
  const wanted = args[CONTENT_TYPE];
  const chosen = media.find(({ type }) => type === wanted) ?? preferred;
  if (chosen.kind !== "multipart") headers.set("content-type", chosen.type);
  switch (chosen.kind) {
    case "json":
      return writeJson(value);
    case "form":
      return formText(chosen, value);
    case "multipart":
      return formData(chosen, value);
    case "text":
      return typeof value === "string" ? value : writeJson(value);
    case "binary": {
      const file = fileOf(value);
      if (file === undefined) throw new UnusableArguments(`'${BODY}' must be a text, or { base64 }`);
      if (file.type !== undefined) headers.set("content-type", file.type);
      return file.bytes;
    }
  }
}

/** The fields of a form as a query (OpenAPI 3.1, "Support for x-www-form-urlencoded Request Bodies"). */
function formText({ encoding }: ApiMedia, value: unknown): string {
  if (!isObject(value))
    throw new UnusableArguments(`'${BODY}' must be an object, whose members are the fields of a form`);
  return fieldsOf(value)
    .flatMap(([name, field]) => fieldParts(name, isObject(encoding[name]) ? encoding[name] : {}, field))
    .map((part) => part.replaceAll("%20", "+"))
    .join("&");
}

/** The fields of a form. One that is null is not there, as in a query. */
function fieldsOf(value: Json): [name: string, field: unknown][] {
  return Object.entries(value).filter(([name, field]) => {
    if (isOwnField(name))
      throw new UnusableArguments(`the field '${name}' would make another request of the form`);
    return field !== undefined && field !== null;
  });
}

/** A field of a form as parts of a query, by what is said of its encoding. */
function fieldParts(name: string, said: Json, field: unknown): string[] {
  const style = typeof said.style === "string" ? said.style : "form";
  const isNested = Array.isArray(field)
    ? style !== "deepObject" && field.some(isComposite)
    : isObject(field) && said.style === undefined;
  return queryParts(
    {
      argument: BODY,
      name,
      in: "query",
      style,
      explode: typeof said.explode === "boolean" ? said.explode : style === "form",
      allowReserved: said.allowReserved === true,
      isJson: isNested || (typeof said.contentType === "string" && said.contentType.endsWith("json")),
    },
    field,
  );
}

function formData({ encoding }: ApiMedia, value: unknown): FormData {
  if (!isObject(value))
    throw new UnusableArguments(`'${BODY}' must be an object, whose members are the fields of a form`);
  const form = new FormData();
  for (const [name, field] of fieldsOf(value)) {
    const styled = encoding[name];
    // A style makes parts of it as it makes parts of a query (OpenAPI 3.1, "Encoding Object").
    if (isObject(styled) && typeof styled.style === "string") {
      const parts = new URLSearchParams(
        fieldParts(name, { ...styled, contentType: undefined }, field).join("&"),
      );
      for (const [part, text] of parts) form.append(part, text);
      continue;
    }
    for (const each of Array.isArray(field) ? field : [field]) {
      const file = isObject(each) ? fileOf(each) : undefined;
      const said = isObject(encoding[name]) ? encoding[name].contentType : undefined;
      const type = typeof said === "string" ? said.split(",")[0]?.trim() : undefined;
      if (file !== undefined)
        form.append(name, new Blob([file.bytes], { type: file.type ?? type ?? "" }), file.filename ?? name);
      else if (typeof each === "object" && each !== null)
        form.append(name, new Blob([writeJson(each)], { type: type ?? "application/json" }), name);
      else form.append(name, String(each ?? ""));
    }
  }
  return form;
}

interface GivenFile {
  bytes: Uint8Array<ArrayBuffer>;
  type: string | undefined;
  filename: string | undefined;
}

function fileOf(value: unknown): GivenFile | undefined {
  if (typeof value === "string")
    return { bytes: bytesOf(Buffer.from(value)), type: undefined, filename: undefined };
  if (!isObject(value) || typeof value.base64 !== "string") return undefined;
  const { content_type: type, filename } = value;
  return {
    bytes: bytesOf(Buffer.from(value.base64, "base64")),
    type: typeof type === "string" && /^[\w.+-]+\/[\w.+-]+(?:; ?[\w=.+-]+)*$/.test(type) ? type : undefined,
    filename: typeof filename === "string" ? filename : undefined,
  };
}

function bytesOf(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}
