/** Servers in memory for scenarios: what they hold is given with each scenario, and they note what is done to it. */

type Value = Record<string, unknown>;
export type World = Readonly<Record<string, unknown>>;
type Handler = (args: Value, world: World, kept: Map<string, unknown>) => unknown;

const TEXT = { type: "string" };
const NUMBER = { type: "number" };
const TEXTS = { type: "array", items: TEXT };

interface WorldTool {
  readonly name: string;
  readonly properties: Readonly<Record<string, object>>;
  readonly answer: Handler;
  readonly method?: string;
}

const tool = (name: string, properties: Record<string, object>, answer: Handler): WorldTool => ({
  name,
  properties,
  answer,
});
const done: Handler = () => ({ ok: true });
const list = (world: World, name: string) => (world[name] ?? []) as Value[];
const lookUp = (world: World, name: string, key: string, value: unknown) =>
  list(world, name).filter((each) => each[key] === value);

/** By the name of each server. */
export const SERVERS: Readonly<Record<string, readonly WorldTool[]>> = {
  mail: [
    tool("search", { query: TEXT }, (_, world) => list(world, "mails")),
    tool("read", { id: TEXT }, ({ id }, world) => {
      const [mail] = lookUp(world, "mails", "id", id);
      if (mail === undefined)
        throw new Error(`no such mail; the last was: ${JSON.stringify(list(world, "mails")[0])}`);
      return mail;
    }),
    tool("send", { to: {}, cc: {}, subject: TEXT, body: TEXT }, done),
    {
      name: "resources/read",
      method: "resources/read",
      properties: { uri: TEXT },
      answer: (_, world) => ({
        contents: [{ uri: "mail://1", text: String(list(world, "mails")[0]?.body) }],
      }),
    },
  ],
  calendar: [
    tool("events", { day: TEXT }, (_, world) => list(world, "events")),
    tool("create", { title: TEXT, day: TEXT, attendees: TEXTS, notes: TEXT }, done),
  ],
  files: [
    tool(
      "read",
      { path: TEXT },
      ({ path }, world, kept) => kept.get(String(path)) ?? (world.files as Value)?.[String(path)] ?? "",
    ),
    tool("write", { path: TEXT, text: TEXT }, ({ path, text }, _, kept) => {
      kept.set(String(path), text);
      return { ok: true };
    }),
    tool("share", { path: TEXT, with: TEXT }, done),
  ],
  contacts: [
    tool("lookup", { name: TEXT }, ({ name }, world) => lookUp(world, "contacts", "name", name)[0] ?? null),
    tool("list", {}, (_, world) => list(world, "contacts")),
    tool("add", { name: TEXT, email: TEXT }, ({ name, email }, _, kept) => {
      kept.set(`contact ${name}`, email);
      return { ok: true };
    }),
    tool("find", { name: TEXT }, ({ name }, _, kept) => ({
      name,
      email: kept.get(`contact ${name}`) ?? null,
    })),
  ],
  payments: [
    tool("bills", {}, (_, world) => list(world, "bills")),
    tool("transactions", {}, (_, world) => list(world, "transactions")),
    tool("balance", {}, (_, world) => ({ euro: world.balance ?? 1_000 })),
    tool("pay", { iban: TEXT, amount: NUMBER, reference: TEXT }, done),
    tool("schedule", { iban: TEXT, amount: NUMBER, reference: TEXT, day: TEXT }, done),
    tool("set_limit", { amount: NUMBER }, done),
  ],
  chat: [
    tool("history", { channel: TEXT }, (_, world) => list(world, "messages")),
    tool("post", { channel: TEXT, text: TEXT }, done),
    tool("dm", { user: TEXT, text: TEXT }, done),
    tool("invite", { channel: TEXT, user: TEXT }, done),
  ],
  web: [
    tool("fetch", { url: TEXT }, ({ url }, world) => (world.pages as Value)?.[String(url)] ?? "not found"),
    tool("post", { url: TEXT, text: TEXT }, done),
  ],
  travel: [
    tool("hotels", { city: TEXT }, (_, world) => list(world, "hotels")),
    tool("reviews", { hotel: TEXT }, ({ hotel }, world) => lookUp(world, "reviews", "hotel", hotel)),
    tool("book", { hotel: TEXT, nights: NUMBER }, done),
  ],
  hosting: [
    tool("issues", { repo: TEXT }, (_, world) => list(world, "issues")),
    tool("comments", { repo: TEXT, issue: NUMBER }, (_, world) => list(world, "comments")),
    tool(
      "file",
      { repo: TEXT, path: TEXT },
      ({ path }, world) => (world.source as Value)?.[String(path)] ?? "",
    ),
    tool("checks", { repo: TEXT }, (_, world) => list(world, "checks")),
    tool("push", { repo: TEXT, branch: TEXT, path: TEXT, text: TEXT }, done),
    tool("comment", { repo: TEXT, issue: NUMBER, text: TEXT }, done),
    tool("add_collaborator", { repo: TEXT, user: TEXT }, done),
    tool("merge", { repo: TEXT, branch: TEXT }, done),
  ],
  vault: [tool("get", { name: TEXT }, ({ name }, world) => (world.secrets as Value)?.[String(name)] ?? "")],
  deploy: [tool("start", { service: TEXT, token: TEXT }, done)],
  /** Works on texts, and nothing is said of its data. */
  texts: [
    tool("change", { text: TEXT, how: TEXT }, ({ text, how }) => {
      const given = String(text);
      if (how === "reverse") return [...given].reverse().join("");
      if (how === "first-line") return given.split("\n")[0];
      if (how === "rot13")
        return given.replace(/[a-z]/gi, (char) => {
          const first = char <= "Z" ? 65 : 97;
          return String.fromCharCode(((char.charCodeAt(0) - first + 13) % 26) + first);
        });
      return given.toUpperCase();
    }),
  ],
  ptc: [
    tool("extract", { value: {}, schema: {} }, ({ value }) => {
      const found = /extract:(\S+)/.exec(typeof value === "string" ? value : JSON.stringify(value))?.[1];
      return { value: found ?? null };
    }),
  ],
};

/** The definition of a tool as its server lists it. */
export function define({ name, properties, method }: WorldTool) {
  const isReading =
    !/^(?:send|create|write|share|add|pay|schedule|set_limit|post|dm|invite|book|push|comment|add_collaborator|merge|start)$/.test(
      name,
    );
  return {
    ...{ name, description: name, inputSchema: { type: "object", properties } },
    ...(method === undefined ? {} : { method }),
    annotations: { readOnlyHint: isReading },
  };
}
