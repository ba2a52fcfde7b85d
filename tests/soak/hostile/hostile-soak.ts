/** One person sends the worst that there is to a `ptc serve --http`, beside many who work with it: nobody else may feel it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { worstJson, worstTexts } from "../../loop/worst-inputs.ts";
import { type SoakCheck, SoakChecks } from "../checks.ts";
import { Balanced, SoakClient } from "../http/clients.ts";
import { freePorts, Replica, SCOPES, SECRET, serveCounter, serveIssuer } from "../http/surroundings.ts";

const PROBE = join(import.meta.dirname, "../../fixtures/held-loop.mjs");
const STDIO_SERVER = join(import.meta.dirname, "../../fixtures/servers/counts-calls.mjs");
const HOSTILE = "mallory";
/** What the hostile person sends has this in it. Nobody else may ever read it. */
const MARK = "planted-by-mallory";
/** How many of the hostile person's requests are on their way at once. */
const AT_ONCE = 4;
const MIB = 1024 * 1024;
/**
 * The most processor time, in milliseconds, of one turn of the loop. It is far above the bound that `tests/loop` holds for each input,
 * because the machine of a soak is never quiet, and far below what one input took that held everybody up.
 */
const MAX_HELD_MS = 1_000;

export interface HostileSoakOptions {
  /** An empty folder for everything. */
  directory: string;
  /** A command line that is ptc, which begins with Node.js. */
  command: readonly string[];
  /** How many honest people there are beside the hostile one. */
  clients: number;
  /** How many programs each of them runs, one after the other. */
  programs: number;
  /** Whether the times of the honest are compared with those before the attack, which a machine that others use cannot tell. */
  measures?: boolean;
  say: (line: string) => void;
}

/** How many times longer 95 of 100 honest programs may take beside the hostile person than before. */
const MAX_RATIO = 2;

/** What an honest person runs: calls of two servers, whose answer has the id that is theirs alone. */
const PROGRAM = [
  'await mcp__counter__note({ id: data.id + "/0" });',
  'await mcp__remote__note({ id: data.id + "/1" });',
  "globalThis.result = { mine: data.id };",
].join("\n");

interface Asked {
  what: string;
  path: string;
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

function call(name: string, args: object): Pick<Asked, "path" | "method" | "body" | "headers"> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "hostile", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name, arguments: args, _meta };
  return {
    ...{ path: "/mcp", method: "POST" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    headers: { "mcp-method": "tools/call", "mcp-name": name },
  };
}

/** No half of a character may be in an address. */
const wellFormed = (text: string) => Buffer.from(text).toString();

/** Everything that the hostile person sends: to MCP, its tools and the records. The console has a harness of its own (`tests/loop`). */
function worstRequests(): Asked[] {
  const asked: Asked[] = [];
  for (const [what, body] of Object.entries(worstJson(MIB))) {
    asked.push({ what: `${what} to MCP`, path: "/mcp", method: "POST", body });
    asked.push({ what: `${what} to an approval`, path: "/mcp/approvals/ffff", method: "POST", body });
    asked.push({ what: `${what} as a replay`, path: `/mcp/runs/${MARK}/replay`, method: "POST", body });
  }
  for (const [what, text] of Object.entries(worstTexts(64 * 1024))) {
    const query = encodeURIComponent(wellFormed(text.slice(0, 1_000)));
    asked.push({ what: `${what} as a program`, ...call("execute_program", { code: text }) });
    asked.push({
      what: `${what} as data`,
      ...call("execute_program", { code: "1", data: { [MARK]: text } }),
    });
    asked.push({ what: `${what} searched`, ...call("search_tools", { query: text.slice(0, 10_000) }) });
    asked.push({
      what: `${what} as a run`,
      ...call("read_output", { run_id: MARK, find: text.slice(0, 1_000) }),
    });
    for (const path of ["/mcp/runs?tool=", "/mcp/audit?event=", "/mcp/approvals/"])
      asked.push({ what: `${what} at ${path}`, path: `${path}${query}` });
  }
  asked.push({
    what: "large arguments",
    ...call("execute_program", {
      code: `await mcp__counter__note({ id: "${MARK}".repeat(50_000) }); await mcp__remote__note({ id: "${MARK}" });`,
    }),
  });
  return asked;
}

/** The access token of somebody at the issuer. */
async function tokenOf(name: string, issuer: string, resource: string): Promise<string> {
  const { token_endpoint } = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as {
    token_endpoint: string;
  };
  const response = await fetch(token_endpoint, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${name}:${encodeURIComponent(SECRET)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: SCOPES, resource }),
  });
  const { access_token } = (await response.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`the issuer gives no token: ${response.status}`);
  return access_token;
}

/**
 * Sends everything, again and again until it is to stop. Returns how many requests were answered, and those that ptc failed at.
 *
 * @param onAllSent everything has been sent once.
 */
async function attack(
  origin: string,
  token: () => Promise<string>,
  signal: AbortSignal,
  onAllSent: () => void,
) {
  const worst = worstRequests();
  const failed = new Set<string>();
  let answered = 0;
  let next = 0;
  const send = async () => {
    while (!signal.aborted) {
      if (next >= worst.length) onAllSent();
      const { what, path, method = "GET", body, headers } = worst[next++ % worst.length] as Asked;
      const authorization = `Bearer ${await token()}`;
      const common = { accept: "application/json, text/event-stream", "content-type": "application/json" };
      try {
        const response = await fetch(`${origin}${path}`, {
          ...{
            method,
            signal,
            headers: { ...common, "mcp-protocol-version": "2026-07-28", authorization, ...headers },
          },
          ...(body !== undefined && { body }),
        });
        await response.text();
        answered++;
        if (response.status >= 500 && response.status !== 503) failed.add(`${response.status} for ${what}`);
      } catch (error) {
        // ptc may end a connection whose body is too large. It must go on to serve.
        if (!signal.aborted && !(error instanceof TypeError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return { answered, failed: [...failed] };
}

/** Runs the soak, and says what held. */
export async function hostileSoak(options: HostileSoakOptions): Promise<SoakCheck[]> {
  const { directory, clients, programs, say } = options;
  const checks = new SoakChecks(say);
  mkdirSync(directory, { recursive: true });
  const log = join(directory, "calls.log");
  const held = join(directory, "held.txt");
  writeFileSync(log, "");
  const names = Array.from({ length: clients }, (_, index) => `client-${index}`);
  const [counter, issuer, [port = 0]] = await Promise.all([
    serveCounter(),
    serveIssuer([...names, HOSTILE]),
    freePorts(1),
  ]);
  const origin = `http://127.0.0.1:${port}`;
  const balanced = new Balanced([origin]);
  const [node = process.execPath, ...command] = options.command;
  const ptc = new Replica({
    port,
    directory: join(directory, "served"),
    command: ["env", `PTC_SOAK_HELD=${held}`, node, "--import", PROBE, ...command],
    configuration: {
      servers: [
        { name: "counter", command: process.execPath, args: [STDIO_SERVER, log], shared: true },
        { name: "remote", url: `${counter.url}/mcp` },
      ],
      http: { public_url: balanced.url.href, auth: { issuers: [{ issuer: issuer.url }] } },
      limits: { each: { max_parallel_programs: 2 } },
      execution: { memory_mb: 256, max_parallel_programs: 4, timeout_seconds: 600 },
      sandbox: { warm: 2, max_warm: 4 },
    },
  });
  const honest = names.map(
    (name, index) =>
      new SoakClient(name, index % 2 === 0 ? "2026-07-28" : "2025-11-25", balanced, { issuer: issuer.url }),
  );
  const ending = new AbortController();
  try {
    const { ok, text } = await ptc.ptc("generate");
    if (!ok) throw new Error(`ptc generate: ${text}`);
    await ptc.start();
    process.kill(ptc.pids[0] as number, "SIGUSR2");
    let [fetchedAt, token] = [Number.NEGATIVE_INFINITY, Promise.resolve("")];
    const tokenNow = () => {
      if (performance.now() - fetchedAt > 60_000) {
        fetchedAt = performance.now();
        token = tokenOf(HOSTILE, issuer.url, balanced.url.href);
      }
      return token;
    };
    const wrong: string[] = [];
    /** All honest people run their programs. Returns how long each took, in milliseconds. */
    const work = async (when: string): Promise<number[]> => {
      const took: number[] = [];
      await Promise.all(
        honest.map(async (client) => {
          for (let i = 0; i < programs; i++) {
            const id = `${client.name}-${when}-${i}`;
            const begun = performance.now();
            const { envelope, instead } = await client.run(id, PROGRAM);
            took.push(performance.now() - begun);
            const result = envelope?.result.ok === true ? JSON.stringify(envelope.result.data) : undefined;
            if (result !== JSON.stringify({ mine: id }))
              wrong.push(`${id}: ${instead?.text ?? JSON.stringify(envelope?.result)}`.slice(0, 300));
            else if (JSON.stringify(envelope).includes(MARK)) wrong.push(`${id} was shown what another sent`);
          }
        }),
      );
      return took;
    };
    // The first programs wait for logins and the first sandboxes.
    if (options.measures) await work("first");
    const before = await work("before");
    const sent = Promise.withResolvers<void>();
    const attacking = attack(origin, tokenNow, ending.signal, sent.resolve);
    // What fails in it is told below, and nothing more is sent then.
    attacking.catch(sent.resolve);
    const beside = await work("beside");
    await sent.promise;
    const seen = await seenByOthers(origin, await tokenOf("client-0", issuer.url, balanced.url.href));
    ending.abort();
    const { answered, failed } = await attacking;
    const rounds = [...(options.measures ? ["first"] : []), "before", "beside"];
    const figures = `${rounds.length * clients * programs} programs of ${clients} people, ${answered} hostile requests`;
    checks.none("every honest program has its own answer", figures, wrong);
    checks.none("no hostile request makes ptc fail", figures, failed);
    checks.check("the hostile requests are answered", figures, answered > 0);
    checks.none(
      "nobody is shown what the hostile person sent",
      `${seen.read} lists of records read`,
      seen.read === 0 ? ["no list could be read"] : seen.foreign,
    );
    const noted = [...readFileSync(log, "utf8").split("\n"), ...counter.ids];
    const expected = names.flatMap((name) =>
      rounds.flatMap((when) =>
        Array.from({ length: programs }, (_, i) =>
          [0, 1].map((part) => `${name}-${when}-${i}/${part}`),
        ).flat(),
      ),
    );
    const times = (id: string) => noted.filter((line) => line.trim() === id).length;
    checks.none(
      "every honest call is made once",
      `${expected.length} calls`,
      expected.filter((id) => times(id) !== 1).map((id) => `${id} ${times(id)} times`),
    );
    const code = await ptc.stop();
    checks.check("ptc ends in order", `exit code ${code}`, code === 0);
    const heldMs = existsSync(held) ? Number(readFileSync(held, "utf8")) : Number.NaN;
    checks.check(
      "no turn of the loop takes long",
      `${heldMs} ms of processor time at most`,
      heldMs <= MAX_HELD_MS,
    );
    const [p95Before, p95Beside] = [p95(before), p95(beside)];
    if (options.measures)
      checks.check(
        "the honest wait about as long as without the hostile person",
        `p95 ${Math.round(p95Before)} ms before, ${Math.round(p95Beside)} ms beside`,
        p95Beside <= MAX_RATIO * p95Before,
      );
    return checks.all;
  } finally {
    ending.abort();
    await Promise.all(honest.map((client) => client.close()));
    await ptc.kill();
    counter.close();
    issuer.close();
  }
}

function p95(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN;
}

/** What an honest person reads of the records, and which of it somebody else sent. */
async function seenByOthers(origin: string, token: string): Promise<{ read: number; foreign: string[] }> {
  const foreign: string[] = [];
  let read = 0;
  for (const path of ["/mcp/runs", "/mcp/approvals", "/mcp/audit"]) {
    const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    if (response.ok) read++;
    if (text.includes(MARK) || text.includes(HOSTILE)) foreign.push(path);
  }
  return { read, foreign };
}
