import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { parseConfiguration } from "../../configuration/parse.ts";
import { isRefusal } from "../../identity/caller.ts";
import { openAuthenticator } from "../../identity/identity.ts";
import { Tokens } from "../../identity/tokens.ts";
import { PostgresServer, WITHOUT_POSTGRES } from "../../tests/archive/postgres/server.ts";
import { Balanced } from "../../tests/soak/http/clients.ts";
import { freePorts, Replica, SCOPES, SECRET, serveIssuer } from "../../tests/soak/http/surroundings.ts";
import { type Bench, type Figure, type Measurement, percentile, ratio, show } from "../measurement.ts";
import { BENCH_SERVERS, PTC, runProgram, type Served, servePtc } from "../peers.ts";

/** Long enough for the pool to be full again. */
const REFILL_MS = 700;

/** `ptc serve --http`: what it adds to a program over stdio, what it takes to know who asks, and what more replicas bring. */
export const http: Measurement = {
  name: "http",
  about: "programs over HTTP against stdio, authorization, and one to three replicas",
  async measure(bench: Bench) {
    return [
      ...(await measureCarrying(bench)),
      ...(await measureAuthorization(bench)),
      ...(await measureReplicas(bench)),
    ];
  },
};

const COMMAND = [process.execPath, PTC];

/** Opens a replica with its modules generated. */
async function openReplica(directory: string, port: number, settings: object): Promise<Replica> {
  const configuration = { servers: BENCH_SERVERS, ...settings };
  const replica = new Replica({ port, directory, command: COMMAND, configuration });
  const { ok, text } = await replica.ptc("generate");
  if (!ok) throw new Error(`ptc generate failed: ${text}`);
  return replica;
}

/** A trivial program over HTTP in both eras of the protocol, against the same over stdio. */
async function measureCarrying(bench: Bench): Promise<Figure[]> {
  const ports = await freePorts(2);
  const settings = { sandbox: { warm: 4 } };
  const open = (name: string, port: number) => openReplica(join(bench.folder, name), port, settings);
  // One process for each way, so that each starts as many sandboxes.
  const replicas = await Promise.all(ports.map((port) => open(`http-${port}`, port)));
  await Promise.all(replicas.map((replica) => replica.start()));
  const [ofSessions, ofRequests] = ports.map((port) => new URL(`http://127.0.0.1:${port}/mcp`)) as [URL, URL];
  const stdio = await servePtc((await open("stdio", 0)).directory);
  const session = await connectSession(ofSessions);
  const stateless = await connectStateless(ofRequests);
  const times = { stdio: [] as number[], session: [] as number[], stateless: [] as number[] };
  for (let round = -5; round < bench.rounds(60); round++) {
    const code = `globalThis.result = ${round};`;
    const took: Partial<Record<keyof typeof times, number>> = {};
    for (const [way, run] of inTurn(round, [
      ["stdio", () => runProgram(stdio, code)],
      ["session", () => runProgram(session, code)],
      ["stateless", () => stateless.run(code)],
    ] as const)) {
      await delay(REFILL_MS);
      took[way] = await run();
    }
    if (round < 0) continue;
    for (const way of ["stdio", "session", "stateless"] as const) times[way].push(took[way] ?? 0);
  }
  await Promise.all([stdio.close(), session.close(), stateless.close()]);
  await Promise.all(replicas.map((replica) => replica.stop()));
  const compared = { baselineMs: times.stdio, against: "over stdio" };
  return [
    ratio({
      ...{ name: "trivial run over HTTP without a session, p50", measuredMs: times.stateless },
      ...{ ...compared, maxRatio: 1.3 },
    }),
    ratio({
      ...{ name: "trivial run over HTTP in a session, p50", measuredMs: times.session },
      ...{ ...compared, maxRatio: 1.3 },
    }),
    ratio({
      ...{ name: "trivial run over HTTP without a session, p95", measuredMs: times.stateless },
      ...{ ...compared, at: 0.95 },
    }),
  ];
}

/** Things in an order that is another one in each round, so that none always follows the same. */
function inTurn<T>(round: number, things: readonly T[]): T[] {
  const first = (round + things.length * 10) % things.length;
  return [...things.slice(first), ...things.slice(0, first)];
}

async function connectSession(url: URL): Promise<Served> {
  const client = new Client({ name: "bench", version: "1" });
  const transport = new StreamableHTTPClientTransport(url);
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return { client, pid: 0, startMs: 0, close: () => client.close() };
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

async function connectStateless(url: URL, fetching: Fetch = fetch) {
  const client = new ModernClient({ name: "bench", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new ModernHttp(url, { fetch: fetching }));
  return {
    async run(code: string): Promise<number> {
      const startedAt = performance.now();
      const reply = await client.callTool({ name: "execute_program", arguments: { code } });
      const tookMs = performance.now() - startedAt;
      if (reply.isError === true) throw new Error(`a program failed: ${JSON.stringify(reply.content)}`);
      return tookMs;
    },
    close: () => client.close(),
  };
}

/** Who sends a request, found out by what is known already: keys of the issuer, tokens of ptc's own. */
async function measureAuthorization(bench: Bench): Promise<Figure[]> {
  const issuer = await serveIssuer(["bench"]);
  const publicUrl = "http://127.0.0.1:1/mcp";
  const text = JSON.stringify({
    http: { public_url: publicUrl, auth: { tokens: true, issuers: [{ issuer: issuer.url }] } },
  });
  const place = { file: "ptc.yaml", directory: bench.folder, environment: {} };
  const configuration = parseConfiguration(text, place);
  const authenticator = openAuthenticator(configuration, { env: {}, onWarning() {} });
  const answer = await fetch(`${issuer.url}/token`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`bench:${encodeURIComponent(SECRET)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: SCOPES, resource: publicUrl }),
  });
  const { access_token: signed } = (await answer.json()) as { access_token: string };
  const expiresAt = Date.now() + 3_600_000;
  const own = await Tokens.open(configuration, {}).create("bench", {
    ...{ groups: [], scopes: ["ptc:run"], expiresAt },
  });
  const figures: Figure[] = [];
  for (const [what, token] of [
    ["signed by an issuer", signed],
    ["of ptc's own", own],
  ] as const) {
    const times: number[] = [];
    for (let round = -100; round < bench.rounds(2_000); round++) {
      const startedAt = performance.now();
      const caller = await authenticator?.authenticate(`Bearer ${token}`);
      const tookMs = performance.now() - startedAt;
      if (caller === undefined || isRefusal(caller)) throw new Error(`a token ${what} is refused`);
      if (round >= 0) times.push(tookMs);
    }
    figures.push({
      ...{ name: `who has sent a token ${what}, warm, p50`, value: percentile(times, 0.5), unit: "ms" },
      ...{ bound: { atMost: 0.5 }, detail: show(times) },
    });
  }
  issuer.close();
  return figures;
}

const CLIENTS = 12;
const MAX_REPLICAS = 3;
const PROGRAMS = 40;

/** How many trivial programs a second clients get through, with one replica and more, in turns. All share this machine. */
async function measureReplicas(bench: Bench): Promise<Figure[]> {
  if (WITHOUT_POSTGRES !== "") {
    bench.skip("one to three replicas", "there is no PostgreSQL; `npm run setup` installs it");
    return [];
  }
  const server = new PostgresServer();
  await server.start();
  const storage = { url: server.url(), encryption_key: Buffer.alloc(32, 7).toString("base64") };
  const ports = await freePorts(MAX_REPLICAS);
  const replicas: Replica[] = [];
  const rates = Array.from({ length: MAX_REPLICAS }, () => [] as number[]);
  try {
    for (const [index, port] of ports.entries())
      replicas.push(await openReplica(join(bench.folder, `replica-${index}`), port, { storage }));
    await Promise.all(replicas.map((replica) => replica.start()));
    for (let round = -1; round < bench.rounds(8); round++)
      for (const count of inTurn(round, [1, 2, 3])) {
        const rate = await programsPerSecond(ports.slice(0, count));
        if (round >= 0) rates[count - 1]?.push(rate);
      }
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await server.stop();
    server.remove();
  }
  const one = percentile(rates[0] ?? [], 0.5);
  return rates.flatMap((each, index): Figure[] => {
    const value = percentile(each, 0.5);
    const of = index === 0 ? "one replica" : `${index + 1} replicas`;
    const figure = { name: `trivial programs with ${of}, p50`, value, unit: "a second", detail: show(each) };
    if (index === 0) return [figure];
    return [
      figure,
      { name: `programs with ${of}`, value: value / one, unit: "times", against: "one replica" },
    ];
  });
}

async function programsPerSecond(ports: readonly number[]): Promise<number> {
  const balanced = new Balanced(ports.map((port) => `http://127.0.0.1:${port}`));
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) =>
      connectStateless(
        balanced.url,
        balanced.fetchFrom(index, () => {}),
      ),
    ),
  );
  let begun = 0;
  const startedAt = performance.now();
  await Promise.all(
    clients.map(async ({ run }) => {
      while (begun++ < PROGRAMS) await run(`globalThis.result = ${begun};`);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  await Promise.all(clients.map((client) => client.close()));
  return PROGRAMS / seconds;
}
