/** What stands around the replicas of a soak: who says who somebody is, a server over HTTP that counts, and the replicas themselves. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import Provider from "oidc-provider";
import { vi } from "vitest";
import * as z from "zod";
import { TESTED_ENGINE } from "../../sandbox/tested-engine.ts";
import { environmentIn } from "../served-ptc.ts";

/** Something that listens on a port of this machine. */
export interface Listening {
  readonly url: string;
  close(): void;
}

async function listen(answer: (url: string) => RequestListener): Promise<Listening> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on("request", answer(url));
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Ports on which nothing listens now. */
export async function freePorts(count: number): Promise<number[]> {
  const held = await Promise.all(Array.from({ length: count }, () => listen(() => () => {})));
  for (const each of held) each.close();
  return held.map(({ url }) => Number(new URL(url).port));
}

/** A server over HTTP that notes the id of each call before it answers it. */
export async function serveCounter(): Promise<Listening & { ids: string[] }> {
  const ids: string[] = [];
  const inputSchema = z.object({ id: z.string() });
  const note = ({ id }: { id: string }) => {
    ids.push(id);
    return { content: [{ type: "text" as const, text: "noted" }] };
  };
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "remote", version: "1.0.0" });
    server.registerTool("note", { inputSchema }, note);
    server.registerTool("remove", { inputSchema, annotations: { destructiveHint: true } }, note);
    return server;
  });
  const handler = toNodeHandler({ fetch });
  const listening = await listen(() => (request, response) => {
    void handler(request as Parameters<typeof handler>[0], response);
  });
  return { ...listening, ids };
}

/** What a client says to the issuer about who it is. */
export const SECRET = "a secret of the soak";
/** What tokens let their clients do. */
export const SCOPES = "ptc:run ptc:approve";
/** Short, so that clients have to fetch new ones in a long soak. */
const TOKEN_SECONDS = 120;

/** A real OpenID provider, which knows clients by their names. */
export async function serveIssuer(clients: readonly string[]): Promise<Listening> {
  return listen((issuer) => {
    // It warns that it keeps everything in memory.
    const quiet = [vi.spyOn(console, "warn"), vi.spyOn(console, "info")].map((spy) =>
      spy.mockImplementation(() => {}),
    );
    const provider = new Provider(issuer, {
      clients: clients.map((client_id) => ({
        ...{ client_id, client_secret: SECRET, redirect_uris: [], response_types: [] },
        ...{ grant_types: ["client_credentials"], scope: SCOPES },
      })),
      scopes: SCOPES.split(" "),
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, resource) => ({
            ...{ scope: SCOPES, audience: resource },
            ...{ accessTokenFormat: "jwt", accessTokenTTL: TOKEN_SECONDS },
          }),
        },
      },
      ttl: { ClientCredentials: TOKEN_SECONDS },
      cookies: { keys: ["a key of the soak"] },
    });
    const callback = provider.callback();
    for (const spy of quiet) spy.mockRestore();
    return (request, response) => void callback(request, response);
  });
}

/** How long a ptc may take until it serves. Only what hangs takes so long. */
const START_MS = 120_000;

/**
 * One `ptc serve --http` of several, with a folder of its own as on a machine of its own, always on the same port. What it says on
 * stderr is in `serve.log` there.
 */
export class Replica {
  readonly port: number;
  readonly directory: string;
  readonly pids: number[] = [];
  readonly #command: readonly string[];
  #process: ChildProcess | undefined;

  /** @param configuration the content of ptc.yaml. */
  constructor(given: { port: number; directory: string; command: readonly string[]; configuration: object }) {
    this.port = given.port;
    this.directory = given.directory;
    this.#command = given.command;
    mkdirSync(join(this.directory, "run"), { recursive: true });
    // JSON is YAML as well.
    writeFileSync(join(this.directory, "ptc.yaml"), JSON.stringify(given.configuration));
  }

  /** Runs another command in its folder. */
  async ptc(...args: string[]): Promise<{ ok: boolean; text: string }> {
    const child = this.#spawn(args);
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
    const [code] = await once(child, "close");
    return { ok: code === 0, text: text.trim() };
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const child = this.#spawn(["serve", "--http", `127.0.0.1:${this.port}`]);
    this.#process = child;
    this.pids.push(child.pid ?? 0);
    await new Promise<void>((resolve, reject) => {
      let said = "";
      const timer = setTimeout(() => reject(new Error(`ptc did not start: ${said}`)), START_MS);
      child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
        said += chunk;
        appendFileSync(join(this.directory, "serve.log"), chunk);
        if (!said.includes("serving MCP at")) return;
        clearTimeout(timer);
        resolve();
      });
      child.once("exit", () => reject(new Error(`ptc ended: ${said}`)));
    });
  }

  /** Ends it without a word. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it in order, and returns its exit code. */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, "exit");
    child.kill(signal);
    const [code] = await ended;
    return code as number | null;
  }

  #spawn(args: readonly string[]): ChildProcess {
    const [executable = "", ...first] = this.#command;
    return spawn(executable, [...first, ...args], {
      cwd: this.directory,
      env: { ...environmentIn(this.directory), PTC_ENGINE: TESTED_ENGINE },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
}
