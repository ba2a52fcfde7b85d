/** The largest and the worst that browsers send to each route of the console. */
import { someTexts } from "./worst-inputs.ts";

/** The text of an address, within the bound on headers, and of a form. */
const QUERY_CHARS = 3_000;
const FORM_CHARS = 60_000;

interface SentToRoute {
  /** By the name of what stands in the path (`:name`). */
  path?: Readonly<Record<string, string>>;
  /** The names of parameters of the address, each of which has one worst text after the other. */
  query?: readonly string[];
  /** The names of fields of the form. */
  form?: readonly string[];
}

/** By its method and path. A route of the console without an entry fails a test. */
export const CONSOLE_ROUTES: Readonly<Record<string, SentToRoute>> = {
  "GET /console": {},
  "GET /console/runs": { query: ["tool", "status", "since", "q", "before", "principal"] },
  "GET /console/runs/:id": { path: { id: "RUN" }, query: ["call"] },
  "POST /console/runs/:id/replay": { path: { id: "x" }, form: ["run"] },
  "POST /console/runs/:id/save": { path: { id: "x" }, form: ["name", "description"] },
  "GET /console/diff": { query: ["a", "b"] },
  "GET /console/inbox": { query: ["done"] },
  "GET /console/inbox/:ticket": { path: { ticket: "TICKET" }, query: ["done"] },
  "POST /console/inbox/:ticket": {
    path: { ticket: "TICKET" },
    form: ["digest", "decision", "calls", "like", "likeName", "atMost"],
  },
  "POST /console/inbox/:ticket/passkey": {
    path: { ticket: "TICKET" },
    form: ["decision", "like", "likeName"],
  },
  "GET /console/servers": { query: ["done"] },
  "POST /console/servers/check": { form: ["server"] },
  "POST /console/servers/:server/connect": { path: { server: "x" }, form: ["answer"] },
  "POST /console/servers/:server/disconnect": { path: { server: "x" }, form: ["answer"] },
  "GET /console/tools": { query: ["q", "server"] },
  "GET /console/tools/:name": { path: { name: "mcp__mail__send_message" } },
  "POST /console/tools/:name/call": { path: { name: "mcp__mail__send_message" }, form: ["json", "arg:to"] },
  "GET /console/programs": { query: ["q"] },
  "POST /console/programs/:name/test": { path: { name: "x" }, form: ["data"] },
  "GET /console/rules": {},
  "POST /console/rules/what-if": { form: ["rule"] },
  "GET /console/audit": { query: ["event", "tool", "principal", "run", "since", "until"] },
  "POST /console/audit/verify": { form: ["head"] },
  "GET /console/audit/export": { query: ["event", "tool", "principal", "run"] },
  "GET /console/me": { query: ["done"] },
  "POST /console/me/passkeys": { form: ["name", "answer"] },
  "POST /console/me/passkeys/remove": { form: ["id"] },
  "POST /console/me/passkeys/use": { form: ["answer"] },
  "POST /console/me/passkeys/offer": { form: ["name"] },
  "POST /console/me/tokens": { form: ["name", "scope", "group", "days"] },
  "POST /console/me/tokens/revoke": { form: ["name"] },
  "POST /console/me/sessions/end": { form: ["name"] },
  "POST /console/me/sessions/others": { form: ["name"] },
  "POST /console/logout": { form: ["name"] },
};

/** What is no page: the files of the console are answered from memory, and the feed is measured for as long as it is open. */
export const OTHER_ROUTES = [/^GET \/console\/assets\//, /^GET \/console\/feed$/];

/** The requests for one route. */
export function requestsFor(
  route: string,
  { path = {}, query = [], form }: SentToRoute,
  { origin, token, cookie }: { origin: string; token: string; cookie: string },
): { what: string; request: () => Request }[] {
  const [method = "GET", pattern = ""] = route.split(" ");
  const address = pattern.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, (_, name) =>
    encodeURIComponent(path[name] ?? "x"),
  );
  const headers = { cookie, origin, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
  const texts = Object.entries(someTexts(method === "GET" ? QUERY_CHARS : FORM_CHARS));
  return texts.map(([what, text]) => ({
    what,
    request: () => {
      const url = new URL(address, origin);
      for (const name of query)
        url.searchParams.set(name, text.slice(0, Math.floor(QUERY_CHARS / query.length)));
      if (method === "GET") return new Request(url, { headers });
      const fields = new URLSearchParams({ token });
      const names = form ?? [];
      for (const name of names) fields.append(name, text.slice(0, Math.floor(20_000 / names.length)));
      return new Request(url, { method, headers, body: fields });
    },
  }));
}
