import { isObject } from "../../base/json/is-object.ts";

/** A JSON schema of the few kinds that are inferred of values. */
type Schema = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 10;
const MAX_ITEMS = 1_000;
/** An object with more members than this is taken for a map. */
const MAX_MEMBERS = 40;
/** A name that is most likely data: it begins with a digit, or has what no property's name has. */
const ID = /^\d|[^A-Za-z0-9_$-]|^[0-9a-f]{8}-/;

/** The schema of a program's data, of one value of it: an object with these members and no others. */
export function inferInput(data: unknown): Schema {
  const { properties = {}, required = [] } = isObject(data) ? objectSchema(data, 0, true) : {};
  return { type: "object", properties, ...withRequired(required as string[]), additionalProperties: false };
}

/** The schema of a program's value, of one value. Numbers are not taken to be whole for ever. */
export function inferOutput(value: unknown): Schema {
  return infer(value, 0, false);
}

function infer(value: unknown, depth: number, isInput: boolean): Schema {
  if (depth > MAX_DEPTH || value === null || value === undefined) return {};
  if (Array.isArray(value)) {
    const items = value
      .slice(0, MAX_ITEMS)
      .map((item) => (item === null ? NULL : infer(item, depth + 1, isInput)));
    const [first, ...others] = items;
    const item = others.reduce((a, b) => merge(a, b), first ?? {});
    return Object.keys(item).length === 0 ? { type: "array" } : { type: "array", items: item };
  }
  if (isObject(value)) return objectSchema(value, depth, isInput);
  if (typeof value === "number") return { type: isInput && Number.isInteger(value) ? "integer" : "number" };
  return { type: typeof value };
}

const NULL: Schema = { type: "null" };

function objectSchema(value: Record<string, unknown>, depth: number, isInput: boolean): Schema {
  const members = Object.entries(value).map(
    ([name, member]) => [name, infer(member, depth + 1, isInput)] as const,
  );
  const isMap = depth > 0 && members.length > 0 && members.some(([name]) => ID.test(name));
  if (isMap || members.length > MAX_MEMBERS) {
    const [first, ...others] = members.map(([, schema]) => schema);
    return { type: "object", additionalProperties: others.reduce((a, b) => merge(a, b), first ?? {}) };
  }
  return {
    type: "object",
    properties: Object.fromEntries(members),
    ...withRequired(members.map(([name]) => name)),
  };
}

/** A schema that allows what either allows. */
function merge(a: Schema, b: Schema): Schema {
  if (JSON.stringify(a) === JSON.stringify(b)) return a;
  if (a.type === undefined || b.type === undefined) return {};
  const types = new Set([a.type, b.type].flat());
  if (types.has("null")) {
    const [known, other] = a.type === "null" ? [b, a] : [a, b];
    if (other.type === "null") return { ...known, type: [...new Set([known.type, "null"].flat())] };
  }
  if (types.size === 2 && types.has("integer") && types.has("number")) return { type: "number" };
  const kinds = [a, b].map(({ type }) => [type].flat().filter((each) => each !== "null"));
  if (String(kinds[0]) !== String(kinds[1])) return {};
  const type = types.has("null") ? { type: [...new Set([...(kinds[0] ?? []), "null"])] } : { type: a.type };
  if (kinds[0]?.[0] === "array") {
    const items =
      a.items === undefined
        ? b.items
        : b.items === undefined
          ? a.items
          : merge(a.items as Schema, b.items as Schema);
    return items === undefined ? type : { ...type, items };
  }
  if (kinds[0]?.[0] !== "object") return type;
  if (a.properties === undefined || b.properties === undefined) return type;
  return { ...type, ...mergeMembers(a, b) };
}

function mergeMembers(a: Schema, b: Schema): Schema {
  const [ours, theirs] = [a, b].map(({ properties }) => properties as Record<string, Schema>) as [
    Record<string, Schema>,
    Record<string, Schema>,
  ];
  const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
  const properties = Object.fromEntries(
    names.map((name) => {
      const [one, other] = [ours, theirs].map((each) => (Object.hasOwn(each, name) ? each[name] : undefined));
      return [name, one === undefined ? (other ?? {}) : other === undefined ? one : merge(one, other)];
    }),
  );
  const isRequired = (schema: Schema, name: string) => ((schema.required ?? []) as string[]).includes(name);
  return { properties, ...withRequired(names.filter((name) => isRequired(a, name) && isRequired(b, name))) };
}

function withRequired(names: readonly string[]): Schema {
  return names.length === 0 ? {} : { required: names };
}
