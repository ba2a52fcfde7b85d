import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";

/** Modules whose stubs name everything that programs may use of them. */
const COMPLETE =
  /^(?:asyncio|base64|bisect|calendar|collections|contextlib|copy|csv|dataclasses|datetime|decimal|difflib|enum|fractions|functools|hashlib|heapq|html|io|itertools|json|math|operator|os|pathlib|random|re|secrets|statistics|string|struct|textwrap|time|typing|unicodedata|uuid|zoneinfo)$/;

/** Modules inside of those: there when anything has imported them, of which the stubs of the outer one say nothing. */
const INNER =
  /^(?:abc|base_\w+|constants|coroutines|decoder|encoder|entities|events|exceptions|futures|locks|mixins|parser|path|proactor_events|protocols|queues|runners|scanner|selector_events|sslproto|staggered|streams|subprocess|taskgroups|tasks|threads|timeouts|tool|transports|trsock|unix_events)$/;

/** Says of a program that it looks itself whether a name is there. */
const LOOKS_ITSELF =
  /\b(?:hasattr|ImportError|ModuleNotFoundError|AttributeError|version_info)\b|\bexcept\s*(?::|(?:Base)?Exception\b)/;

const OF_TOOL_ERRORS = ["server", "tool", "message", "retryable", "args", "add_note", "with_traceback"];

const OF_TYPES: Readonly<Record<string, string>> = {
  str: "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill",
  list: "append clear copy count extend index insert pop remove reverse sort",
  dict: "clear copy fromkeys get items keys pop popitem setdefault update values",
  set: "add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset issuperset pop remove symmetric_difference symmetric_difference_update union update",
  datetime:
    "astimezone combine ctime date day dst fold fromisocalendar fromisoformat fromordinal fromtimestamp hour isocalendar isoformat isoweekday max microsecond min minute month now replace resolution second strftime strptime time timestamp timetuple timetz today toordinal tzinfo tzname utcfromtimestamp utcnow utcoffset utctimetuple weekday year",
};

/** What other languages call something, by type: what Python writes for it. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  str: {
    length: "len(...)",
    toLowerCase: ".lower()",
    toUpperCase: ".upper()",
    trim: ".strip()",
    includes: "`in`",
    contains: "`in`",
    startsWith: ".startswith()",
    endsWith: ".endswith()",
    indexOf: ".find()",
    substring: "[a:b]",
    replaceAll: ".replace()",
    padStart: ".rjust()",
  },
  list: {
    length: "len(...)",
    push: ".append()",
    map: "[... for x in ...]",
    filter: "[x for x in ... if ...]",
    forEach: "for x in ...:",
    includes: "`in`",
    contains: "`in`",
    indexOf: ".index()",
    slice: "[a:b]",
    concat: "+",
    add: ".append()",
  },
  dict: { has_key: "`in`", hasOwnProperty: "`in`", iteritems: ".items()", length: "len(...)" },
  set: { push: ".add()", append: ".add()", has: "`in`", length: "len(...)", size: "len(...)" },
};

/**
 * A name that a module of Python's library does not have, where that is sure. `plain` is the program without what is in
 * its strings and comments.
 */
export function judgeLibraryName(
  message: string,
  module: string | undefined,
  plain: string,
): string | undefined {
  const name = /^"(.+?)" is (?:unknown import symbol|not a known attribute of module)/.exec(message)?.[1];
  if (name === undefined || module === undefined || !COMPLETE.test(module)) return undefined;
  if (name.startsWith("_") || INNER.test(name) || LOOKS_ITSELF.test(plain)) return undefined;
  return `Python's module '${module}' has no '${name}'`;
}

/**
 * An attribute that a value of Python's own types does not have. A value may be one of several types that the finding does
 * not name, so only what looks like a slip is told: a name that is nearly one of the type's, or what another language has.
 */
export function judgeLibraryAttribute(attribute: string, type: string, plain: string): string | undefined {
  if (LOOKS_ITSELF.test(plain)) return undefined;
  if (type === "ToolError") {
    if (OF_TOOL_ERRORS.includes(attribute) || /^__|\bexcept\s*\(/.test(`${attribute} ${plain}`))
      return undefined;
    return `a ToolError has no '${attribute}'; it has ${OF_TOOL_ERRORS.slice(0, 4).join(", ")}`;
  }
  const base = type.startsWith("Literal['") ? "str" : (/^(?:type\[)?(\w+)/.exec(type)?.[1] ?? "");
  const known = Object.hasOwn(OF_TYPES, base) ? OF_TYPES[base]?.split(" ") : undefined;
  if (known === undefined || isDefinedIn(plain, attribute)) return undefined;
  const meant = ELSEWHERE[base];
  if (meant !== undefined && Object.hasOwn(meant, attribute))
    return `a ${base} has no '${attribute}'; write ${meant[attribute]}`;
  const near = nearestNames(attribute, known);
  return near.length === 0 ? undefined : `a ${base} has no '${attribute}'${didYouMean(near)}`;
}

/** A sum of a text and something else, of which Python makes neither. */
export function judgeSum(message: string): string | undefined {
  const [, left = "", right = ""] =
    /^Operator "\+=?" not supported for types "([^"|]+)" and "([^"|]+)"/.exec(message) ?? [];
  const [a, b] = [kindOf(left), kindOf(right)];
  if (a === undefined || b === undefined || (a === "str") === (b === "str")) return undefined;
  const other = a === "str" ? b : a;
  return `str + ${other} is a TypeError: write f"..." or str(...)`;
}

function kindOf(type: string): string | undefined {
  if (/^(?:str|Literal\['.*'\])$/.test(type)) return "str";
  if (/^(?:int|Literal\[-?\d+\])$/.test(type)) return "int";
  return /^(float|list|dict)(?:\[|$)/.exec(type)?.[1];
}

/** Whether a program itself makes something of that name: a class of its own may have it. */
function isDefinedIn(plain: string, name: string): boolean {
  return new RegExp(`(?<![.\\w])${name}\\b|\\bself\\.${name}\\s*[:=]`).test(plain);
}
