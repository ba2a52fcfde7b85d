/**
 * Pages of a list: finds in an answer the arguments of the call that gives the next page. Three things tell of them, in this order: the
 * links of the description (OpenAPI 3.1, "Link Object"), the header `Link` with `rel=next` (RFC 8288), and a member of the answer
 * that the description has beside a parameter of a well-known name. Only arguments are taken: whatever an answer says, the next call
 * is one of the same operation.
 */
import { isBigIntegerText, isObject, writeJson } from "../../base/json.ts";
import { decodePointer, type References, successesIn } from "./description.ts";
import { kindOf, plainType } from "./media-types.ts";

type Json = Readonly<Record<string, unknown>>;
/** Names of members, from outside to inside. */
type Path = readonly string[];

/** A parameter, as far as pages go. */
interface PagedParameter {
  readonly argument: string;
  readonly name: string;
  readonly in: string;
  readonly style: string;
  readonly explode: boolean;
  readonly isJson: boolean;
}

interface PagedOperation {
  /** The template of its path. */
  readonly path: string;
  readonly parameters: readonly PagedParameter[];
  readonly paging: Paging;
}

/** How the pages of an operation are found. */
export interface Paging {
  /** The types of parameters, by argument, since a link has them as texts. */
  readonly types: ReadonlyMap<string, string>;
  /** What a link of the description has, by argument: runtime expressions and constants. */
  readonly link?: readonly (readonly [argument: Path, value: unknown])[];
  readonly member?: MemberPaging;
  /** Whether the description tells of any pages. Others are found where an answer has a header `Link`. */
  readonly isDescribed: boolean;
}

/** A parameter and the members of an answer that say what it is next. */
type MemberPaging = { readonly goesOn?: { readonly at: Path; readonly value: boolean } } & (
  | { readonly kind: "url"; readonly at: Path }
  /** The member is the parameter's next value. */
  | { readonly kind: "cursor"; readonly argument: Path; readonly at: Path }
  /** The next value is the `id` of the last item. */
  | { readonly kind: "last"; readonly argument: Path; readonly items: Path }
  | { readonly kind: "page"; readonly argument: Path; readonly first: number; readonly total?: Path }
  | { readonly kind: "offset"; readonly argument: Path; readonly items: Path; readonly total?: Path }
);

/** Names in small letters, without anything but letters and digits. */
const CURSOR_PARAMETERS =
  words(`cursor nextcursor pagecursor startcursor pagetoken nextpagetoken nexttoken paginationtoken
  startingtoken continuationtoken continuation marker bookmark startingafter pageafter after`);
const CURSOR_MEMBERS =
  words(`nextcursor nextpagecursor nextpagetoken nexttoken nextmarker nextpageid nextstart nextafter endcursor
  continuationtoken continuation paginationtoken cursor after bookmark marker next pagetoken`);
const URL_MEMBERS = words("next nexturl nextpageurl nextlink nexthref nextpage odatanextlink");
const PAGE_PARAMETERS = words("page pagenumber pageno pageindex currentpage");
const PAGE_MEMBERS = words("totalpages pagecount numpages lastpage pagestotal totalpage pages");
const OFFSET_PARAMETERS = words("offset skip startat startindex");
const TOTAL_MEMBERS = words("total totalcount totalresults totalitems totalsize totalrecords");
const MORE_MEMBERS = words("hasmore hasnext hasnextpage more moreavailable hasmoreitems");
const END_MEMBERS = words("islast islastpage lastpage");
/** Objects in which answers have what they say of pages. */
const CONTAINERS = words(
  "meta metadata paging pagination links responsemetadata pageinfo cursors next page result resultinfo",
);
const MAX_LEVELS = 3;
const MAX_HEADER_CHARS = 16_384;
/** Arguments of more characters than these come from no page. */
const MAX_ARGUMENTS_CHARS = 64 * 1024;

interface Described {
  readonly references: References;
  /** The operation as the description has it, and where. */
  readonly operation: Json;
  readonly path: string;
  readonly method: string;
  readonly parameters: readonly { parameter: PagedParameter; schema: unknown }[];
  /** The schema of a JSON body, if it has one. */
  readonly body: unknown;
}

/** How the pages of an operation are found, as far as its description tells. */
export function readPaging(described: Described): Paging {
  const { references, parameters } = described;
  const types = new Map(
    parameters.flatMap(({ parameter, schema }) => {
      const type = typeOf(references.resolve(schema));
      return type === undefined ? [] : [[parameter.argument, type] as const];
    }),
  );
  const response = references.resolve(successesIn(described.operation.responses)[0]?.[1]);
  if (response === undefined) return { types, isDescribed: false };
  const link = readLink(described, response);
  const member = link === undefined ? readMembers(described, response) : undefined;
  const headers = isObject(response.headers) ? Object.keys(response.headers) : [];
  const isDescribed =
    link !== undefined || member !== undefined || headers.some((name) => name.toLowerCase() === "link");
  return {
    types,
    isDescribed,
    ...(link === undefined ? {} : { link }),
    ...(member === undefined ? {} : { member }),
  };
}

/** The link of a response that leads to the same operation again, and is not one back. */
function readLink({ references, operation, path, method, parameters }: Described, response: Json) {
  const own = `/${path.replaceAll("~", "~0").replaceAll("/", "~1")}/${method}`;
  const leadsHere = (link: Json | undefined) =>
    (typeof link?.operationId === "string" && link.operationId === operation.operationId) ||
    (typeof link?.operationRef === "string" &&
      decodeURIComponentOr(link.operationRef).endsWith(`#/paths${own}`));
  const links = Object.entries(isObject(response.links) ? response.links : {})
    .map(([name, each]) => ({ name, link: references.resolve(each) }))
    .filter(({ name, link }) => leadsHere(link) && !/prev|first|last|self|back/i.test(name));
  const [chosen] = [...links.filter(({ name }) => /next|more/i.test(name)), ...links];
  if (chosen === undefined) return undefined;
  const given = Object.entries(isObject(chosen.link?.parameters) ? chosen.link.parameters : {});
  const values = given.flatMap(([name, value]): [Path, unknown][] => {
    const found = parameters.find(
      ({ parameter }) => parameter.name === name || `${parameter.in}.${parameter.name}` === name,
    );
    return found === undefined ? [] : [[[found.parameter.argument], value]];
  });
  // Without anything of the response each page would be the first.
  return values.some(([, value]) => typeof value === "string" && value.includes("$response."))
    ? values
    : undefined;
}

function readMembers(
  { references, parameters, body, method }: Described,
  response: Json,
): MemberPaging | undefined {
  const content = isObject(response.content) ? Object.entries(response.content) : [];
  const isJson = (type: string) => type === "*/*" || kindOf(plainType(type)) === "json";
  const json = content.find(([type]) => isJson(type));
  const answer = membersOf(references.resolve(json?.[1])?.schema, references);
  if (answer.size === 0) return undefined;
  const inputs = [
    ...parameters
      .filter(({ parameter }) => parameter.in === "query")
      .map(({ parameter: { argument, name }, schema }) => ({
        argument: [argument],
        name: plain(name),
        schema,
      })),
    ...(method === "get" ? [] : [...membersOf(body, references)]).map(([name, schema]) => ({
      argument: ["body", name],
      name: plain(name),
      schema,
    })),
  ];
  const facts = factsOf(answer, references);
  const input = (names: readonly string[]) => firstNamed(inputs, names);
  const fact = (names: readonly string[], types: readonly string[]) =>
    firstNamed(
      facts.filter(({ type }) => types.includes(type)),
      names,
    )?.at;
  const more = fact(MORE_MEMBERS, ["boolean"]);
  const end = fact(END_MEMBERS, ["boolean"]);
  const goesOn =
    more !== undefined
      ? { goesOn: { at: more, value: true } }
      : end !== undefined
        ? { goesOn: { at: end, value: false } }
        : {};
  const items = facts.filter(({ type }) => type === "array").map(({ at }) => at);
  const [list] = items.length === 1 ? items : items.filter((at) => plain(at.at(-1) ?? "") === "data");
  const cursor = input(CURSOR_PARAMETERS);
  const cursorAt = fact(CURSOR_MEMBERS, ["string", "integer", "number"]);
  if (cursor !== undefined && cursorAt !== undefined)
    return { kind: "cursor", argument: cursor.argument, at: cursorAt, ...goesOn };
  if (cursor !== undefined && cursor.name === "startingafter" && list !== undefined && more)
    return { kind: "last", argument: cursor.argument, items: list, ...goesOn };
  const urlAt = fact(URL_MEMBERS, ["string"]);
  if (urlAt !== undefined && inputs.length > 0) return { kind: "url", at: urlAt, ...goesOn };
  const page = input(PAGE_PARAMETERS);
  if (page !== undefined) {
    const nextPage = fact(words("nextpage next"), ["integer", "number"]);
    if (nextPage !== undefined) return { kind: "cursor", argument: page.argument, at: nextPage, ...goesOn };
    const total = fact(PAGE_MEMBERS, ["integer", "number"]);
    const start = references.resolve(page.schema)?.default;
    const first = typeof start === "number" ? start : 1;
    if (total !== undefined) return { kind: "page", argument: page.argument, first, total };
    if (goesOn.goesOn !== undefined) return { kind: "page", argument: page.argument, first, ...goesOn };
  }
  const offset = input(OFFSET_PARAMETERS);
  const total = fact(TOTAL_MEMBERS, ["integer", "number"]);
  if (offset === undefined || list === undefined) return undefined;
  const counted = { kind: "offset" as const, argument: offset.argument, items: list };
  if (total !== undefined) return { ...counted, total };
  return goesOn.goesOn === undefined ? undefined : { ...counted, ...goesOn };
}

/** The members of an object's schema, those of `allOf` included. */
function membersOf(schema: unknown, references: References, levels = 4): Map<string, unknown> {
  const found = references.resolve(schema);
  const members = new Map<string, unknown>();
  if (found === undefined || levels === 0) return members;
  for (const each of Array.isArray(found.allOf) ? found.allOf : [])
    for (const [name, member] of membersOf(each, references, levels - 1)) members.set(name, member);
  for (const [name, member] of Object.entries(isObject(found.properties) ? found.properties : {}))
    members.set(name, member);
  return members;
}

/** Values and lists that may say something of pages: the answer's own members, and those of objects that are there for it. */
function factsOf(members: ReadonlyMap<string, unknown>, references: References, inside: Path = []): Fact[] {
  return [...members].flatMap(([name, schema]) => {
    const at = [...inside, name];
    const type = typeOf(references.resolve(schema));
    // A link may be an object that has the URL (HAL, JSON:API).
    const named = plain(name) === "href" ? (inside.at(-1) ?? "") : name;
    if (type !== undefined && type !== "object") return [{ at, type, name: plain(named) }];
    return CONTAINERS.includes(plain(name)) && at.length <= MAX_LEVELS
      ? factsOf(membersOf(schema, references), references, at)
      : [];
  });
}

interface Fact {
  readonly at: Path;
  readonly type: string;
  /** As the lists of names have it. */
  readonly name: string;
}

/** The one whose name comes first in a list. */
function firstNamed<T extends { name: string }>(all: readonly T[], names: readonly string[]): T | undefined {
  return all
    .filter(({ name }) => names.includes(name))
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name))[0];
}

/** The type of a schema that is not null. */
function typeOf(schema: Json | undefined): string | undefined {
  if (schema === undefined) return undefined;
  const { type, anyOf, oneOf } = schema;
  const types = (Array.isArray(type) ? type : [type]).filter(
    (each): each is string => typeof each === "string" && each !== "null",
  );
  if (types.length > 0) return types[0];
  const alternatives = [anyOf, oneOf].find(Array.isArray) ?? [];
  return alternatives.map((each) => (isObject(each) ? typeOf(each) : undefined)).find((each) => each);
}

/** What an answer has. */
export interface AnsweredPage {
  readonly arguments: Json;
  /** Its JSON; `undefined` where it is none. */
  readonly value: unknown;
  readonly headers: Headers;
  /** Of the request. */
  readonly url: URL;
}

/** The arguments of the call that gives the next page; `undefined` where nothing tells that there is one. Never throws. */
export function nextArguments(operation: PagedOperation, answer: AnsweredPage): Json | undefined {
  const { paging } = operation;
  const changes =
    paging.link === undefined
      ? (ofHeader(operation, answer) ?? ofMembers(operation, answer))
      : ofLink(paging, answer);
  if (changes === undefined || changes.length === 0) return undefined;
  let next: Json = answer.arguments;
  for (const [path, value] of changes) next = withValue(next, path, value);
  const text = writeJson(next);
  // A page that leads to itself has no end.
  return text.length > MAX_ARGUMENTS_CHARS || text === writeJson(answer.arguments) ? undefined : next;
}

type Changes = [argument: Path, value: unknown][];

function ofLink({ link = [], types }: Paging, answer: AnsweredPage): Changes | undefined {
  const changes: Changes = [];
  for (const [argument, expression] of link) {
    const value = evaluate(expression, answer);
    if (isNone(value)) {
      if (typeof expression === "string" && expression.includes("$response.")) return undefined;
      continue;
    }
    changes.push([argument, typeof value === "string" ? asType(value, types.get(argument[0] ?? "")) : value]);
  }
  return changes;
}

/** The value of a runtime expression (OpenAPI 3.1, "Runtime Expressions"), of a text with some in braces, or of a constant. */
function evaluate(expression: unknown, answer: AnsweredPage): unknown {
  if (typeof expression !== "string") return expression;
  if (expression.startsWith("$")) return expressed(expression, answer);
  return expression.replaceAll(/\{(\$[^{}]+)\}/g, (_, each: string) => String(expressed(each, answer) ?? ""));
}

function expressed(expression: string, { arguments: args, value, headers, url }: AnsweredPage): unknown {
  const [, source = "", place = "", rest = ""] =
    /^\$(request|response)\.(body|header|query|path)(.*)$/.exec(expression) ?? [];
  const name = rest.replace(/^\./, "");
  if (place === "body") {
    const from = source === "response" ? value : args.body;
    if (rest === "") return from;
    return rest.startsWith("#/") ? valueAt(from, rest.slice(2).split("/").map(decodePointer)) : undefined;
  }
  if (source === "response") return place === "header" ? headers.get(name || "-") : undefined;
  if (place === "query") return url.searchParams.get(name);
  return expression === "$url" ? url.href : args[name];
}

/** What the header `Link` says (RFC 8288, section 3). One without `rel=next` says that there is no other page. */
function ofHeader(operation: PagedOperation, answer: AnsweredPage): Changes | undefined {
  const header = answer.headers.get("link")?.slice(0, MAX_HEADER_CHARS) ?? "";
  let hasPages = false;
  for (const [, target = "", attributes = ""] of header.matchAll(/<([^<>]*)>((?:[^,"<>]|"[^"]*")*)/g)) {
    const [, quoted, bare = ""] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(attributes) ?? [];
    const relations = (quoted ?? bare).toLowerCase().split(/\s+/);
    if (relations.includes("next")) return ofUrl(operation, target, answer);
    hasPages ||= relations.some((each) => /^(prev|previous|first|last)$/.test(each));
  }
  return hasPages ? [] : undefined;
}

/** The arguments in a URL of the same operation. Nothing else of it is followed. */
function ofUrl({ parameters, path, paging }: PagedOperation, target: string, { url }: AnsweredPage): Changes {
  if (!URL.canParse(target, url.href)) return [];
  const next = new URL(target, url.href);
  const changes: Changes = parameters.flatMap((parameter): Changes => {
    const { name, argument, style, explode, isJson } = parameter;
    const type = paging.types.get(argument);
    const given = next.searchParams.getAll(name);
    if (parameter.in !== "query" || given.length === 0 || isJson || style !== "form" || type === "object")
      return [];
    if (type === "array") return [[[argument], explode ? given : (given[0] ?? "").split(",")]];
    return [[[argument], asType(given[0] ?? "", type)]];
  });
  // A path of another form is another way to the same list.
  const own = path.split("/").slice(1);
  const theirs = next.pathname.split("/").slice(1).slice(-own.length);
  const named = own.map((part) => /^\{([^{}]*)\}$/.exec(part)?.[1]);
  if (!own.every((part, i) => (named[i] === undefined ? part === theirs[i] : Boolean(theirs[i]))))
    return changes;
  for (const [i, text] of theirs.entries()) {
    const parameter = parameters.find((each) => each.in === "path" && each.name === named[i]);
    const type = paging.types.get(parameter?.argument ?? "");
    if (parameter?.style === "simple" && type !== "array" && type !== "object")
      changes.push([[parameter.argument], asType(decodeURIComponentOr(text), type)]);
  }
  return changes;
}

function ofMembers(operation: PagedOperation, answer: AnsweredPage): Changes | undefined {
  const { member } = operation.paging;
  if (member === undefined) return undefined;
  const { value, arguments: args } = answer;
  if (member.goesOn !== undefined) {
    const said = valueAt(value, member.goesOn.at);
    if (typeof said === "boolean" && said !== member.goesOn.value) return undefined;
    if (said === undefined && member.kind !== "cursor" && member.kind !== "url") return undefined;
  }
  const at = (path: Path | undefined) => (path === undefined ? undefined : valueAt(value, path));
  switch (member.kind) {
    case "url":
    case "cursor": {
      const found = at(member.at);
      if (isNone(found) || !["string", "number", "bigint"].includes(typeof found)) return undefined;
      const isUrl = typeof found === "string" && /^(?:https?:\/\/|\/|\?)/i.test(found) && found.includes("?");
      if (isUrl) return ofUrl(operation, found, answer);
      if (member.kind === "url") return undefined;
      const type = operation.paging.types.get(member.argument[0] ?? "");
      const isText = member.argument.length === 1 && type === "string";
      return [
        [member.argument, typeof found === "string" ? asType(found, type) : isText ? `${found}` : found],
      ];
    }
    case "last": {
      const items = at(member.items);
      const last: unknown = Array.isArray(items) ? items.at(-1) : undefined;
      return isObject(last) && typeof last.id === "string" ? [[member.argument, last.id]] : undefined;
    }
    case "page": {
      const present = Number(valueAt(args, member.argument) ?? member.first);
      const total = at(member.total);
      const isLast = member.total !== undefined && !(typeof total === "number" && present < total);
      return isLast || !Number.isSafeInteger(present) ? undefined : [[member.argument, present + 1]];
    }
    case "offset": {
      const present = Number(valueAt(args, member.argument) ?? 0);
      const items = at(member.items);
      const total = at(member.total);
      if (!Array.isArray(items) || items.length === 0 || !Number.isSafeInteger(present)) return undefined;
      const next = present + items.length;
      const isLast = member.total !== undefined && !(typeof total === "number" && next < total);
      return isLast ? undefined : [[member.argument, next]];
    }
  }
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null || value === "" || value === false;
}

function asType(text: string, type: string | undefined): unknown {
  if ((type === "integer" || type === "number") && /^-?\d+(\.\d+)?$/.test(text))
    return isBigIntegerText(text) ? BigInt(text) : Number(text);
  if (type === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  return text;
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Json)[name];
  }
  return found;
}

function withValue(value: unknown, [name, ...rest]: Path, next: unknown): Json {
  const object = isObject(value) ? value : {};
  if (name === undefined) return object;
  // Nobody's prototype is set by a name.
  const entries = new Map(Object.entries(object));
  entries.set(name, rest.length === 0 ? next : withValue(entries.get(name), rest, next));
  return Object.fromEntries(entries);
}

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
